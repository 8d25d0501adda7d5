"""Telling of moves: wakes who waits, and makes the event that somebody listens for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..hooks import Event, Hooks
from ..model import TaskRow
from ..view import as_mapping

EVENT_OF_STATE = {
    "SUCCESS": "succeeded",
    "FAILED": "failed",
    "TIMEOUT": "timed_out",
    "QUARANTINE": "quarantined",
    "CANCELLED": "cancelled",
    "DEAD": "dead",
    "RETRY_WAIT": "retrying",
    "COMPENSATED": "compensated",
    "RUNNING": "started",
    "CONFIRMING": "confirming",
}


class Tell:
    """Made once per AX: everything that moves a task calls it after the commit.

    Args:
        ready: told of tasks that wait for somebody to run them.
        publish: told every event with its namespace, for other processes.
    """

    def __init__(
        self,
        hooks: Hooks,
        wake: Callable[[str], None],
        ready: Callable[[TaskRow], object] | None = None,
        publish: Callable[[str, Event], None] | None = None,
    ) -> None:
        self._hooks, self._wake, self._ready, self._publish = hooks, wake, ready, publish
        self._moved = self._telling(None, {})

    def __call__(self, name: str | None = None, **detail: Any) -> Callable[[TaskRow], None]:
        """A callback for one move; ``name`` None: the event of the state it came to."""
        return self._telling(name, detail) if name or detail else self._moved

    def wants(self, name: str) -> bool:
        """Whether anybody listens."""
        return self._publish is not None or self._hooks.wants(name)

    def _telling(self, name: str | None, detail: dict[str, Any]) -> Callable[[TaskRow], None]:
        def told(row: TaskRow) -> None:
            self._wake(row.id)
            if self._ready is not None and row.state == "QUEUED":
                self._ready(row)
            event = name or EVENT_OF_STATE.get(row.state, "")
            if event == "alert" or self.wants(event):
                self._emit(row, event or row.state.lower(), detail)
            if name != "alert" and row.state == "QUARANTINE" and row.reason == "outcome_unknown":
                self._emit(row, "alert", {"kind": "outcome_unknown"})
            if name != "alert" and row.state == "DEAD":
                self._emit(row, "alert", {"kind": f"dead:{row.reason}"})

        return told

    def _emit(self, row: TaskRow, name: str, detail: dict[str, Any]) -> None:
        event = event_of(row, name, detail)
        self._hooks.emit(event)
        if self._publish is not None:
            self._publish(row.ns, event)


def event_of(row: TaskRow, name: str, detail: dict[str, Any]) -> Event:
    """The event of a task, as it stands now."""
    return Event(
        name=name,
        task_id=row.id,
        run_id=row.run_id,
        tool=row.tool,
        state=row.state,
        at=row.ended_at or row.started_at or row.created_at,
        reason=row.reason,
        address=as_mapping(row.address),
        detail=detail,
    )
