"""Events: told in order, after the commit, on a thread of their own; a handler can harm nobody."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator

import pytest

from ax_core import AX, AXError, ConfirmationPending, OutcomeUnknown
from ax_core.hooks import Event
from support.fresh import beat, fresh
from support.skew import Skew


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(clock: Skew) -> Iterator[AX]:
    with fresh(clock) as ax:
        ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
        ax.register(lambda: 1 // 0, name="fail", policy={"effect": "unsafe"})
        ax.register(lambda: 1, name="ask", policy={"effect": "unsafe", "confirm": True})
        yield ax


def delivered(ax: AX) -> None:
    """Wait until everything that was emitted has been handled."""
    over = threading.Event()
    ax._core.hooks.drained(over.set)
    assert over.wait(20)


def test_handlers_are_called_in_their_order_and_events_in_theirs(ax: AX) -> None:
    heard: list[tuple[str, str]] = []
    for name in ("first", "second"):
        ax.on("succeeded", "failed")(lambda event, name=name: heard.append((name, event.name)))
    for n in range(20):
        ax.call("act", {"n": n})
    with pytest.raises(AXError):
        ax.call("fail")
    delivered(ax)
    assert heard == [
        (name, event) for event in ["succeeded"] * 20 + ["failed"] for name in ("first", "second")
    ]


def test_an_event_carries_what_wakes_an_agent(ax: AX) -> None:
    heard: list[Event] = []
    ax.on("confirming", "confirmed", "rejected")(heard.append)
    with ax.run() as run, pytest.raises(ConfirmationPending) as pending:
        ax.call("ask")
    task_id = pending.value.task_id or ""
    ax.reject(task_id, by="ops", reason="no")
    delivered(ax)
    assert [event.name for event in heard] == ["confirming", "rejected"]
    assert {(event.task_id, event.run_id, event.tool) for event in heard} == {(task_id, run.id, "ask")}
    assert heard[-1].state == "CANCELLED"


def test_an_event_is_told_after_its_commit(ax: AX) -> None:
    """Whoever hears of a success can read it."""
    seen: list[str] = []
    ax.on("succeeded")(lambda event: seen.append(ax.get(event.task_id).state))
    ax.call("act", {"n": 1})
    delivered(ax)
    assert seen == ["SUCCESS"]


def test_a_handler_that_raises_is_logged_and_the_others_hear_it(
    ax: AX, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []
    ax.on("succeeded")(lambda event: 1 // 0)
    ax.on("succeeded")(lambda event: heard.append(event.task_id))
    with caplog.at_level(logging.ERROR, "ax"):
        for n in range(2):
            assert ax.call("act", {"n": n}) == n
        delivered(ax)
    assert len(heard) == 2
    assert [record.getMessage() for record in caplog.records] == ["a handler of 'succeeded' failed"] * 2


def test_a_slow_handler_is_nobodys_wait(ax: AX) -> None:
    """Calls go on beside it; its events are not lost and do not overtake one another."""
    go, heard = threading.Event(), []

    @ax.on("succeeded")
    def slow(event: Event) -> None:
        assert go.wait(20)
        heard.append(event.task_id)

    handles = [ax.submit("act", {"n": n}) for n in range(3)]
    assert [ax.wait_for_result(handle, timeout=20) for handle in handles] == [0, 1, 2]
    asyncio.run(ax.acall("act", {"n": 9}))
    assert heard == []
    go.set()
    delivered(ax)
    assert len(heard) == 4
    assert set(handles) < set(heard)


def test_handlers_run_beside_callers_and_loops(ax: AX) -> None:
    where: list[int] = []
    ax.on("succeeded")(lambda event: where.append(threading.get_ident()))

    async def go() -> int:
        await ax.acall("act", {"n": 1})
        return threading.get_ident()

    loop = asyncio.run(go())
    ax.call("act", {"n": 2})
    delivered(ax)
    assert len(where) == 2
    assert loop not in where


def test_a_handler_may_call_tools_and_decide(ax: AX) -> None:
    heard: list[str] = []
    ax.on("confirming")(lambda event: heard.append(ax.confirm(event.task_id, by="robot").state))
    ax.on("failed")(lambda event: heard.append(ax.call("act", {"n": 3})))
    with pytest.raises(ConfirmationPending):
        ax.call("ask", request_id="r")
    with pytest.raises(AXError):
        ax.call("fail")
    delivered(ax)
    assert heard == ["QUEUED", 3]
    assert ax.call("ask", request_id="r") == 1


def test_an_outcome_in_doubt_is_an_alert_and_in_the_log(
    ax: AX, clock: Skew, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Event] = []
    ax.on("alert")(heard.append)
    inside, go = threading.Event(), threading.Event()

    def hang() -> None:
        inside.set()
        go.wait(20)

    ax.register(hang, name="hang", policy={"effect": "unsafe"})
    handle = ax.submit("hang")
    assert inside.wait(20)
    clock.ahead(31)
    with caplog.at_level(logging.WARNING, "ax"):
        beat(ax)
        delivered(ax)
    with pytest.raises(OutcomeUnknown):
        ax.wait_for_result(handle, timeout=0)
    go.set()
    assert [event.detail["kind"] for event in heard] == ["outcome_unknown"]
    assert "outcome_unknown" in caplog.text


@pytest.mark.parametrize("name", ["sucess", "", "ALERT"])
def test_an_unknown_event_is_refused_with_those_there_are(ax: AX, name: str) -> None:
    with pytest.raises(ValueError, match=r"no event named .*; there are: started, succeeded"):
        ax.on(name)
