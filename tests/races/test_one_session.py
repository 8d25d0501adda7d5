"""One chain per session: whoever gets it has it alone, and stands on what its predecessor left."""

from __future__ import annotations

import asyncio
import contextvars
import threading

import pytest

from ax_core import AX, Budget, BudgetExceeded, SessionBusy, TaskCancelled
from ax_core.dispatch import Call
from support.aside import Aside, outcome
from support.starting_line import Start


async def test_of_many_coroutines_that_open_a_session_at_once_one_gets_it(start: Start) -> None:
    """The check and the taking are one commit: however the loop interleaves them, there is one owner."""
    async with start.ax() as ax:
        for round in range(10):
            entered: list[str] = []
            all_asked = asyncio.Event()

            async def open(
                round: int = round, entered: list[str] = entered, all_asked: asyncio.Event = all_asked
            ) -> str:
                try:
                    async with ax.run(session=f"S{round}") as run:
                        entered.append(run.id)
                        await all_asked.wait()
                        return "had it"
                except SessionBusy as busy:
                    return busy.run_id or ""

            chains = [asyncio.ensure_future(open()) for _ in range(16)]
            while sum(chain.done() for chain in chains) < 15:
                await asyncio.wait(chains, return_when=asyncio.FIRST_COMPLETED, timeout=0.1)
            all_asked.set()
            answers = await asyncio.gather(*chains)
            assert answers.count("had it") == 1
            assert set(answers) == {"had it", *entered}  # the others are told who has it


def waiting_for(ax: AX, session: str, **run: object) -> tuple[Aside, threading.Event]:
    """A chain that waits for the session, and then calls."""
    asked = threading.Event()

    def work() -> object:
        asked.set()
        with ax.run(session=session, on_busy="wait", **run):  # type: ignore[arg-type]
            return ax.call("act", {"n": 2})

    return Aside(lambda: outcome(work)), asked


def test_who_waited_for_a_session_finds_its_run_cancelled_meanwhile(start: Start) -> None:
    with start.ax() as ax:
        with pytest.raises(KeyboardInterrupt), ax.run(key="mine", session="S") as mine:
            raise KeyboardInterrupt  # its process had to leave: the run stays open
        with ax.run(session="S"):
            waiting, asked = waiting_for(ax, "S", key="mine")
            assert asked.wait(20)
            ax.cancel(mine.id, by="ops")
        assert isinstance(waiting.result(), TaskCancelled)
    assert start.happened() == []


def test_who_waited_for_a_session_finds_its_budget_spent_meanwhile(start: Start) -> None:
    with start.ax() as ax:
        with (
            pytest.raises(KeyboardInterrupt),
            ax.run(key="mine", session="S", budget=Budget(tasks=1)) as mine,
        ):
            raise KeyboardInterrupt  # its process had to leave: the run stays open
        with ax.run(session="S"):
            waiting, asked = waiting_for(ax, "S", key="mine", budget=Budget(tasks=50))
            assert asked.wait(20)
            spent = Call(ax.tools.get("act"), {"n": 1}, run_id=mine.id)
            contextvars.Context().run(
                ax.dispatch, spent
            )  # from outside of the block, as another process does
        assert isinstance(waiting.result(), BudgetExceeded)
    assert start.happened() == [1]
