"""``t.crash``: the process dies at a point of a call, and what comes after is as after a kill."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from sqlalchemy import text

from ax_core import AX, OutcomeUnknown, Policy, State, UnknownTool, current
from ax_core.store import locks
from ax_core.testing import Crash

RERUN, REPLAYED, DOUBT = "run again", "answered from the record", "a person must look"

FATES = [
    *((effect, at, RERUN) for effect in ("read", "idempotent", "keyed") for at in ("before", "after")),
    *((effect, "recorded", REPLAYED) for effect in ("read", "keyed", "undeclared", "unsafe")),
    *((effect, at, DOUBT) for effect in ("undeclared", "unsafe") for at in ("before", "after")),
]


def registered(ax: AX, effect: str, style: str = "sync", **policy: Any) -> None:
    if style == "sync":

        def act(order: str) -> str:
            current().about_to_act() if policy.get("marks_effect") else None
            return f"done {order}"
    else:

        async def act(order: str) -> str:  # type: ignore[misc]
            current().about_to_act() if policy.get("marks_effect") else None
            return f"done {order}"

    ax.register(act, policy=Policy(effect=effect, **policy))


def sent(ax: AX, style: str) -> Any:
    if style == "sync" or style == "async tool, sync caller":
        return ax.call("act", {"order": "7"}, request_id="r1")
    import asyncio

    return asyncio.run(ax.acall("act", {"order": "7"}, request_id="r1"))


@pytest.mark.parametrize("style", ["sync", "async", "async tool, sync caller"])
@pytest.mark.parametrize("effect, at, fate", FATES)
def test_the_resubmission_finds_what_a_kill_would_have_left(
    effect: str, at: str, fate: str, style: str
) -> None:
    ax = AX()
    registered(ax, effect, style)
    with ax.testing() as t:
        t.crash("act", at=at)
        with pytest.raises(Crash):
            sent(ax, style)
        if fate == DOUBT:
            with pytest.raises(OutcomeUnknown):
                sent(ax, style)
            assert t.effects("act") <= 1
            assert ax.inbox()[0].reason == "outcome_unknown"
        else:
            assert sent(ax, style) == "done 7"
            assert t.effects("act") == {"before": 1, "after": 2, "recorded": 1}[at]
            assert ax.tasks().tasks[0].replayed is (fate == REPLAYED)


@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize("at, fate", [("before", RERUN), ("mark", DOUBT), ("after", DOUBT)])
def test_a_tool_that_marks_its_effect_is_in_doubt_from_the_mark_on(at: str, fate: str, style: str) -> None:
    ax = AX()
    registered(ax, "unsafe", style, marks_effect=True)
    with ax.testing() as t:
        t.crash("act", at=at)
        with pytest.raises(Crash):
            sent(ax, style)
        if fate == DOUBT:
            with pytest.raises(OutcomeUnknown):
                sent(ax, style)
        else:
            assert sent(ax, style) == "done 7"
            assert t.entered("act") == 1


@pytest.mark.parametrize("at, entered", [("before", 1), ("after", 2), ("recorded", 1)])
def test_a_transactional_tool_has_one_effect_wherever_it_died(at: str, entered: int) -> None:
    ax = AX()

    @ax.tool(effect="transactional")
    def book(order: str) -> int:
        connection = current().connection
        connection.execute(text("CREATE TABLE IF NOT EXISTS booking (id TEXT)"))
        connection.execute(text("INSERT INTO booking VALUES (:id)"), {"id": order})
        return int(connection.execute(text("SELECT COUNT(*) FROM booking")).scalar_one())

    with ax.testing() as t:
        t.crash(book, at=at)
        with pytest.raises(Crash):
            ax.call("book", {"order": "7"}, request_id="r1")
        assert ax.call("book", {"order": "7"}, request_id="r1") == 1
        assert t.entered(book) == entered


def test_nothing_is_recorded_after_the_crash_but_the_verdict_of_the_next_process() -> None:
    ax = AX()
    registered(ax, "unsafe")
    with ax.testing() as t:
        t.crash("act", at="after")
        with pytest.raises(Crash):
            sent(ax, "sync")
        t.recover()
        task = ax.tasks().tasks[0]
        assert [entry.verb for entry in ax.audit(task.id)] == ["claim", "lost"]
        assert ax.audit(task.id)[1].by != ax.audit(task.id)[0].by
        assert ax.verify(task.id) is None


def test_a_run_that_died_is_still_open_and_its_session_free_for_the_next_process() -> None:
    ax = AX()
    registered(ax, "unsafe")
    with ax.testing() as t:
        t.crash("act", at="after")
        with pytest.raises(Crash), ax.run(session="user-1", key="refund-7") as first:
            sent(ax, "sync")
        assert ax.tree(first.id).run.state == "OPEN"
        held = ax._core.db.read(lambda tx: locks.get(tx, "default", "user-1"))
        assert held is not None
        assert held.expires_at > t.clock.now()  # who died released nothing
        with ax.run(session="user-1", key="refund-7") as again:
            assert again.id == first.id
            with pytest.raises(OutcomeUnknown):
                sent(ax, "sync")


async def test_a_run_that_died_in_async_code_is_still_open() -> None:
    ax = AX()
    registered(ax, "keyed")
    async with ax.testing() as t:
        t.crash("act", at="before")
        with pytest.raises(Crash):
            async with ax.run(session="user-1", key="refund-7") as first:
                await ax.acall("act", {"order": "7"}, request_id="r1")
        assert (await ax.atree(first.id)).run.state == "OPEN"
        async with ax.run(session="user-1", key="refund-7"):
            assert await ax.acall("act", {"order": "7"}, request_id="r1") == "done 7"


def test_whatever_else_ran_in_that_process_died_with_it() -> None:
    ax = AX()
    inside, go_on, fate = threading.Event(), threading.Event(), []
    registered(ax, "unsafe")

    @ax.tool(effect="unsafe", timeout=None)
    def slow() -> str:
        inside.set()
        go_on.wait(30)
        return "done"

    def other() -> None:
        try:
            ax.call("slow", request_id="s1")
        except BaseException as error:
            fate.append(error)

    with ax.testing() as t:
        thread = threading.Thread(target=other)
        thread.start()
        assert inside.wait(30)
        t.crash("act", at="before")
        with pytest.raises(Crash):
            sent(ax, "sync")
        with pytest.raises(OutcomeUnknown):
            ax.call("slow", request_id="s1")
        go_on.set()
        thread.join(30)
        assert isinstance(fate[0], Crash)
        assert ax.tasks(tool="slow").tasks[0].state is State.QUARANTINE
        assert (t.entered("slow"), t.effects("slow")) == (1, 1)


def test_a_submitted_task_dies_without_noise(capfd: pytest.CaptureFixture[str]) -> None:
    ax = AX()
    registered(ax, "unsafe")
    with ax.testing() as t:
        t.crash("act", at="after")
        task_id = ax.submit("act", {"order": "7"})
        with pytest.raises((Crash, OutcomeUnknown)):
            ax.wait_for_result(task_id, timeout=30)
        assert ax.get(task_id).reason == "outcome_unknown"
    assert "Traceback" not in capfd.readouterr().err


def test_each_crash_is_for_one_call_and_only_for_its_tool() -> None:
    ax = AX()
    registered(ax, "keyed")

    @ax.tool(effect="read")
    def look() -> str:
        return "seen"

    with ax.testing() as t:
        t.crash("act", at="after")
        assert ax.call("look") == "seen"
        with pytest.raises(Crash):
            sent(ax, "sync")
        assert sent(ax, "sync") == "done 7"
        assert ax.call("act", {"order": "8"}) == "done 8"


def test_what_cannot_crash_is_told_at_once() -> None:
    ax = AX()
    registered(ax, "read")
    with ax.testing() as t:
        with pytest.raises(UnknownTool, match="axt"):
            t.crash("axt")
        with pytest.raises(ValueError, match="'before', 'mark', 'after', 'recorded'"):
            t.crash("act", at="during")
