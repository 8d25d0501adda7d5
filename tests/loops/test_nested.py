"""Tools that call tools: to any depth, in any mixture of sync and async, nothing waits for itself."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from ax_core import AX, PolicyError, current
from ax_core.dispatch.private import private_loops
from support.aside import Aside
from support.fresh import fresh

KINDS = ("plain", "limited", "soon", "soon_blocking")
PATIENCE = 30.0


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as ax:
        register(ax)
        yield ax


def register(ax: AX) -> None:
    """A tool of each kind, which calls the rest of the line that it is given and returns what it went through."""

    def plain(line: list[str]) -> list[Any]:
        return [current().task_id, *(ax.call(line[0], {"line": line[1:]}) if line else ())]

    async def soon(line: list[str]) -> list[Any]:
        await asyncio.sleep(0)
        return [current().task_id, *(await ax.acall(line[0], {"line": line[1:]}) if line else ())]

    async def soon_blocking(line: list[str]) -> list[Any]:
        await asyncio.sleep(0)
        return plain(line)

    ax.register(plain, name="plain")
    ax.register(plain, name="limited", policy={"timeout": PATIENCE})
    ax.register(soon, name="soon", policy={"timeout": PATIENCE})
    ax.register(soon_blocking, name="soon_blocking", policy={"timeout": PATIENCE})


@pytest.mark.parametrize("line", [*itertools.product(KINDS, repeat=3)], ids="-".join)
def test_three_levels_of_any_mixture_come_through(ax: AX, line: tuple[str, ...]) -> None:
    """Through both doors, in one session; each level is the parent of the next, and all belong to one run."""
    for door in (ax.call, lambda tool, payload: asyncio.run(ax.acall(tool, payload))):

        def work(door: Any = door) -> tuple[str, list[str]]:
            with ax.run(session="one") as run:
                return run.id, door(line[0], {"line": list(line[1:])})

        run_id, went = Aside(work).result(PATIENCE)
        tasks = {task.id: task for task in ax.tree(run_id).tasks}
        assert list(tasks) == went
        assert [tasks[id].tool for id in went] == list(line)
        assert [tasks[id].parent_id for id in went] == [None, *went[:-1]]


@pytest.mark.parametrize("depth", range(1, 7))
def test_four_at_once_come_through_at_every_depth(ax: AX, depth: int) -> None:
    """No pool is bounded that a nested call could be waiting for."""
    lines = [[*itertools.islice(itertools.cycle(kind), depth)] for kind in itertools.permutations(KINDS, 2)][
        :4
    ]
    calls = [Aside(lambda line=line: ax.call(line[0], {"line": line[1:]})) for line in lines]
    assert [len(call.result(PATIENCE)) for call in calls] == [depth] * 4


def test_nested_calls_of_served_tasks_need_no_room_of_their_own(ax: AX) -> None:
    handle = ax.submit("limited", {"line": ["limited", "soon_blocking", "limited"]})
    with ax.serve(concurrency=1):
        assert len(ax.wait_for_result(handle, timeout=PATIENCE)) == 4


def test_a_loop_of_its_own_per_level_and_no_more(ax: AX) -> None:
    line = {"line": ["soon_blocking"] * 3}
    ax.call("soon_blocking", line)
    loops = len(private_loops)
    for _ in range(5):
        ax.call("soon_blocking", line)
    assert len(private_loops) == loops


async def test_a_coroutine_of_a_session_may_block_in_a_nested_call(ax: AX) -> None:
    """A sync call on the caller's own loop stops that loop, but what it calls runs elsewhere and ends."""
    async with ax.run(session="one"):
        assert len(await ax.acall("soon_blocking", {"line": ["soon_blocking", "soon"]})) == 3


def test_a_nested_call_inside_a_transaction_is_refused_at_once(ax: AX) -> None:
    """Its write lock is held: waiting for it would be waiting for oneself."""

    def write() -> None:
        ax.call("plain", {"line": []})

    ax.register(write, name="write", policy={"effect": "transactional"})
    with pytest.raises(Exception) as refused:
        Aside(lambda: ax.call("write")).result(PATIENCE)
    assert isinstance(refused.value.__cause__, PolicyError)
    assert "before or after" in str(refused.value.__cause__)
