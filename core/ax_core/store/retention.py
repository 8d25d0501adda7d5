"""Old tasks: found by walking the ids, slimmed to what answers for them, and in the end removed."""

from __future__ import annotations

from typing import NamedTuple

from ..clock import Micros, uuid7
from ..model import PURGED, TaskRow
from .tx import Tx

SETTLED = ("SUCCESS", "FAILED", "TIMEOUT", "CANCELLED", "SKIPPED", "COMPENSATED")
"""States in which nobody is waited for; what lies parked for a person is not among them."""
SKEW = 60_000
"""Milliseconds by which ids of different processes may be out of order."""


class Old(NamedTuple):
    """What a purge has to know of a task."""

    id: str
    ns: str
    state: str
    maybe_applied: int
    attempt_open: int
    ended_at: Micros | None
    dedupe_key: str | None
    slim: int


def aged(tx: Tx, ns: str, before: Micros, after: str, limit: int, *, slim: bool) -> list[tuple[str, str]]:
    """Settled tasks of before a time, whole ones or slim ones: (id, run id), oldest first, behind the id ``after``."""
    sql = (
        "SELECT id, run_id FROM ax_task WHERE id > :after AND id < :until AND ns = :ns AND created_at < :before "
        f"AND state IN ({', '.join(repr(state) for state in SETTLED)}) "
        f"AND payload {'=' if slim else '<>'} :purged ORDER BY id LIMIT :limit"
    )
    until = uuid7(before // 1000 + SKEW, 0, 0)
    found = tx.all(sql, after=after, until=until, ns=ns, before=before, purged=PURGED, limit=limit)
    return [(row[0], row[1]) for row in found]


def root_of(tx: Tx, run_id: str) -> str:
    """The root of the tree that a run stands in."""
    found = tx.one("SELECT root_id FROM ax_run WHERE id = :run_id", run_id=run_id)
    return found[0] if found else run_id


def runs_of(tx: Tx, root_id: str) -> list[tuple[str, str, str | None]]:
    """The opened runs of a tree: (id, state, reason)."""
    return [tuple(row) for row in tx.all(_RUNS, root_id=root_id)]


def tasks_of(tx: Tx, run_id: str) -> list[Old]:
    """The tasks of one run."""
    return [Old(*row) for row in tx.all(_TASKS, run_id=run_id, purged=PURGED)]


def drop_trail(tx: Tx, row: TaskRow) -> None:
    """Remove a task's attempts, and its audit but for the last entry, which says what went before it."""
    tx.run("DELETE FROM ax_audit WHERE task_id = :task_id AND seq < :seq", task_id=row.id, seq=row.audit_seq)
    tx.run("DELETE FROM ax_attempt WHERE task_id = :task_id", task_id=row.id)


def guards(tx: Tx, task: Old, now: Micros) -> bool:
    """Whether a task answers for an idempotency key that has no window, or whose window is not over."""
    if task.dedupe_key is None:
        return False
    held = tx.one(_GUARD, ns=task.ns, dedupe_key=task.dedupe_key, task_id=task.id)
    return held is not None and (held[0] is None or held[0] > now)


def remove(tx: Tx, task: Old) -> None:
    """Remove a task with all that points at it; notes of adapters, which count on their order, stay."""
    for sql in _REMOVE:
        tx.run(sql, task_id=task.id)
    if task.dedupe_key is not None:
        tx.run(_REMOVE_KEY, ns=task.ns, dedupe_key=task.dedupe_key, task_id=task.id)


def remove_run(tx: Tx, run_id: str) -> None:
    """Remove an opened run."""
    tx.run("DELETE FROM ax_run WHERE id = :run_id", run_id=run_id)


_RUNS = "SELECT id, state, reason FROM ax_run WHERE root_id = :root_id ORDER BY id"
_TASKS = (
    "SELECT id, ns, state, maybe_applied, attempt_open, ended_at, dedupe_key, "
    "CASE WHEN payload = :purged THEN 1 ELSE 0 END FROM ax_task WHERE run_id = :run_id ORDER BY id"
)
_GUARD = (
    "SELECT expires_at FROM ax_idempotency WHERE ns = :ns AND dedupe_key = :dedupe_key AND task_id = :task_id"
)
_REMOVE = (
    "DELETE FROM ax_task WHERE id = :task_id",
    "DELETE FROM ax_audit WHERE task_id = :task_id",
    "DELETE FROM ax_attempt WHERE task_id = :task_id",
    "DELETE FROM ax_approval WHERE task_id = :task_id",
    "DELETE FROM ax_request WHERE task_id = :task_id AND submitted_hash <> ''",
)
_REMOVE_KEY = "DELETE FROM ax_idempotency WHERE ns = :ns AND dedupe_key = :dedupe_key AND task_id = :task_id"
