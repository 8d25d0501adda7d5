"""Threads, coroutines and holders of the lead all at once: every wake-up arrives, every number is there once."""

from __future__ import annotations

import asyncio
import itertools
import sys
from pathlib import Path

from ax_core.clock import SystemClock
from ax_core.dispatch.waiters import Waiters
from support.aside import Aside
from support.ledger import Ledger

WATCHDOG = 60.0
THREADS, LOOPS, COROUTINES, EACH, ALONE = 6, 2, 8, 300, 300


def test_no_wake_up_is_lost_among_threads_and_coroutines(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    numbers = itertools.count(1)

    def thread() -> int:
        return sum(ledger.put(n) == n * n for n in itertools.islice(numbers, EACH))

    async def coroutine() -> int:
        return sum([await ledger.aput(n) == n * n for n in itertools.islice(numbers, EACH)])

    async def loop() -> int:
        return sum(await asyncio.gather(*[coroutine() for _ in range(COROUTINES)]))

    def alone() -> int:
        for _ in range(ALONE):
            ledger.commits.exclusive().release()
        return 0

    kept = sys.getswitchinterval()
    sys.setswitchinterval(0.00005)  # threads give way to one another in the middle of everything
    try:
        calls = [thread] * THREADS + [lambda: asyncio.run(loop())] * LOOPS + [alone] * 2
        answered = sum([call.result(WATCHDOG) for call in [Aside(call) for call in calls]])
    finally:
        sys.setswitchinterval(kept)
    assert answered == (THREADS + LOOPS * COROUTINES) * EACH
    assert ledger.entries() == list(range(1, answered + 1))
    assert ledger.free
    assert ledger.raws[0].commits < answered / 2


def test_a_wake_up_that_comes_before_a_coroutine_waits_is_not_lost() -> None:
    """The row was read, then it moved, and only then the coroutine lay down to wait."""

    async def go() -> float:
        loop = asyncio.get_running_loop()
        waiters = Waiters(SystemClock())
        with waiters.of("task") as waiter:
            for _ in range(20):  # by now it would look again after half a second only
                waiter._next(None)
            waiters.wake("task")
            began = loop.time()
            await waiter.await_(None)
            return loop.time() - began

    assert asyncio.run(go()) < 0.3
