"""Runs that were opened on purpose: rows, and guarded changes of them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from ..clock import Micros
from ..model import RunRow, TaskRow
from ..states import Reason, RunState
from .listing import Listing
from .tx import Tx, columns

_COLUMNS = columns(RunRow)


def create(tx: Tx, row: RunRow) -> bool:
    """Store a new run; False: its key is taken."""
    return tx.insert_new("ax_run", row)


def get(tx: Tx, run_id: str) -> RunRow | None:
    """A run by its id, held where it is read in order to be written; None also for an implicit one, without a row."""
    found = tx.held(_BY_ID, run_id=run_id)
    return RunRow(*found) if found else None


def by_key(tx: Tx, ns: str, key: str) -> RunRow | None:
    """A run by the key that the user gave it."""
    found = tx.held(_BY_KEY, ns=ns, run_key=key)
    return RunRow(*found) if found else None


def line(tx: Tx, run_id: str) -> list[RunRow]:
    """A run and those it stands in, innermost first, not held: what is taken from them is guarded."""
    found: list[RunRow] = []
    at: str | None = run_id
    while at is not None and (raw := tx.one(_BY_ID, run_id=at)) is not None:
        row = RunRow(*raw)
        found.append(row)
        at = row.parent_run_id
    return found


def held_line(tx: Tx, run_id: str) -> list[RunRow]:
    """:func:`line`, each of them held."""
    found: list[RunRow] = []
    at: str | None = run_id
    while at is not None and (row := get(tx, at)) is not None:
        found.append(row)
        at = row.parent_run_id
    return found


def children(tx: Tx, run_id: str) -> list[RunRow]:
    """The subtrees opened directly inside a run."""
    return [RunRow(*row) for row in tx.all(_CHILDREN, run_id=run_id)]


def newest(
    tx: Tx,
    ns: str,
    *,
    states: tuple[str, ...] = (),
    session: str | None = None,
    before: str | None = None,
    limit: int = 50,
) -> list[RunRow]:
    """Runs, newest first, before the id ``before``."""
    asked = Listing(ns, {"session": session}, states, before, limit)
    # The index by state holds the unfinished ones; say so, or it is not used.
    if states and set(states) <= {RunState.OPEN, RunState.PAUSED}:
        asked.narrow("(state IN ('OPEN', 'PAUSED') OR reason = 'rolling_back')")
    return [RunRow(*row) for row in tx.all(asked.sql(_COLUMNS, "ax_run"), **asked.params)]


def ended_implicit(task: TaskRow, state: RunState, reason: Reason, now: Micros) -> RunRow:
    """A row for a run that was never opened on purpose, to say that it is over."""
    nothing: dict[str, Any] = dict.fromkeys(RunRow._fields)
    return RunRow(
        **nothing
        | {
            "id": task.run_id,
            "ns": task.ns,
            "root_id": task.run_id,
            "session": task.session,
            "state": state.value,
            "reason": reason.value,
            "used_tasks": 0,
            "refused": 0,
            "used_rounds": 0,
            "used_cost": 0,
            "created_at": task.created_at,
            "ended_at": now,
        }
    )


def move(
    tx: Tx, row: RunRow, state: RunState, now: Micros, reason: Reason | None = None, **changes: Any
) -> RunRow | None:
    """Change a run's state, if it still stands where ``row`` shows it."""
    ended = None if state in (RunState.OPEN, RunState.PAUSED) else now
    new = {"state": state.value, "reason": reason.value if reason else None, "ended_at": ended, **changes}
    if tx.run(_update(tuple(new)), **new, at_id=row.id, at_state=row.state) != 1:
        return None
    return row._replace(**new)


def alter(tx: Tx, run_id: str, **changes: Any) -> None:
    """Change columns other than the state."""
    tx.run(
        f"UPDATE ax_run SET {', '.join(f'{name} = :{name}' for name in changes)} WHERE id = :at_id",
        **changes,
        at_id=run_id,
    )


