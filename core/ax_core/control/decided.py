"""What was decided before: what the second operator is told."""

from __future__ import annotations

from ..errors import NotAllowed
from ..model import TaskRow
from ..states import State
from ..store import Tx, audit
from ..view import moment


def state_of(row: TaskRow) -> State:
    """The state a verb finds a task in.

    Raises:
        NotAllowed: it is none that this AX knows.
    """
    try:
        return State(row.state)
    except ValueError:
        raise NotAllowed(
            f"task {row.id} ({row.tool}) is in the unknown state {row.state!r}: its row is damaged, or of another "
            "version of AX; restore it from a backup",
            task_id=row.id,
        ) from None


_WORD = {"cancel_requested": "cancel", "resolve": "resolve", "requeue": "requeue", "cancel": "cancel"}


def standing(tx: Tx, row: TaskRow) -> str:
    """A task's state, and who brought it there and when, where a person did."""
    state = f"{row.state}{f' ({row.reason})' if row.reason else ''}"
    last = audit.newest(tx, row.id)
    if last is None or last.verb not in _WORD:
        return state
    return f"{state}, by {_WORD[last.verb]} of {last.actor} at {moment(last.at):%Y-%m-%d %H:%M:%S} UTC"
