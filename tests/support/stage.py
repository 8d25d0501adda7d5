"""A task brought into each state that it can be in."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import (
    AX,
    NotApplied,
)
from support.aside import outcome
from support.ears import Ear
from support.expiry import LIMIT, expiring
from support.probe import Held, Interrupt, Pause, Probe


class Stage:
    """A task in a given state, and what is needed to let it go at the end."""

    def __init__(self, ax: AX, state: str) -> None:
        self.ax, self.probe, self.held = ax, Probe(), Held()
        getattr(self, state)()
        self.id = ax.tasks(tool="pay").tasks[0].id

    def call(self) -> Any:
        return outcome(lambda: self.ax.call("pay", request_id="r"))

    def queued(self) -> None:
        self.probe.tool(self.ax)
        self.ax.pause("pay", by="setup")
        self.call()

    def confirming(self) -> None:
        self.probe.tool(self.ax, confirm=True)
        self.call()

    def running(self) -> None:
        self.probe.then(self.held)
        self.probe.tool(self.ax)
        self.ax.submit("pay", request_id="r")
        self.held.wait_entered()

    def waiting(self) -> None:
        from ax_core.dispatch import Call

        self.probe.then(Pause())
        tool = self.probe.tool(self.ax)
        with pytest.raises(Pause):
            self.ax.dispatch(Call(tool, {}, request_id="r"), passes=(Pause,))

    def retry_wait(self) -> None:
        self.probe.then(RuntimeError("no"))
        self.probe.tool(self.ax, effect="keyed", retries=1, backoff=3600)
        ear = Ear(self.ax, "retrying")
        self.ax.submit("pay", request_id="r")
        ear.wait()

    def success(self) -> None:
        self.probe.tool(self.ax)
        self.call()

    def failed(self) -> None:
        self.probe.then(NotApplied("no"))
        self.probe.tool(self.ax)
        self.call()

    def maybe_applied(self) -> None:
        self.probe.then(RuntimeError("reply lost"))
        self.probe.tool(self.ax, effect="unsafe")
        self.call()

    def timeout(self) -> None:
        self.probe.tool(self.ax)
        outcome(lambda: self.ax.call("pay", request_id="r", timeout=0))

    def invalid_args(self) -> None:
        self.probe.tool(self.ax)
        outcome(lambda: self.ax.call("pay", {"ordr": 1}, request_id="r"))

    def outcome_unknown(self) -> None:
        self.probe.then(Interrupt())
        self.probe.tool(self.ax)
        with pytest.raises(Interrupt):
            self.ax.call("pay", request_id="r")

    def still_open(self) -> None:
        self.probe.then(self.held)
        self.probe.tool(self.ax, timeout=LIMIT)
        with expiring(self.held):
            self.call()

    def cancelled(self) -> None:
        self.queued()
        self.ax.cancel(self.ax.tasks().tasks[0].id, by="setup")
        self.ax.resume("pay", by="setup")

    def rejected(self) -> None:
        self.confirming()
        self.ax.reject(self.ax.tasks().tasks[0].id, by="setup")

    def dead(self) -> None:
        self.probe.then(RuntimeError("no"), RuntimeError("no"))
        self.probe.tool(self.ax, effect="keyed", retries=1, backoff=0)
        ear = Ear(self.ax, "dead")
        self.ax.submit("pay", request_id="r")
        ear.wait()

    def compensated(self) -> None:
        self.probe.tool(self.ax, effect="keyed", compensate=lambda args, result: None)
        with self.ax.run() as run:
            self.call()
        self.ax.rollback(run.id, by="setup")
