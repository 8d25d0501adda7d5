"""The whole story: both sides at the same time, the verdict, the table."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any

from ax_adapters.demo.model import MODEL_VARIABLE, named_model
from ax_adapters.demo.promises import judge
from ax_adapters.demo.report import Outcome, Report, Row
from ax_adapters.demo.scenario import Scenario
from ax_adapters.demo.scenarios import BY_NAME, SCENARIOS
from ax_adapters.demo.sides import SideStory
from ax_core import AX

OPERATOR = "ops"


def main(argv: Any = None) -> int:
    """`axd demo`: tell the story; 1 when a wrapped conversation broke its promise."""
    ask = argparse.ArgumentParser(
        prog="axd demo",
        description=(
            "The same conversations bare and under AX, judged by an outside service that counts effects. "
            f"Set {MODEL_VARIABLE}=provider:name to let a real model drive the agent."
        ),
    )
    ask.add_argument("--json", action="store_true", help="print the findings as JSON")
    ask.add_argument(
        "--dir", type=Path, help="where the databases and logs go (default: a new temporary folder)"
    )
    ask.add_argument(
        "--only",
        nargs="+",
        choices=sorted(BY_NAME),
        metavar="SCENARIO",
        help=f"a few of: {', '.join(BY_NAME)}",
    )
    said = ask.parse_args(argv)
    chosen = [each for each in SCENARIOS if not said.only or each.name in said.only]
    folder = (said.dir or Path(tempfile.mkdtemp(prefix="ax-demo-"))).resolve()
    if (folder / "wrapped" / "service.db").exists():
        ask.error(f"{folder} holds an earlier demo: name another --dir")
    folder.mkdir(parents=True, exist_ok=True)
    logging.getLogger("ax").addHandler(logging.FileHandler(folder / "operator.log"))
    if not said.json:
        sys.stderr.write(
            f"Running {len(chosen)} conversations, bare and wrapped, in processes of their own …\n"
        )
    try:
        report = tell(folder, chosen)
    except RuntimeError as broken:  # a process of the demo did not do its part: its own words say why
        sys.stderr.write(f"{broken}\nThe logs are in {folder}.\n")
        return 1
    if said.json:
        sys.stdout.write(json.dumps(report.data(), indent=2, default=str) + "\n")
    else:
        from ax_adapters.demo.render import show

        show(report)
    return 0 if report.kept else 1


def tell(folder: Path, scenarios: list[Scenario]) -> Report:
    """Run both sides at once and judge the wrapped one."""
    began = monotonic()
    ax_url = f"sqlite:///{folder / 'ax.db'}"
    with AX(ax_url) as ax, ThreadPoolExecutor(2) as both:
        bare = both.submit(SideStory(folder / "bare", None, scenarios=scenarios).tell)
        wrapped = both.submit(
            SideStory(
                folder / "wrapped", ax_url, lambda task_id: _approve(ax, task_id), scenarios=scenarios
            ).tell
        )
        outcomes = wrapped.result()
        for each in scenarios:
            _recall(ax, each, outcomes[each.name])
        scripted = named_model() is None
        verdicts = [judge(each, outcomes[each.name], scripted=scripted) for each in scenarios]
        return Report(
            folder=str(folder),
            ax_url=ax_url,
            model=named_model(),
            bare=bare.result(),
            wrapped=outcomes,
            verdicts=verdicts,
            seconds=round(monotonic() - began, 1),
        )


def _approve(ax: AX, task_id: str) -> None:
    ax.confirm(task_id, by=OPERATOR)


def _recall(ax: AX, scenario: Scenario, seen: Outcome) -> None:
    """What AX can tell about each call of a conversation, in the order they were made."""
    tasks = sorted(ax.tasks(session=scenario.session, limit=100).tasks, key=lambda task: task.created_at)
    seen.tasks = [_task(task) for task in tasks]
    if tasks:
        run = ax.tree(tasks[0].run_id).run
        seen.run = {
            "id": run.id,
            "state": str(run.state),
            "reason": run.reason,
            "used_tasks": run.used_tasks,
            "refused": run.refused,
        }


def _task(task: Any) -> Row:
    return {
        "id": task.id,
        "run_id": task.run_id,
        "tool": task.tool,
        "effect": str(task.effect),
        "state": str(task.state),
        "reason": task.reason,
        "payload": task.payload,
        "attempts": task.attempts,
        "maybe_applied": task.maybe_applied,
        "replays": task.replays,
        "error": task.error,
        "notes": task.notes,
    }
