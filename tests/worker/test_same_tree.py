"""A scenario comes to the same end inline, in workers on each database, and in a Celery fleet."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, Budget
from ax_core.model import Tree
from support import record
from support.agent_tools import BUSINESS
from support.outside import World
from support.storm.plan import Call, plan
from support.workshop import shop

SEED = 7
FOR_GOOD = (
    Call(0, "read_loop", "x-0", {"subject": "x-0", "raises": 9}, True),
    Call(0, "keyed_here", "x-1", {"subject": "x-1", "raises": 9}, True),
    Call(0, "transactional_thread", "x-2", {"subject": "x-2", "raises": 9}, True),
    Call(0, "unsafe_thread", "x-3", {"subject": "x-3", "raises": 1}, True),
    Call(0, "unsafe_loop", "x-4", {"subject": "x-4", "refuses": 9}, True),
    Call(0, "undeclared_here", "x-5", {"subject": "x-5", "raises": 1}, True),
    Call(0, "unsafe_marked_here", "x-6", {"subject": "x-6", "nonsense": 1}, True),
)


def play(ax: AX) -> Tree:
    """The calls of a seed and some that fail for good, half of them in a run inside the run, some asked twice."""
    calls = [*plan(SEED, calls=24, seconds=1, blows=0, servers=False).calls, *FOR_GOOD]
    with ax.run(intent="the scenario", budget=Budget(tasks=200)) as outer:
        for call in calls[::2]:
            ask(ax, call)
        with ax.run(intent="the other half"):
            for call in calls[1::2]:
                ask(ax, call)
        for call in calls[:4]:
            ask(ax, call)
        return ax.tree(outer.id)


def ask(ax: AX, call: Call) -> None:
    try:
        if call.waits:
            ax.call(call.tool, call.args, request_id=call.request)
        else:
            ax.wait_for_result(ax.submit(call.tool, call.args, request_id=call.request), timeout=60)
    except AXError:
        pass  # what it came to is in the tree


def normal(tree: Tree, acts: Counter[str]) -> Any:
    """A tree without what differs from one time to the next."""
    tasks = {
        task.request_id or "": {
            "tool": task.tool,
            "stands": (task.state, task.reason, task.maybe_applied),
            "attempts": [attempt.outcome for attempt in task.history],
            "replays": task.replays,
            "effects": acts[task.request_id or ""],
        }
        for task in tree.tasks
    }
    return tree.run.state, tree.run.intent, tasks, [normal(below, acts) for below in tree.runs]


def acts(world: World, url: str) -> Counter[str]:
    """What happened outside, by subject."""
    kinds = ("unsafe", "keyed", "idempotent", "read")
    return Counter(e["subject"] for e in world.seen() if e["kind"] in kinds) + record.business(url)


def inline(folder: Path, world: World) -> Any:
    """The tree where everything runs in the process that calls."""
    url = f"sqlite:///{folder}/inline.db"
    with shop(url, None, world.port) as alone:
        alone.tasks()
        record.run(url, BUSINESS)
        tree = play(alone)
        return normal(tree, acts(world, url))


@pytest.mark.slow
def test_a_scenario_comes_to_the_same_tree_inline_and_in_workers(shop_on: Any, tmp_path: Path) -> None:
    """Tool, state, reason, attempts and effects of every task."""
    here = inline(tmp_path, shop_on.world)
    shop_on.world.begin_anew(tmp_path)
    for _ in range(2):
        shop_on.worker()
    assert normal(play(shop_on.ax), acts(shop_on.world, shop_on.url)) == here


@pytest.mark.slow
def test_a_scenario_comes_to_the_same_tree_in_a_celery_fleet(fleet: Any, tmp_path: Path) -> None:
    """The same: the transport carries ids, and decides nothing."""
    here = inline(tmp_path, fleet.world)
    fleet.world.begin_anew(tmp_path)
    for _ in range(2):
        fleet.celery("-P", "threads", "-c", "2")
    assert normal(play(fleet.ax), acts(fleet.world, fleet.url)) == here
