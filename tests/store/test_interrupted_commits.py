"""Ctrl-C hits the main thread at any place of a shared commit: nothing is lost, nothing happens twice, nobody waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from support.aside import Aside
from support.interrupts import Interrupter, everywhere
from support.ledger import Ledger, putting, until

FILES = ("ax_core/store/commits.py", "ax_core/store/line.py", "ax_core/threads.py")
Scenario = Callable[[Ledger, Interrupter], list[int]]


def begun(ledger: Ledger, i: Interrupter, n: int, work: Callable[[], object]) -> list[int]:
    """[n] if ``work`` stood in line before it was interrupted; it may also come through."""
    try:
        i.run(work)
    except KeyboardInterrupt:
        pass
    return [n] if threading.get_ident() in ledger.line.by else []


def put_later(ledger: Ledger, *numbers: int, after: int) -> Aside:
    """A thread, a coroutine or one who is told per number, each in line before the next comes, once ``after`` do."""

    async def loop(n: int) -> int:
        return await ledger.aput(n)

    def come() -> list[Aside]:
        others: list[Aside] = []
        for count, n in enumerate(numbers, after):
            ledger.stands(count)
            puts: list[Callable[[], int]] = [
                lambda n=n: ledger.leave(n),
                lambda n=n: asyncio.run(loop(n)),
                lambda n=n: ledger.put(n),
            ]
            others.append(Aside(puts[n % 3]))
        ledger.stands(after + len(numbers))
        return others

    return Aside(come)


def alone(ledger: Ledger, i: Interrupter) -> list[int]:
    """It leads its own operation only."""
    return begun(ledger, i, 1, lambda: ledger.put(1))


def leading(ledger: Ledger, i: Interrupter) -> list[int]:
    """It leads a batch with those of two threads, of a coroutine, and of one who is told."""
    with ledger.held_up(0) as go:
        coming = put_later(ledger, 2, 3, 4, 5, after=2)
        going = Aside(lambda: (until(lambda: coming.ended), go.set()))
        mine = begun(ledger, i, 1, lambda: ledger.put(1))
        if not mine:  # it came to nothing: somebody else stands second
            Aside(lambda: ledger.put(1))
            mine = [1]
        others = coming.result()
        going.result()
    assert [call.result() for call in others] == [4, 9, 16, 25]
    return [0, *mine, 2, 3, 4, 5]


def passing_on(ledger: Ledger, i: Interrupter) -> list[int]:
    """It leads, and a coroutine and a thread came meanwhile: it must hand the lead on."""
    others: list[Aside] = []

    async def loop() -> int:
        return await ledger.aput(3)

    def op(tx: object) -> int:
        if not others:
            others.append(Aside(lambda: asyncio.run(loop())))
            ledger.stands(2)
            others.append(Aside(lambda: ledger.put(2)))
            ledger.stands(3)
        return putting(1)(tx)

    mine = begun(ledger, i, 1, lambda: ledger.commits.run(op, "control"))
    assert until(lambda: ledger.free)  # a helper may have led in its place
    came = [call.result() for call in others]
    return [*mine, *([2, 3] if came else [])]


def waiting(ledger: Ledger, i: Interrupter) -> list[int]:
    """Another thread leads its operation."""
    with ledger.held_up(0) as go:
        second = Aside(lambda: ledger.put(2))
        ledger.stands(2)
        going = Aside(lambda: (until(lambda: ledger.in_line > 2 or i.reached), go.set()))
        mine = begun(ledger, i, 1, lambda: ledger.put(1))
        going.result()
    assert second.result() == 4
    return [0, *mine, 2]


def leaving_it(ledger: Ledger, i: Interrupter) -> list[int]:
    """It leaves its operation to whoever leads, if anybody does."""
    told: list[int] = []
    mine = begun(
        ledger, i, 1, lambda: ledger.commits.later(putting(1), "control", False, lambda *_: told.append(1))
    )
    assert not mine or until(lambda: told)
    return mine


def passing_on_to_nobody(ledger: Ledger, i: Interrupter) -> list[int]:
    """It leads, and next in line is one whose thread does not wait."""
    others: list[Aside] = []

    def op(tx: object) -> int:
        if not others:
            others.append(Aside(lambda: ledger.leave(2)))
            ledger.stands(2)
        return putting(1)(tx)

    mine = begun(ledger, i, 1, lambda: ledger.commits.run(op, "control"))
    assert until(lambda: ledger.free)
    return [*mine, *([2] if [call.result() for call in others] else [])]


def on_a_loop(ledger: Ledger, i: Interrupter) -> list[int]:
    """It runs an event loop, and nobody leads."""
    loop = asyncio.new_event_loop()
    try:
        return begun(ledger, i, 1, lambda: loop.run_until_complete(ledger.aput(1)))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


def exclusive(ledger: Ledger, i: Interrupter) -> list[int]:
    """It takes the lead for itself while another thread leads and a third waits, and lets go of it."""
    with ledger.held_up(0) as go:
        second = Aside(lambda: ledger.put(2))
        ledger.stands(2)
        going = Aside(lambda: (until(lambda: ledger.in_line > 2 or i.reached), go.set()))
        begun(ledger, i, 1, lambda: ledger.commits.exclusive().release())
        going.result()
    assert second.result() == 4
    return [0, 2]


def exclusive_at_once(ledger: Ledger, i: Interrupter) -> list[int]:
    """It takes the lead for itself, others come, and it lets go of it."""
    others: list[Aside] = []

    def work() -> None:
        held = ledger.commits.exclusive()
        others.append(Aside(lambda: ledger.put(2)))
        ledger.stands(2)
        held.release()

    begun(ledger, i, 1, work)
    return [2] if [call.result() for call in others] else []


@pytest.mark.parametrize(
    "scenario",
    [
        alone,
        leading,
        passing_on,
        waiting,
        leaving_it,
        passing_on_to_nobody,
        on_a_loop,
        exclusive,
        exclusive_at_once,
    ],
    ids=lambda s: s.__name__,
)
def test_ctrl_c_loses_nothing_and_wedges_nobody(scenario: Scenario, tmp_path: Path) -> None:
    """Interrupted at every place in turn: all that stood in line is stored once, everybody has an answer."""

    def once(i: Interrupter) -> None:
        ledger = Ledger(tmp_path / "ledger.db")
        expected = scenario(ledger, i)
        where = f"interrupted in {i.where}"
        assert ledger.becomes(sorted(expected)), f"{ledger.entries()} instead of {expected}, {where}"
        assert until(lambda: ledger.free), f"somebody still leads, {where}"
        assert Aside(lambda: ledger.put(1000)).result() == 1_000_000, where
        assert ledger.entries() == sorted([*expected, 1000]), where
        ledger.close()

    assert everywhere(once, *FILES) >= 8
