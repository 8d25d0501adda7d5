"""Opening, entering again, pausing and closing runs."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ..clock import Micros, micros
from ..errors import AXError, TaskCancelled, TaskDead
from ..model import Budget, RunRow
from ..states import Reason, RunState
from ..store import Tx, queries, runs
from . import lock

_PEOPLE = frozenset({"CONFIRMING", "approved", "outcome_unknown"})
_WAITING = _PEOPLE | {"WAITING"}


@dataclass(frozen=True, slots=True)
class Opening:
    """What a run is opened with."""

    id: str
    ns: str
    key: str | None
    session: str | None
    intent: str | None
    budget: Budget
    parent_run_id: str | None
    parent_task_id: str | None
    token: str
    lease: Micros


def enter(tx: Tx, opening: Opening, now: Micros) -> RunRow | AXError:
    """Open a run, or enter the one of the same key again, and take its session."""
    if opening.key is not None and tx.beside_others:
        tx.serialise(f"run:{opening.ns}:{opening.key}")
    known, session, root = _place(tx, opening)
    if known is not None:
        return reopen(tx, known, opening, now)
    budget = opening.budget
    seconds = micros(budget.seconds) if budget.seconds is not None else None
    row = RunRow(
        id=opening.id,
        ns=opening.ns,
        run_key=opening.key,
        root_id=root,
        parent_run_id=opening.parent_run_id,
        parent_task_id=opening.parent_task_id,
        session=session,
        intent=opening.intent,
        state=RunState.OPEN.value,
        reason=None,
        max_tasks=budget.tasks,
        used_tasks=0,
        refused=0,
        max_rounds=budget.rounds,
        used_rounds=0,
        max_cost=budget.cost,
        used_cost=0,
        seconds=seconds,
        deadline_at=now + seconds if seconds is not None else None,
        paused_at=None,
        lock_token=opening.token,
        created_at=now,
        ended_at=None,
        digest=None,
    )
    if session and (
        refused := lock.acquire(tx, opening.ns, session, root, opening.token, now, opening.lease)
    ):
        return refused
    runs.create(tx, row)
    return row


def refusal(tx: Tx, opening: Opening, now: Micros) -> AXError | None:
    """Why :func:`enter` would refuse, found out by reading alone; None: ask it."""
    known, session, root = _place(tx, opening)
    if known is not None and (ended := _ended(known)) is not None:
        return ended
    return lock.refusal(tx, opening.ns, session, root, now) if session else None


def _place(tx: Tx, opening: Opening) -> tuple[RunRow | None, str | None, str]:
    """The run that is entered again, the session, and the root of the run's tree."""
    if opening.key is not None and (known := runs.by_key(tx, opening.ns, opening.key)) is not None:
        return known, known.session, known.root_id
    parent = runs.get(tx, opening.parent_run_id) if opening.parent_run_id else None
    session = opening.session or (parent.session if parent else None)
    return None, session, parent.root_id if parent else opening.id


def reopen(tx: Tx, row: RunRow, opening: Opening, now: Micros) -> RunRow | AXError:
    """Enter a run that exists: a refresh, a resume, or the next process."""
    if (ended := _ended(row)) is not None:
        return ended
    if row.session and (
        refused := lock.acquire(tx, row.ns, row.session, row.root_id, opening.token, now, opening.lease)
    ):
        return refused
    deadline = row.deadline_at
    if row.paused_at is not None and deadline is not None:
        deadline += now - row.paused_at  # the wall clock stood while only people were waited for
    changes: dict[str, Any] = {"paused_at": None, "deadline_at": deadline, "lock_token": opening.token}
    return runs.move(tx, row, RunState.OPEN, now, **changes) or runs.get(tx, row.id) or row


def _ended(row: RunRow) -> AXError | None:
    """Why a run is not to be entered again, whoever has its session."""
    state = RunState(row.state)
    if state is RunState.CANCELLED:
        return TaskCancelled(f"run {row.id} was cancelled ({row.reason})")
    if state in (RunState.DEAD, RunState.ROLLED_BACK):
        return TaskDead(
            f"run {row.id} is {state} ({row.reason or 'ended'}); extend or requeue it before entering again"
        )
    return None


def leave(tx: Tx, run_id: str, token: str, now: Micros, *, failed: bool, interrupted: bool) -> RunRow | None:
    """The block or agent of a run ended: close it, pause it, or leave it open for who comes back."""
    row = runs.get(tx, run_id)
    if row is None:
        return None
    parent = runs.get(tx, row.parent_run_id) if row.parent_run_id else None
    if row.session and (parent is None or parent.session != row.session):
        lock.release(tx, row.ns, row.session, token)
    if RunState(row.state) is not RunState.OPEN or row.lock_token != token:
        return row  # ended by an operator, or entered again by somebody else
    if interrupted:
        return row
    return close(tx, row, now, failed=failed)


def pause(tx: Tx, run_id: str, token: str, now: Micros) -> None:
    """The host waits for a person: its session is free meanwhile, and the run's clock stands."""
    row = runs.get(tx, run_id)
    if row is None:
        return
    parent = runs.get(tx, row.parent_run_id) if row.parent_run_id else None
    if row.session and (parent is None or parent.session != row.session):
        lock.release(tx, row.ns, row.session, token)
    if (
        RunState(row.state) is RunState.OPEN
        and row.lock_token == token
        and set(_unfinished(tx, run_id)) <= _WAITING
    ):
        runs.move(tx, row, RunState.PAUSED, now, paused_at=now)


def close(tx: Tx, row: RunRow, now: Micros, *, failed: bool = False) -> RunRow:
    """The state that a run has earned when nobody works in it any more."""
    left = _unfinished(tx, row.id)
    if row.reason == Reason.BUDGET:
        return runs.move(tx, row, RunState.DEAD, now, Reason.BUDGET, digest=_digest(tx, row)) or row
    if left and set(left) <= _PEOPLE:
        return runs.move(tx, row, RunState.PAUSED, now, paused_at=now) or row
    if left and not failed:
        runs.alter(tx, row.id, lock_token=None)  # detached tasks still run; the last of them settles it
        return row._replace(lock_token=None)
    return (
        runs.move(tx, row, RunState.FAILED if failed else RunState.DONE, now, digest=_digest(tx, row)) or row
    )


def settle(tx: Tx, run_id: str, now: Micros) -> None:
    """After a task came to rest with nobody in its run: one in which nothing is open any more is done."""
    for row in runs.held_line(tx, run_id):
        if row.state == RunState.PAUSED and not _unfinished(tx, row.id):
            # Its clock stands since it was paused: whoever comes back for the answer finds the time it had.
            runs.move(tx, row, RunState.DONE, now, digest=_digest(tx, row))
        elif row.state == RunState.OPEN and row.lock_token is None:
            close(tx, row, now)


def _unfinished(tx: Tx, run_id: str) -> dict[str, int]:
    """What is not settled in a run and in the runs under it."""
    left = runs.unfinished(tx, run_id)
    for child in runs.children(tx, run_id):
        for state, count in _unfinished(tx, child.id).items():
            left[state] = left.get(state, 0) + count
    return left


def _digest(tx: Tx, row: RunRow) -> str:
    """One hash over the heads of the audit chains of a run's tasks."""
    heads = "".join(f"{task.id}{task.audit_head}" for task in queries.of_run(tx, row.id))
    return sha256(heads.encode()).hexdigest()
