"""Admission: the gates of a call in their order, in one transaction."""

from __future__ import annotations

from .. import approvals
from ..clock import micros
from ..compensation import ORIGIN
from ..control import lost
from ..control.recover import is_lost
from ..errors import RequestConflict, SessionBusy, TaskCancelled, TaskDead
from ..limits import reserve
from ..limits.budget import refuse
from ..model import RequestRow, RunRow, TaskRow
from ..policy import Effect
from ..sessions import holds
from ..states import Reason, RunState, State
from ..store import Op, Tx, bindings, queries, runs, tasks, tools, transitions
from .call import Submission
from .claim import again
from .holding import binds, take_key
from .repeat import guarded
from .seat import Seat
from .wiring import Wiring

def admit(sub: Submission, wiring: Wiring, run_here: bool = True) -> Op[Seat]:
    """The gates: replay, schema, merge, in the way, session, budget, confirmation; then a claim, or the queue.

    Args:
        run_here: the caller will run the body itself; else the task is left QUEUED.
    """

    def op(tx: Tx) -> Seat:
        row = sub.row
        if row.request_id is not None:
            known, kind = _known(tx, row.ns, row.request_id)
            if known is not None:
                return _again(tx, sub, known, kind, wiring)
        line = runs.line(tx, row.run_id) if sub.in_run else []
        if sub.invalid is not None:
            return _quarantine(tx, sub, line, wiring)
        if (held := _held_back(tx, sub, wiring)) is not None:
            return held
        if (refused := _run_refuses(tx, sub, line, wiring)) is not None:
            return refused
        return _place(tx, sub, wiring, run_here)

    return op


def _known(tx: Tx, ns: str, request_id: str) -> tuple[TaskRow | None, str]:
    row = tasks.by_request(tx, ns, request_id)
    if row is not None:
        return row, "replayed"
    pointed = bindings.request(tx, ns, request_id)
    if pointed is not None:
        return tasks.get(tx, pointed.task_id), pointed.kind
    return None, ""


def _again(tx: Tx, sub: Submission, known: TaskRow, kind: str, wiring: Wiring) -> Seat:
    """The replay gate: a request that was seen before."""
    row = sub.row
    if known.tool != row.tool or (kind == "replayed" and known.submitted_hash != row.submitted_hash):
        other = f"tool {known.tool!r}" if known.tool != row.tool else "other arguments"
        return Seat(
            known,
            refusal=RequestConflict(
                f"request {row.request_id!r} is known with {other} (task {known.id}), and is now sent for {row.tool!r}: "
                "give a new decision a new request id",
                task_id=known.id,
                for_model="Refused, nothing was done: this request id was used before for something else.",
            ),
        )
    return again(tx, known, sub, wiring, "replayed" if kind == "replayed" else kind)


def _quarantine(tx: Tx, sub: Submission, line: list[RunRow], wiring: Wiring) -> Seat:
    """The schema gate: what does not fit is recorded for people, and never reaches the tool."""
    assert sub.invalid is not None
    row, now = sub.row, sub.row.created_at
    row = row._replace(
        state=State.QUARANTINE.value,
        reason=Reason.INVALID_ARGS.value,
        error=_problem_json(sub),
        attempt=0,
        fence=0,
        owner=None,
        lease_until=None,
        attempt_open=0,
        started_at=None,
        deadline_at=None,
        ended_at=now,
    )
    refusal = refuse(tx, line, now)
    row = tasks.create(tx, row, "quarantine", wiring.owner, {"reason": Reason.INVALID_ARGS.value})
    note, ended = guarded(tx, row, Effect.UNSAFE, sub.in_run, wiring)
    tx.then(lambda: wiring.tell()(row))
    return Seat(row, refusal=refusal or ended, note=note)


def _held_back(tx: Tx, sub: Submission, wiring: Wiring) -> Seat | None:
    """Merge, and what stands in the way: an equal call that is already there answers this one too."""
    row, now = sub.row, sub.row.created_at
    if row.dedupe_key is not None and (held := bindings.holder(tx, row.ns, row.dedupe_key)) is not None:
        other = tasks.get(tx, held.task_id)
        if other is not None and binds(other, held, now):
            if sub.explicit_key and (other.tool != row.tool or other.args_hash != row.args_hash):
                return Seat(other, refusal=_key_conflict(sub, other))
            return _merge(tx, sub, other, "merged", wiring)
    if row.twin is not None:
        for other in queries.twins(tx, row.twin):
            if other.state == State.RUNNING and is_lost(other, now):
                other = lost(tx, other, now, wiring.owner, wiring.tell) or other
            if _in_the_way(other):
                return _merge(tx, sub, other, "in_the_way", wiring)
    return None


