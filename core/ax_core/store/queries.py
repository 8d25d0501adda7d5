"""Questions about many tasks, each answered through an index."""

from __future__ import annotations

from typing import Any

from ..clock import SECOND, Micros
from ..model import TaskRow
from .listing import Listing
from .tx import Tx, columns

_COLUMNS = columns(TaskRow)


def newest(
    tx: Tx,
    ns: str,
    *,
    states: tuple[str, ...] = (),
    reason: str | None = None,
    session: str | None = None,
    tool: str | None = None,
    since: Micros | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[TaskRow]:
    """Tasks, newest first, before the id ``before``."""
    asked = Listing(ns, {"reason": reason, "session": session, "tool": tool}, states, before, limit)
    if since is not None:
        # Ids sort by time of creation, to within a minute among processes: older ones need not be looked at.
        asked.narrow("created_at >= :since", since=since)
        asked.narrow(
            "id > COALESCE((SELECT id FROM ax_task WHERE created_at < :older ORDER BY id DESC LIMIT 1), '')",
            older=since - 60 * SECOND,
        )
    # The index by state leaves out the successes; say so, or it is not used.
    if states and "SUCCESS" not in states:
        asked.narrow("state <> 'SUCCESS'")
    return _rows(tx, asked.sql(_COLUMNS, "ax_task"), asked.params)


def doubtful(tx: Tx, ns: str, limit: int = 50) -> list[TaskRow]:
    """Tasks that ended, and may have acted all the same; newest first."""
    sql = (
        f"SELECT {_COLUMNS} FROM ax_task WHERE ns = :ns AND state IN ('FAILED', 'CANCELLED', 'DEAD') "
        "AND state <> 'SUCCESS' AND maybe_applied = 1 ORDER BY id DESC LIMIT :limit"
    )
    return _rows(tx, sql, {"ns": ns, "limit": limit})


def of_run(tx: Tx, run_id: str, limit: int = 10_000) -> list[TaskRow]:
    """The tasks of a run, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM ax_task WHERE run_id = :run_id ORDER BY id LIMIT :limit"
    return _rows(tx, sql, {"run_id": run_id, "limit": limit})


def twins(tx: Tx, twin: str) -> list[TaskRow]:
    """Tasks with equal tool and arguments in the same session (else run) that may stand in an equal call's way."""
    return [TaskRow(*row) for row in tx.all_held(_TWINS, twin=twin)]


def running(tx: Tx) -> list[TaskRow]:
    """Every open attempt in the database, of every namespace."""
    return _rows(
        tx, f"SELECT {_COLUMNS} FROM ax_task WHERE state = 'RUNNING' AND state <> 'SUCCESS' ORDER BY id", {}
    )


def half_open(tx: Tx) -> list[TaskRow]:
    """Tasks whose last attempt was given up but has not been seen to end."""
    sql = f"SELECT {_COLUMNS} FROM ax_task WHERE attempt_open = 1 AND state <> 'RUNNING' ORDER BY id"
    return _rows(tx, sql, {})


def due(tx: Tx, state: str, now: Micros, limit: int = 200) -> list[TaskRow]:
    """Tasks in a state whose due time has come."""
    sql = (
        f"SELECT {_COLUMNS} FROM ax_task WHERE state = :state AND state <> 'SUCCESS' "
        "AND due_at IS NOT NULL AND due_at <= :now ORDER BY due_at LIMIT :limit"
    )
    return _rows(tx, sql, {"state": state, "now": now, "limit": limit})


def repeats(tx: Tx, run_id: str, fingerprint: str) -> list[tuple[str, str, str | None, str | None, int]]:
    """What equal calls of a run came to: (id, state, result, error, replays), newest first, at most 50."""
    return tx.all(_REPEATS, run_id=run_id, fingerprint=fingerprint)


def merges(tx: Tx, task_id: str) -> int:
    """How many calls under other requests a task answered."""
    return int(tx.one(_MERGES, task_id=task_id)[0])


def last_other_write(tx: Tx, run_id: str, fingerprint: str) -> str:
    """The id of the newest successful write of a run other than ``fingerprint``, or ''.

    A write that only repeats an earlier one with the same result is none: going round in circles is no progress.
    """
    found = tx.one(_LAST_WRITE, run_id=run_id, fingerprint=fingerprint)
    return found[0] or "" if found else ""


def counts(tx: Tx, ns: str) -> dict[str, int]:
    """How many tasks stand in each state other than SUCCESS."""
    return dict(
        tx.all(
            "SELECT state, COUNT(*) FROM ax_task WHERE ns = :ns AND state <> 'SUCCESS' GROUP BY state", ns=ns
        )
    )


def _rows(tx: Tx, sql: str, params: dict[str, Any]) -> list[TaskRow]:
    return [TaskRow(*row) for row in tx.all(sql, **params)]


_TWINS = (
    f"SELECT {_COLUMNS} FROM ax_task WHERE twin = :twin AND twin IS NOT NULL AND state <> 'SUCCESS' "
    "AND state IN ('CONFIRMING', 'RUNNING', 'QUARANTINE', 'QUEUED') ORDER BY id"
)
_REPEATS = (
    "SELECT id, state, result, error, replays FROM ax_task WHERE run_id = :run_id AND fingerprint = :fingerprint "
    "ORDER BY id DESC LIMIT 50"
)
_MERGES = "SELECT COUNT(*) FROM ax_audit WHERE task_id = :task_id AND verb IN ('merged', 'in_the_way')"
_LAST_WRITE = (
    "SELECT MAX(first) FROM (SELECT MIN(id) AS first FROM ax_task WHERE run_id = :run_id AND state = 'SUCCESS' "
    "AND effect <> 'read' AND fingerprint <> :fingerprint GROUP BY fingerprint, result) AS writes"
)
