"""One request id, however many call it at once: one effect, and everybody gets the same result."""

from __future__ import annotations

import asyncio

import pytest

from support.racing import one_request
from support.starting_line import Start

SAME = {"request": "the one"}


@pytest.mark.parametrize("tool", ["act", "soon"])
@pytest.mark.parametrize(
    "threads, coroutines", [(8, 0), (0, 64), (8, 64)], ids=["threads", "coroutines", "both"]
)
def test_in_one_process(start: Start, tool: str, threads: int, coroutines: int) -> None:
    with start.ax() as ax:
        rows = one_request(ax, threads, coroutines, tool, "the one")
        assert len(rows) == threads + coroutines
        assert [row for row in rows if row != rows[0]] == []
        assert rows[0]["value"][0] == 1
        (task,) = ax.tasks().tasks
        assert (task.state, task.attempts) == ("SUCCESS", 1)
        assert ax.verify(task.id) is None
    assert start.happened() == [1]


@pytest.mark.parametrize("tool", ["act", "soon"])
def test_in_four_processes_with_threads_and_coroutines(start: Start, tool: str) -> None:
    spec = {"do": "one_request", "threads": 4, "coroutines": 12, "tool": tool, **SAME}
    start.line_up(*[spec] * 4)
    start.go()
    rows = start.told()
    start.over()
    assert len(rows) == 64
    assert [row for row in rows if row != rows[0]] == []
    assert rows[0]["value"][1] in {child.pid for child in start.children}
    assert start.happened() == [1]


def test_again_and_again_while_the_first_ones_end(start: Start) -> None:
    """Round after round without a pause: some attach to the running attempt, some are answered from the record."""

    async def rounds() -> list[list[int]]:
        calls = []
        for n in range(40):
            calls.append(asyncio.ensure_future(ax.acall("soon", {"n": n // 8}, request_id=f"r{n // 8}")))
            await asyncio.sleep(0 if n % 3 else 0.001)
        return await asyncio.gather(*calls)

    with start.ax() as ax:
        values = asyncio.run(rounds())
    assert [value[0] for value in values] == [n // 8 for n in range(40)]
    assert start.happened() == list(range(5))