def _in_the_way(other: TaskRow) -> bool:
    state = State(other.state)
    return (
        state is State.CONFIRMING
        or (state is State.QUEUED and bool(other.approved))
        or (state is State.RUNNING and bool(other.overdue))
        or (state is State.QUARANTINE and other.reason == Reason.OUTCOME_UNKNOWN)
    )


def _merge(tx: Tx, sub: Submission, other: TaskRow, kind: str, wiring: Wiring) -> Seat:
    row, policy = sub.row, sub.call.tool.policy
    if kind == "merged" and policy.on_duplicate == "confirm" and other.state == State.SUCCESS:
        return _place(tx, sub, wiring, True, confirm=True, bind=False)
    if row.request_id is not None:
        bindings.point(
            tx, RequestRow(row.ns, row.request_id, other.id, row.submitted_hash, kind, row.created_at)
        )
    tx.run("UPDATE ax_task SET replays = replays + 1 WHERE id = :task_id", task_id=other.id)
    detail = {"request": row.request_id, "scope": kind}
    other = tasks.move(tx, other, transitions.note(kind, detail), row.created_at, wiring.owner) or other
    if kind == "merged" and policy.on_duplicate == "refuse":
        return Seat(
            other,
            how=kind,
            refusal=RequestConflict(
                f"task {other.id} ({other.tool}) was already called like this and the policy says refuse",
                task_id=other.id,
                for_model="Refused: this exact action was already requested. Nothing was executed again.",
            ),
        )
    other = other._replace(replays=other.replays + 1)
    return again(tx, other, sub, wiring, kind)


def _run_refuses(tx: Tx, sub: Submission, line: list[RunRow], wiring: Wiring) -> Seat | None:
    """The session lock, and the budget of every run the call stands in."""
    if not line or sub.call.origin == ORIGIN:
        return None  # compensations run after the run has ended, on an allowance of their own
    now, run = sub.row.created_at, line[0]
    scope = sub.call.scope
    if scope is not None and run.session is not None and run.state == RunState.OPEN:
        busy: SessionBusy | None = holds(tx, run.ns, run.session, run.root_id, scope.token, now, wiring.lease)
        if busy is not None:
            return Seat(None, refusal=busy)
    for row in line:
        if row.state == RunState.CANCELLED:
            return Seat(None, refusal=TaskCancelled(f"run {row.id} was cancelled", for_model=_STOP))
        if row.state == RunState.DEAD and row.reason != Reason.BUDGET:
            return Seat(None, refusal=TaskDead(f"run {row.id} has ended ({row.reason})", for_model=_STOP))
    refused = reserve(tx, line, now)
    return Seat(None, refusal=refused) if refused is not None else None


_STOP = "Refused, nothing was done: this request has been ended. Do not call tools again; answer with what you have."


def _place(tx: Tx, sub: Submission, wiring: Wiring, run_here: bool, confirm: bool = False, bind: bool = True) -> Seat:
    """The task is born: CONFIRMING, QUEUED, or RUNNING with its first attempt claimed in the same commit."""
    row, policy, now = sub.row, sub.call.tool.policy, sub.row.created_at
    if bind and row.dedupe_key is not None:
        take_key(tx, row, now, policy.window)
    elif not bind:
        row = row._replace(dedupe_key=None)
    detail = {"repeat": sub.call.repeat} if sub.call.repeat else None
    if confirm or sub.confirm:
        row = tasks.create(tx, _unclaimed(row, State.CONFIRMING), "ask", wiring.owner, detail)
        approvals.ask(tx, row, now, micros(policy.confirm_ttl))
        tx.then(lambda: wiring.tell()(row))
        return Seat(row)
    if not run_here or tools.paused(tx, row.ns, row.tool):
        row = tasks.create(tx, _unclaimed(row, State.QUEUED), "submit", wiring.owner, detail)
        return Seat(row)
    row = tasks.create(tx, row, "claim", wiring.owner, detail)
    return Seat(row, claimed=True)


def _unclaimed(row: TaskRow, state: State) -> TaskRow:
    return row._replace(
        state=state.value, attempt=0, fence=0, owner=None, lease_until=None, attempt_open=0, started_at=None,
        deadline_at=None,
    )  # fmt: skip


def _key_conflict(sub: Submission, other: TaskRow) -> RequestConflict:
    what = f"tool {other.tool!r}" if other.tool != sub.row.tool else "other arguments"
    return RequestConflict(
        f"key {sub.call.key!r} is held by task {other.id} with {what}, and was now sent for {sub.row.tool!r}",
        task_id=other.id,
        for_model="Refused, nothing was done: this idempotency key was used before for something else.",
    )


def _problem_json(sub: Submission) -> str:
    import json

    assert sub.invalid is not None
    return json.dumps({"type": "InvalidArguments", "message": sub.invalid.for_model()})