def rolling_back(tx: Tx) -> list[tuple[str, str]]:
    """Runs of any namespace whose rollback has begun and not ended: (namespace, id), oldest first."""
    sql = "SELECT ns, id FROM ax_run WHERE reason = 'rolling_back' AND parent_run_id IS NULL ORDER BY id"
    return [(row[0], row[1]) for row in tx.all(sql)]


class Draw(NamedTuple):
    """What is taken from a budget at once."""

    tasks: int = 0
    rounds: int = 0
    cost: int = 0


ONE_TASK = Draw(tasks=1)


def reserve(tx: Tx, run_id: str, draw: Draw = ONE_TASK) -> bool:
    """Take from a run's budget, in one guarded UPDATE; False: it does not hold so much, or the run is not open."""
    return tx.run(_RESERVE, run_id=run_id, tasks=draw.tasks, rounds=draw.rounds, cost=draw.cost) == 1


def refund(tx: Tx, run_id: str, draw: Draw = ONE_TASK) -> None:
    """Give back what was taken and not used."""
    tx.run(_REFUND, run_id=run_id, tasks=draw.tasks, rounds=draw.rounds, cost=draw.cost)


def refuse(tx: Tx, run_id: str) -> None:
    """Count a refused or invalid submission."""
    tx.run("UPDATE ax_run SET refused = refused + 1 WHERE id = :run_id", run_id=run_id)


def unfinished(tx: Tx, run_id: str) -> dict[str, int]:
    """How many tasks of a run are not settled, by state; an outcome in doubt counts as its reason."""
    return dict(tx.all(_UNFINISHED, run_id=run_id))


@cache
def _update(names: tuple[str, ...]) -> str:
    return (
        f"UPDATE ax_run SET {', '.join(f'{n} = :{n}' for n in names)} WHERE id = :at_id AND state = :at_state"
    )


_BY_ID = f"SELECT {_COLUMNS} FROM ax_run WHERE id = :run_id"
_BY_KEY = f"SELECT {_COLUMNS} FROM ax_run WHERE ns = :ns AND run_key = :run_key"
# Through the index on the root: there is none on the parent.
_CHILDREN = (
    f"SELECT {_COLUMNS} FROM ax_run WHERE root_id = (SELECT root_id FROM ax_run WHERE id = :run_id) "
    "AND parent_run_id = :run_id ORDER BY id"
)
_RESERVE = (
    "UPDATE ax_run SET used_tasks = used_tasks + :tasks, used_rounds = used_rounds + :rounds, "
    "used_cost = used_cost + :cost WHERE id = :run_id AND state = 'OPEN' "
    "AND (max_tasks IS NULL OR used_tasks + :tasks <= max_tasks) "
    "AND (max_rounds IS NULL OR used_rounds + :rounds <= max_rounds) "
    "AND (max_cost IS NULL OR used_cost + :cost <= max_cost)"
)
_REFUND = (
    "UPDATE ax_run SET used_tasks = CASE WHEN used_tasks > :tasks THEN used_tasks - :tasks ELSE 0 END, "
    "used_rounds = CASE WHEN used_rounds > :rounds THEN used_rounds - :rounds ELSE 0 END, "
    "used_cost = CASE WHEN used_cost > :cost THEN used_cost - :cost ELSE 0 END WHERE id = :run_id"
)
_UNFINISHED = (
    "SELECT CASE WHEN state = 'QUARANTINE' THEN reason WHEN state = 'QUEUED' AND approved = 1 THEN 'approved' "
    "ELSE state END AS stands, COUNT(*) FROM ax_task WHERE run_id = :run_id AND ("
    "state IN ('QUEUED', 'WAITING', 'CONFIRMING', 'RUNNING', 'RETRY_WAIT') "
    "OR (state = 'QUARANTINE' AND reason = 'outcome_unknown')) GROUP BY stands"
)
