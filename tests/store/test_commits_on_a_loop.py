"""Coroutines share commits too, and their loop is never blocked."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from support.aside import Aside
from support.ledger import Ledger, refusing, until


async def test_a_coroutine_never_leads_on_its_loop(ledger: Ledger) -> None:
    where: list[int] = []
    await ledger.arun(lambda tx: where.append(threading.get_ident()))
    assert where != [threading.get_ident()]
    assert ledger.free or until(lambda: ledger.free)


async def test_the_operation_of_a_cancelled_coroutine_still_completes(ledger: Ledger) -> None:
    with ledger.held_up():
        waiting = asyncio.ensure_future(ledger.aput(1))
        await asyncio.to_thread(ledger.stands, 2)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await asyncio.to_thread(ledger.becomes, [0, 1])


def test_the_operation_of_a_closed_loop_still_completes_and_holds_nobody_up(ledger: Ledger) -> None:
    async def leave() -> None:
        loop.create_task(ledger.aput(1))
        await asyncio.sleep(0)

    with ledger.held_up():
        loop = asyncio.new_event_loop()
        loop.run_until_complete(leave())
        ledger.stands(2)
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        other = Aside(lambda: ledger.put(2))
        ledger.stands(3)
    assert other.result() == 4
    assert ledger.entries() == [0, 1, 2]


async def test_an_error_that_nobody_waits_for_is_not_complained_about(ledger: Ledger) -> None:
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, what: complaints.append(what))
    with ledger.held_up():
        waiting = asyncio.ensure_future(ledger.arun(refusing))
        await asyncio.to_thread(ledger.stands, 2)
        waiting.cancel()
        await asyncio.wait({waiting})
        del waiting
    assert await asyncio.to_thread(until, lambda: ledger.free)
    await asyncio.sleep(0)
    assert complaints == []
