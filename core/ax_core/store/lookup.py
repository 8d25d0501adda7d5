"""What people know only roughly: ids by their first or last characters, and how long tools take."""

from __future__ import annotations

from .tx import Tx

_TASKS = "SELECT id FROM ax_task WHERE ns = :ns AND {where} LIMIT :limit"
_RUNS = (
    "SELECT id FROM ax_run WHERE ns = :ns AND {where} UNION "
    "SELECT run_id AS id FROM ax_task WHERE ns = :ns AND {where_run} LIMIT :limit"
)
_BEGINS = "{column} >= :part AND {column} < :beyond"
_ENDS = "{column} LIKE :pattern ESCAPE '!'"


def ids(tx: Tx, ns: str, part: str, *, runs: bool, limit: int = 6) -> list[str]:
    """Ids of tasks, or of runs, that start or end with ``part``; where one is exactly that, only it."""
    begins = _found(tx, runs, _BEGINS, ns=ns, part=part, beyond=part + "\U0010ffff", limit=limit)
    if part in begins:
        return [part]
    escaped = part.replace("!", "!!").replace("%", "!%").replace("_", "!_")
    ends = _found(tx, runs, _ENDS, ns=ns, pattern="%" + escaped, limit=limit)
    # LIKE does not tell upper from lower case everywhere.
    return sorted({*begins, *(id for id in ends if id.endswith(part))})


def _found(tx: Tx, runs: bool, condition: str, **params: object) -> list[str]:
    sql = _RUNS if runs else _TASKS
    where, where_run = condition.format(column="id"), condition.format(column="run_id")
    return [row[0] for row in tx.all(sql.format(where=where, where_run=where_run), **params)]


def durations(tx: Tx, ns: str, limit: int) -> dict[str, list[int]]:
    """Microseconds from start to end of the newest successes, by tool."""
    found: dict[str, list[int]] = {}
    for tool, taken in tx.all(_DURATIONS, ns=ns, limit=limit):
        found.setdefault(tool, []).append(taken)
    return found


_DURATIONS = (
    "SELECT tool, ended_at - started_at FROM ("
    "SELECT id, tool, state, started_at, ended_at FROM ax_task WHERE ns = :ns ORDER BY id DESC LIMIT :limit"
    ") AS newest WHERE state = 'SUCCESS' AND started_at IS NOT NULL AND ended_at IS NOT NULL"
)
