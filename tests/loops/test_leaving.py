"""The process or the host wants to leave in the middle of a tool: it may, the record tells, and the next call works."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable

import pytest

from ax_core import AX, OutcomeUnknown, faults
from ax_core.dispatch import hands
from support.fresh import beat
from support.ledger import until
from support.skew import Skew

LEASE = 30.0


def ctrl_c_soon() -> None:
    """Once the main thread has lain down to wait; of that, nobody is told."""
    main = threading.main_thread().ident or 0
    threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT)).start()


def interrupted_at(point: str, call: Callable[[], object]) -> None:
    """Ctrl-C arrives at a fault point."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    faults.arm(point, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
    finally:
        faults.disarm()


def state(ax: AX, request: str) -> tuple[str, str | None]:
    task = ax.find_request(request)
    assert task is not None
    return task.state, task.reason


@pytest.mark.parametrize("leave", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("effect", ["read", "unsafe"])
def test_a_tool_that_exits_is_an_interruption_and_not_a_failure(
    ax: AX, leave: type[BaseException], effect: str
) -> None:
    """Through every body form it goes on up to the caller; a READ waits for the next caller, an UNSAFE for a person."""

    def plain() -> None:
        raise leave(3)

    async def soon() -> None:
        await asyncio.sleep(0)
        raise leave(3)

    ax.register(plain, name="plain", policy={"effect": effect})
    ax.register(plain, name="limited", policy={"effect": effect, "timeout": 20})
    ax.register(soon, name="soon", policy={"effect": effect})
    for name in ("plain", "limited", "soon"):
        with pytest.raises(leave):
            ax.call(name, request_id=name)
        expected = ("QUEUED", "interrupted") if effect == "read" else ("QUARANTINE", "outcome_unknown")
        assert state(ax, name) == expected, name


def test_an_async_tool_that_exits_takes_no_other_call_with_it(ax: AX) -> None:
    """The loop that sync callers share stops on SystemExit; it must go on for the others, and for the next."""
    inside, go = threading.Event(), asyncio.Event()

    async def patient() -> str:
        inside.set()
        await asyncio.wait_for(go.wait(), 20)
        return "still here"

    async def leaving() -> None:
        raise SystemExit(3)

    async def following() -> str:
        go.set()
        return "next"

    for fn in (patient, leaving, following):
        ax.register(fn, name=fn.__name__)
    handle = ax.submit("patient")
    assert inside.wait(20)
    with pytest.raises(SystemExit):
        ax.call("leaving")
    assert ax.call("following") == "next"
    assert ax.wait_for_result(handle, timeout=20) == "still here"


@pytest.mark.parametrize("effect", ["read", "unsafe"])
def test_ctrl_c_during_an_async_tool_cancels_it_and_is_on_record(ax: AX, effect: str) -> None:
    """As the host's cancellation would: it is passed to the tool, and told as what it is."""
    seen: list[str] = []

    async def patient() -> None:
        ctrl_c_soon()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    ax.register(patient, name="patient", policy={"effect": effect})
    with pytest.raises(KeyboardInterrupt):
        ax.call("patient", request_id="r")
    expected = ("QUEUED", "interrupted") if effect == "read" else ("QUARANTINE", "outcome_unknown")
    assert until(lambda: state(ax, "r") == expected), state(ax, "r")
    assert seen == ["cancelled"]


def test_ctrl_c_during_a_limited_sync_tool_lets_it_end_and_record_its_end(ax: AX) -> None:
    """A thread cannot be cut off: it goes on, and whoever asks again gets its result."""
    go = threading.Event()

    def patient() -> str:
        ctrl_c_soon()
        assert go.wait(20)
        return "done"

    ax.register(patient, name="patient", policy={"effect": "unsafe", "timeout": 20})
    with pytest.raises(KeyboardInterrupt):
        ax.call("patient", request_id="r")
    assert state(ax, "r")[0] == "RUNNING"
    go.set()
    assert ax.call("patient", request_id="r") == "done"


def test_ctrl_c_between_the_claim_and_the_body_gives_the_claim_back(ax: AX, clock: Skew) -> None:
    """Nothing happened, and the record says so: the call runs when it is made again, even an UNSAFE one."""
    entered: list[int] = []
    ax.register(lambda: entered.append(1), name="act", policy={"effect": "unsafe"})

    for point in ("admit.before_commit", "admit.after_commit"):
        interrupted_at(point, lambda point=point: ax.call("act", request_id=point))
        assert until(lambda point=point: state(ax, point) == ("QUEUED", "interrupted")), state(ax, point)
        assert entered == []
        ax.call("act", request_id=point)
        assert entered == [1]
        entered.clear()


def test_ctrl_c_while_the_end_is_being_recorded_loses_no_end(ax: AX) -> None:
    """The caller goes; what the tool returned is stored all the same."""
    ax.register(lambda: 42, name="act", policy={"effect": "unsafe"})
    for point in ("record.before_commit", "record.after_commit"):
        interrupted_at(point, lambda point=point: ax.call("act", request_id=point))
        assert until(lambda point=point: state(ax, point)[0] == "SUCCESS"), state(ax, point)
        assert ax.call("act", request_id=point) == 42


def test_a_caller_that_leaves_while_it_waits_changes_nothing(ax: AX, clock: Skew) -> None:
    go, inside = threading.Event(), threading.Event()

    def patient() -> str:
        inside.set()
        assert go.wait(20)
        return "done"

    ax.register(patient, name="patient", policy={"effect": "unsafe"})
    handle = ax.submit("patient", request_id="r")
    assert inside.wait(20)
    ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        ax.wait_for_result(handle, timeout=20)
    go.set()
    assert ax.wait_for_result(handle, timeout=20) == "done"


def test_a_claim_that_nobody_could_give_back_is_classified_when_its_lease_is_over(
    ax: AX, clock: Skew
) -> None:
    ax.register(lambda: None, name="act", policy={"effect": "unsafe"})

    def gone(*_: object) -> None:
        raise SystemExit

    kept = hands.enter
    hands.enter = gone  # type: ignore[assignment]
    try:
        with pytest.raises(SystemExit):
            ax.call("act", request_id="r")
    finally:
        hands.enter = kept
    clock.ahead(LEASE + 1)
    beat(ax)
    with pytest.raises(OutcomeUnknown):
        ax.call("act", request_id="r")
