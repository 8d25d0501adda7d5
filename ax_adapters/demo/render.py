"""The findings as tables that a person understands at once."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ax_adapters.demo.report import Outcome, Report, Row
from ax_adapters.demo.scenario import Scenario
from ax_adapters.demo.scenarios import BY_NAME

STATE_STYLE = {
    "SUCCESS": "green",
    "QUARANTINE": "yellow",
    "CONFIRMING": "yellow",
    "FAILED": "red",
    "DEAD": "red",
}


def show(report: Report, console: Console | None = None) -> None:
    """Print the two tables and what to try next."""
    out = console or Console()
    if console is None and not out.is_terminal:
        out = Console(width=140)
    if report.model:
        out.print(
            f"Driven by [bold]{escape(report.model)}[/bold]: a real model need not fall into every trap."
        )
    out.print(_world(report))
    out.print(_record(report))
    for each in report.verdicts:
        for fault in each.faults:
            out.print(f"[bold red]broken:[/bold red] {escape(each.scenario)}: {escape(fault)}")
    out.print(_closing(report))


def _world(report: Report) -> Table:
    table = Table(title="What the outside world saw", title_style="bold", show_lines=True)
    for name in ("the same conversation", "bare", "with AX", "what AX promises", ""):
        table.add_column(name, overflow="fold")
    for verdict in report.verdicts:
        scenario = BY_NAME[verdict.scenario]
        bare, wrapped = report.bare[scenario.name], report.wrapped[scenario.name]
        table.add_row(
            scenario.title,
            _saw(scenario, bare, good=False),
            _saw(scenario, wrapped, good=verdict.kept),
            scenario.promise,
            Text("kept", "bold green") if verdict.kept else Text("BROKEN", "bold red"),
        )
    return table


def _saw(scenario: Scenario, seen: Outcome, *, good: bool) -> Text:
    counted = scenario.counted if seen.count != 1 else scenario.counted_once
    text = Text(f"{seen.count} {counted}", "green" if good else "red" if seen.count else "")
    if scenario.name == "approval":
        text.append(
            "\nnobody was asked"
            if seen.before_approval is None
            else f"\n{seen.before_approval} before the approval"
        )
    if scenario.name == "hallucinated" and seen.effects:
        text.append(f"\nof {seen.effects[0]['detail']['amount']}: the whole order")
    if seen.ended != "an answer":
        text.append(f"\nended by {seen.ended.split(':')[0]}", "dim")
    return text


def _record(report: Report) -> Table:
    table = Table(title="What AX can tell about each call", title_style="bold")
    for name in ("task", "call", "state", "tries", "what the model was told"):
        table.add_column(name, overflow="fold", ratio=3 if name.startswith("what") else None)
    for verdict in report.verdicts:
        seen = report.wrapped[verdict.scenario]
        table.add_section()
        table.add_row("", Text(BY_NAME[verdict.scenario].title, "bold"), "", "", "")
        for (call, state, told), same in groupby(_calls(seen), key=lambda row: row[1:]):
            tasks = [task for task, *_ in same]
            times = f"  × {len(tasks)}" if len(tasks) > 1 else ""
            first = tasks[0]
            table.add_row(
                f"…{first['id'][-8:]}" if first else "",
                escape(call + times),
                Text(state, STATE_STYLE.get(state.split("\n")[0], "red")),
                str(first["attempts"]) if first else "0",
                escape(told),
            )
    return table


def _calls(seen: Outcome) -> list[tuple[Row | None, str, str, str]]:
    """Each call of the model with the task that stands for it: its own, or the one it was answered from."""
    rows, fresh = [], list(seen.tasks)
    for call in seen.calls:
        told = call["told"] or "(no answer)"
        equal = [each for each in fresh if _same(call, each)] or [
            each for each in seen.tasks if _same(call, each)
        ]
        task = next((each for each in seen.tasks if each["id"] in told), equal[0] if equal else None)
        if task in fresh:
            fresh.remove(task)
        elif call["status"] != "success" and task is not None and task["id"] not in told:
            task = None  # it was refused: the equal call on record is another one
        arguments = ", ".join(f"{name}={value!r}" for name, value in call["args"].items())
        rows.append((task, f"{call['tool']}({arguments})", _state(task), _first_words(told, 200)))
    return rows


def _same(call: Row, task: Row) -> bool:
    payload = task["payload"] if isinstance(task["payload"], dict) else {}
    return bool(call["tool"] == task["tool"] and call["args"].items() <= payload.items())


def _state(task: Row | None) -> str:
    if task is None:
        return "refused"
    detail = task["reason"] or ("maybe applied" if task["maybe_applied"] else "")
    return str(task["state"]) + (f"\n{detail}" if detail else "")


def _first_words(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _closing(report: Report) -> Text:
    tasks = [task for name in report.wrapped for task in report.wrapped[name].tasks]
    waiting = next((task for task in tasks if task["state"] == "QUARANTINE"), tasks[0] if tasks else None)
    text = Text(f"\n{len(report.verdicts)} conversations in {report.seconds:.0f} s. ")
    text.append(
        "Every promise was kept." if report.kept else "A promise was broken.",
        "bold green" if report.kept else "bold red",
    )
    text.append(f"\nAX's record is {report.ax_url.removeprefix('sqlite:///')}. Look into it:\n\n")
    text.append(f"  export AX_URL={report.ax_url}\n  axd inbox", "bold")
    if waiting is not None:
        text.append(f"\n  axd tree {waiting['run_id']}\n  axd audit {waiting['id']}", "bold")
    return text
