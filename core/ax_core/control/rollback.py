"""Rollback: closes a run to claims, so that its effects can be undone; and says when that is done."""

from __future__ import annotations

from ..clock import Micros
from ..errors import NotAllowed, UnknownTask
from ..model import RunRow, TaskRow
from ..sessions import release
from ..states import Reason, RunState
from ..store import Tx, queries, runs
from .cancel import cancel
from .tell import Tell


def begin_rollback(tx: Tx, ns: str, run_id: str, by: str, now: Micros, tell: Tell) -> RunRow:
    """Close a run and everything under it: what waits is cancelled, what runs is asked to stop.

    Raises:
        UnknownTask: there is no run of that id.
        NotAllowed: it has been rolled back, or purged.
    """
    row = runs.get(tx, run_id)
    rows = queries.of_run(tx, run_id)
    if (row.ns if row is not None else rows[0].ns if rows else None) != ns:
        raise UnknownTask(f"no run {run_id}", task_id=run_id)
    if any(task.purged for task in rows):
        raise NotAllowed(
            f"what run {run_id} did can no longer be undone from here: it was purged", task_id=run_id
        )
    if row is None:
        row = runs.ended_implicit(rows[0], RunState.ROLLED_BACK, Reason.ROLLING_BACK, now)
        runs.create(tx, row)
    elif row.state == RunState.ROLLED_BACK and row.reason is None:
        raise NotAllowed(f"run {run_id} has been rolled back already", task_id=run_id)
    elif row.reason != Reason.ROLLING_BACK:
        row = runs.move(tx, row, RunState.ROLLED_BACK, now, Reason.ROLLING_BACK) or row
        if row.session is not None and row.lock_token is not None and row.parent_run_id is None:
            release(tx, ns, row.session, row.lock_token)
    for task in rows:
        if (
            task.state in ("QUEUED", "WAITING", "CONFIRMING", "RETRY_WAIT", "RUNNING")
            and task.origin != "compensation"
        ):
            cancel(tx, ns, task.id, by, now, tell, Reason.RUN_ENDED)
    for child in runs.children(tx, run_id):
        if child.state != RunState.ROLLED_BACK:
            begin_rollback(tx, ns, child.id, by, now, tell)
    return row


def all_tasks(tx: Tx, run_id: str) -> list[TaskRow]:
    """The tasks of a run and of every run under it."""
    found = queries.of_run(tx, run_id)
    for child in runs.children(tx, run_id):
        found += all_tasks(tx, child.id)
    return found


def end_rollback(tx: Tx, run_id: str, now: Micros, failed: bool) -> None:
    """Everything that could be undone is undone; ``failed``: some of it needs a person."""
    for child in runs.children(tx, run_id):
        end_rollback(tx, child.id, now, failed)
    row = runs.get(tx, run_id)
    if row is not None and row.reason == Reason.ROLLING_BACK:
        runs.move(tx, row, RunState.ROLLED_BACK, now, Reason.COMPENSATION_FAILED if failed else None)
