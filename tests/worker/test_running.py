"""What a caller gets from a tool that runs in a worker is what it gets from one that runs beside it."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Any

import pytest

from ax_core import ConfirmationPending, Effect, State, StillRunning, ToolFailed
from support.ledger import until


def test_a_call_runs_in_a_worker_and_comes_back_as_if_it_had_run_here(shop_on: Any) -> None:
    """One effect, by another process, under a task that tells of it, on each database."""
    shop_on.worker()
    said = shop_on.ax.call("unsafe_here", {"subject": "a"}, request_id="r")
    (effect,) = shop_on.effects("a")
    assert said == {"receipt": effect["receipt"] if "receipt" in effect else effect["seq"]}
    assert effect["pid"] != os.getpid()
    assert shop_on.ax.call("unsafe_here", {"subject": "a"}, request_id="r") == said
    assert len(shop_on.effects("a")) == 1
    task = shop_on.ax.get(effect["task"])
    assert (task.state, task.attempts, task.replays) == (State.SUCCESS, 1, 1)
    assert [e.verb for e in shop_on.ax.audit(task.id)][:3] == ["submit", "claim", "returned"]
    assert shop_on.ax.verify(task.id) is None


@pytest.mark.parametrize("name", ["keyed_loop", "keyed_thread", "transactional_here", "read_loop"])
def test_every_form_of_tool_runs_in_a_worker(on_file: Any, name: str) -> None:
    worker = on_file.worker()
    on_file.ax.call(name, {"subject": "a"})
    assert {e["pid"] for e in on_file.world.seen()} == {worker.child.pid}


def test_a_submitted_call_is_waited_for_by_its_handle(shop_on: Any) -> None:
    shop_on.worker()
    handles = [shop_on.ax.submit("keyed_here", {"subject": f"s{n}"}) for n in range(20)]
    for n, handle in enumerate(handles):
        shop_on.ax.wait_for_result(handle, timeout=30)
        assert len(shop_on.effects(f"s{n}")) == 1


async def test_coroutines_are_woken_too(on_file: Any) -> None:
    on_file.worker(concurrency=16)
    said = await asyncio.gather(*(on_file.ax.acall("keyed_loop", {"subject": f"c{n}"}) for n in range(32)))
    assert len({s["receipt"] for s in said}) == 32


def test_what_a_tool_raises_in_a_worker_is_raised_here_once_its_retries_are_over(on_file: Any) -> None:
    """Each attempt acts under the same key; the last one's exception is the answer."""
    on_file.worker()
    with pytest.raises(ToolFailed, match="the reply was lost"):
        on_file.ax.call("keyed_here", {"subject": "a", "raises": 9})
    assert len({e["key"] for e in on_file.effects("a")}) == 1
    assert [e["attempt"] for e in on_file.effects("a")] == [1, 2, 3]
    assert on_file.ax.call("keyed_here", {"subject": "b", "raises": 1}) is not None


def test_a_tool_that_is_made_elsewhere_runs_here_and_that_is_said_once(
    on_file: Any, caplog: pytest.LogCaptureFixture
) -> None:
    on_file.worker()

    @on_file.ax.tool(effect=Effect.READ)
    def mine() -> int:
        return os.getpid()

    with caplog.at_level(logging.WARNING, "ax"):
        assert [mine(), mine()] == [os.getpid()] * 2
    assert [r.getMessage() for r in caplog.records if "'mine' runs in this process" in r.getMessage()] != []
    assert len(caplog.records) == 1


def test_where_says_who_runs_it(on_file: Any) -> None:
    """``where="here"`` keeps a tool of ``imports`` at its caller."""
    on_file.worker()
    ax = on_file.ax
    tool = ax.tools.get("read_here")
    ax.register(tool.fn, name="kept", policy={"effect": "read", "where": "here"})
    ax.call("kept", {"subject": "a"})
    assert {e["pid"] for e in on_file.world.seen() if "pid" in e} == {os.getpid()}


def test_no_more_run_at_once_than_the_worker_has_slots(on_file: Any) -> None:
    """The third waits in the queue for another worker, or for a slot."""
    worker = on_file.worker(concurrency=2)
    handles = [
        on_file.ax.submit("read_here", {"subject": f"s{n}", "before": "open sesame"}) for n in range(3)
    ]
    on_file.world.wait_for(2, kind="at open sesame")
    assert until(lambda: worker.health()["running"] == 2)
    assert sum(on_file.ax.get(h).state is State.RUNNING for h in handles) == 2
    on_file.world.open("open sesame")
    for handle in handles:
        on_file.ax.wait_for_result(handle, timeout=30)


def test_a_confirmed_call_runs_as_soon_as_somebody_has_approved_it(shop_on: Any) -> None:
    """Approved in one process, run in another, waited for in a third."""
    shop_on.worker()
    with pytest.raises(ConfirmationPending) as pending:
        shop_on.ax.call("asked", {"subject": "a"}, request_id="r")
    assert shop_on.effects("a") == []
    assert pending.value.task_id is not None
    shop_on.client().confirm(pending.value.task_id, by="ann")
    shop_on.ax.wait_for_result(pending.value.task_id, timeout=30)
    assert len(shop_on.effects("a")) == 1


def test_only_the_wait_runs_out_where_no_worker_is_there(on_file: Any) -> None:
    handle = on_file.ax.submit("keyed_here", {"subject": "a"})
    with pytest.raises(StillRunning):
        on_file.ax.wait_for_result(handle, timeout=0.2)
    assert on_file.ax.get(handle).state is State.QUEUED
    on_file.worker()
    on_file.ax.wait_for_result(handle, timeout=30)
    assert len(on_file.effects("a")) == 1


def test_a_second_client_that_asks_for_the_same_request_gets_the_same_result(shop_on: Any) -> None:
    """Single flight across processes: both wait for the one attempt that a worker makes."""
    shop_on.worker()
    other = shop_on.client()
    said: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda ax=ax: said.append(ax.call("unsafe_here", {"subject": "a"}, request_id="r"))
        )
        for ax in (shop_on.ax, other, shop_on.ax, other)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(said) == 4
    assert len({str(s) for s in said}) == 1
    assert len(shop_on.effects("a")) == 1


def test_a_failed_request_that_is_sent_again_is_a_new_attempt_in_a_worker(shop_on: Any) -> None:
    """As it would be here: the same task, the same key; and a success is not run again."""
    shop_on.worker()
    arguments = {"subject": "a", "raises": 1}
    with pytest.raises(ToolFailed):
        shop_on.ax.call("undeclared_here", arguments, request_id="r")
    shop_on.ax.call("undeclared_here", arguments, request_id="r")
    shop_on.ax.call("undeclared_here", arguments, request_id="r")
    first, second = shop_on.effects("a")
    assert first["task"] == second["task"]
    assert (first["attempt"], second["attempt"]) == (1, 2)
