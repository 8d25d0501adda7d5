"""Cancelling what runs: a tool that looks stops, one that does not is shown as asked to, and nothing runs beside it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from ax_core import AX, AXError, OutcomeUnknown, State, TaskCancelled, current


class Running:
    """A call on a thread of its own, and what it came to."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.answer: Any = None

        def work() -> None:
            try:
                self.answer = call()
            except AXError as error:
                self.answer = error

        self._thread = threading.Thread(target=work)
        self._thread.start()

    def over(self) -> Any:
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.answer


class Looking:
    """A tool that looks every now and then whether it should stop, and acts if it never should."""

    def __init__(self) -> None:
        self.inside, self.never, self.acted = threading.Event(), threading.Event(), 0

    def __call__(self) -> str:
        self.inside.set()
        for _ in range(400):
            current().raise_if_cancelled()
            self.never.wait(0.05)
        self.acted += 1
        return "acted"


@pytest.mark.parametrize("timeout", [None, 30])
@pytest.mark.parametrize("effect", ["read", "idempotent", "undeclared", "unsafe"])
def test_a_tool_that_looks_stops_and_is_cancelled(ax: AX, effect: str, timeout: float | None) -> None:
    tool = Looking()
    ax.register(tool, name="looking", policy={"effect": effect, "timeout": timeout, "retries": 3})
    call = Running(lambda: ax.call("looking", request_id="r"))
    assert tool.inside.wait(20)
    task = ax.find_request("r")
    assert task is not None
    verdict = ax.cancel(task.id, by="ops")
    assert (verdict.done, verdict.state) == (True, State.RUNNING)
    assert isinstance(call.over(), TaskCancelled)
    after = ax.get(task.id)
    # It says itself that it stopped; only whoever declared nothing about marks is believed no further than that.
    assert (after.state, after.reason, after.attempts) == (State.CANCELLED, "by_user", 1)
    assert after.maybe_applied is (effect in ("undeclared", "unsafe"))
    assert tool.acted == 0
    with pytest.raises(TaskCancelled):
        ax.call("looking", request_id="r")
    assert ax.serve().round() == 0


@pytest.mark.parametrize("timeout", [None, 30])
def test_a_tool_that_marks_its_effect_is_stopped_at_the_mark(ax: AX, timeout: float | None) -> None:
    inside, go = threading.Event(), threading.Event()
    acted: list[int] = []

    def marked() -> None:
        inside.set()
        go.wait(20)
        current().about_to_act()
        acted.append(1)

    ax.register(marked, policy={"effect": "unsafe", "timeout": timeout, "marks_effect": True})
    call = Running(lambda: ax.call("marked", request_id="r"))
    assert inside.wait(20)
    task = ax.find_request("r")
    assert task is not None
    ax.cancel(task.id, by="ops")
    go.set()
    assert isinstance(call.over(), TaskCancelled)
    after = ax.get(task.id)
    assert (after.state, after.maybe_applied, acted) == (State.CANCELLED, False, [])


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("effect", ["idempotent", "unsafe"])
def test_a_tool_that_never_looks_is_shown_as_asked_to_stop_until_it_ends(
    ax: AX, effect: str, raises: bool
) -> None:
    inside, door, entered = threading.Event(), threading.Event(), 0

    def deaf() -> str:
        nonlocal entered
        entered += 1
        inside.set()
        door.wait(20)
        if raises:
            raise RuntimeError("no")
        return "done"

    ax.register(deaf, policy={"effect": effect, "timeout": 30, "retries": 3, "backoff": 0.01})
    call = Running(lambda: ax.call("deaf", request_id="r"))
    assert inside.wait(20)
    task = ax.find_request("r")
    assert task is not None
    assert ax.cancel(task.id, by="ops").done
    shown = ax.get(task.id)
    assert (shown.state, shown.cancel_requested) == (State.RUNNING, True)
    again = ax.cancel(task.id, by="somebody else")
    assert (again.done, again.state) == (False, State.RUNNING)
    door.set()
    told, after = call.over(), ax.get(task.id)
    if not raises:  # it happened, and that is what is recorded and told
        assert (told, after.state) == ("done", State.SUCCESS)
    elif effect == "idempotent":
        assert (type(told), after.state) == (TaskCancelled, State.CANCELLED)
    else:
        assert (after.state, after.maybe_applied) == (State.FAILED, True)
    assert (entered, after.attempts) == (1, 1)  # however many retries were left


@pytest.mark.parametrize("effect", ["read", "keyed", "undeclared", "unsafe"])
async def test_a_coroutine_is_cut_off_and_told_by_what_it_may_have_done(ax: AX, effect: str) -> None:
    inside = asyncio.Event()

    async def waiting() -> None:
        inside.set()
        await asyncio.sleep(60)

    ax.register(waiting, policy={"effect": effect, "retries": 3, "backoff": 0.01})
    call = asyncio.create_task(ax.acall("waiting", request_id="r"))
    await inside.wait()
    task = (await ax.atasks()).tasks[0]
    assert (await ax.acancel(task.id, by="ops")).done
    in_doubt = effect in ("undeclared", "unsafe")
    with pytest.raises(OutcomeUnknown if in_doubt else TaskCancelled):
        await call
    after = await ax.aget(task.id)
    assert after.state == (State.QUARANTINE if in_doubt else State.CANCELLED)
    assert (after.attempts, after.history[0].closed) == (1, True)


@pytest.mark.parametrize("where", ["retry", "queue", "approval"])
def test_what_waits_is_cancelled_at_once_and_never_runs(ax: AX, where: str) -> None:
    entered: list[int] = []

    def failing() -> None:
        entered.append(1)
        raise RuntimeError("no")

    policy = {"effect": "idempotent", "retries": 5, "backoff": 0.4, "confirm": where == "approval"}
    ax.register(failing, policy=policy)
    if where == "queue":
        ax.register(lambda: None, name="warm", policy={"effect": "read"})
        ax.call("warm")
        ax.pause("failing", by="ops")
    waits = threading.Event()
    ax.on("retrying")(lambda event: waits.set())
    handle = ax.submit("failing", request_id="r")
    if where == "retry":
        assert waits.wait(20)
    verdict = ax.cancel(handle, by="ops")
    assert (verdict.done, verdict.state) == (True, State.CANCELLED)
    ran = len(entered)
    if where == "queue":
        ax.resume("failing", by="ops")
    with ax.serve() as serving, pytest.raises(TaskCancelled):
        serving.round()
        ax.wait_for_result(handle, timeout=1.0)  # well beyond its retry's time
    assert len(entered) == ran == (1 if where == "retry" else 0)
    again = ax.cancel(handle, by="ops")
    assert (again.done, again.state) == (False, State.CANCELLED)
