"""Admission: the gates of a call in their order, in one transaction."""

from __future__ import annotations

from functools import partial

from .. import approvals
from ..clock import micros
from ..compensation import ORIGIN
from ..control import holder, in_the_way, known_by, take_key
from ..errors import AXError, RequestConflict, SessionBusy, TaskCancelled, TaskDead
from ..limits import reserve
from ..limits.budget import refuse
from ..model import RequestRow, RunRow, TaskRow
from ..policy import Effect
from ..sessions import holds
from ..states import Reason, RunState, State
from ..store import Alone, Op, Tx, bindings, runs, tasks, transitions
from .call import Submission
from .claim import again, earliest
from .renamed import as_known, known_before
from .repeat import guarded
from .seat import Seat
from .wiring import Wiring


def admit(sub: Submission, wiring: Wiring) -> Op[Seat]:
    """The gates: replay, schema, merge, in the way, session, budget, confirmation; then a claim, or the queue."""

    def op(tx: Tx) -> Seat:
        row = sub.row
        if tx.beside_others:
            tx.serialise(*known_by(row), *known_before(sub))
        if row.request_id is not None:
            known, kind, submitted_hash = _known(tx, row.ns, row.request_id)
            if known is not None:
                return _again(tx, sub, known, kind, submitted_hash, wiring)
        line = runs.line(tx, row.run_id) if sub.in_run else []
        if sub.invalid is not None:
            return _quarantine(tx, sub, line, wiring)
        asked = as_known(tx, sub) if sub.formerly else sub
        other = holder(tx, asked.row, row.created_at)
        doubled = other is not None and _to_be_asked(asked, other)
        if (held := _held_back(tx, asked, None if doubled else other, wiring)) is not None:
            return held
        if (refused := _run_refuses(tx, asked, line, wiring)) is not None:
            return refused
        return _place(tx, asked, wiring, line, doubled)

    # Nothing is looked up for it, and it is nothing but its row.
    plain = not (known_by(sub.row) or sub.in_run or sub.confirm or sub.call.repeat) and sub.invalid is None
    return Alone(op) if plain else op


def _known(tx: Tx, ns: str, request_id: str) -> tuple[TaskRow | None, str, str]:
    row = tasks.by_request(tx, ns, request_id)
    if row is not None:
        return row, "replayed", row.submitted_hash
    pointed = bindings.request(tx, ns, request_id)
    if pointed is not None:
        return tasks.get(tx, pointed.task_id), pointed.kind, pointed.submitted_hash
    return None, "", ""


def _again(tx: Tx, sub: Submission, known: TaskRow, kind: str, submitted_hash: str, wiring: Wiring) -> Seat:
    """The replay gate: a request that was seen before."""
    row = sub.row
    if not _same_tool(sub, known) or submitted_hash != row.submitted_hash:
        other = "other arguments" if _same_tool(sub, known) else f"tool {known.tool!r}"
        return Seat(
            known,
            refusal=RequestConflict(
                f"request {row.request_id!r} is known with {other} (task {known.id}), and is now sent for "
                f"{row.tool!r}: give a new decision a new request id",
                task_id=known.id,
                for_model="Refused, nothing was done: this request id was used before for something else.",
            ),
        )
    if kind == "refused":
        return Seat(known, how="merged", refusal=_refused(known))
    return again(tx, known, sub, wiring, kind)


def _quarantine(tx: Tx, sub: Submission, line: list[RunRow], wiring: Wiring) -> Seat:
    """The schema gate: what does not fit is recorded for people, and never reaches the tool."""
    assert sub.invalid is not None
    row, now = sub.row, sub.row.created_at
    counted = refuse(tx, line, now)
    if (over := _ended(line) or counted) is not None:
        return Seat(None, refusal=over)  # nothing more of an ended run is worth a row
    row = row.but(
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
    row = tasks.create(tx, row, "quarantine", wiring.owner, {"reason": Reason.INVALID_ARGS.value})
    note, ended = guarded(tx, row, Effect.UNSAFE, wiring, row.run_id) if sub.in_run else (None, None)
    tx.then(lambda: wiring.tell()(row))
    return Seat(row, refusal=ended, note=note)


def _to_be_asked(sub: Submission, other: TaskRow) -> bool:
    """Whether a person decides about a call that was done before."""
    asks = sub.call.tool.policy.on_duplicate == "confirm"
    return asks and other.state == State.SUCCESS and not _conflicts(sub, other)


def _conflicts(sub: Submission, other: TaskRow) -> bool:
    return sub.explicit_key and (not _same_tool(sub, other) or other.args_hash != sub.row.args_hash)


def _same_tool(sub: Submission, other: TaskRow) -> bool:
    # a tool that was renamed stands in older tasks under what is its alias now
    return other.tool == sub.row.tool or other.tool in sub.call.tool.aliases


def _held_back(tx: Tx, sub: Submission, holds_key: TaskRow | None, wiring: Wiring) -> Seat | None:
    """Merge, and what stands in the way: an equal call that is already there answers this one too."""
    row, now = sub.row, sub.row.created_at
    if holds_key is not None:
        if _conflicts(sub, holds_key):
            return Seat(holds_key, refusal=_key_conflict(sub, holds_key))
        return _merge(tx, sub, holds_key, "merged", wiring)
    if (other := in_the_way(tx, row, now, wiring.owner, wiring.tell)) is not None:
        return _merge(tx, sub, other, "in_the_way", wiring)
    return None


def _merge(tx: Tx, sub: Submission, other: TaskRow, kind: str, wiring: Wiring) -> Seat:
    row = sub.row
    refused = kind == "merged" and sub.call.tool.policy.on_duplicate == "refuse"
    if row.request_id is not None:
        pointed = "refused" if refused else kind
        bindings.point(
            tx, RequestRow(row.ns, row.request_id, other.id, row.submitted_hash, pointed, row.created_at)
        )
    tx.run("UPDATE ax_task SET replays = replays + 1 WHERE id = :task_id", task_id=other.id)
    detail = {"request": row.request_id, "scope": kind}
    other = tasks.move(tx, other, transitions.note(kind, detail), row.created_at, wiring.owner) or other
    if refused:
        return Seat(other, how=kind, refusal=_refused(other))
    other = other.but(replays=other.replays + 1)
    return again(tx, other, sub, wiring, kind)


def _refused(other: TaskRow) -> RequestConflict:
    return RequestConflict(
        f"task {other.id} ({other.tool}) was already called like this and the policy says refuse",
        task_id=other.id,
        for_model="Refused: this exact action was already requested. Nothing was executed again.",
    )


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
    refused = _ended(line) or reserve(tx, line, now)
    return Seat(None, refusal=refused) if refused is not None else None


def _ended(line: list[RunRow]) -> AXError | None:
    """Why nothing more may be called here, for good."""
    for row in line:
        if row.state == RunState.CANCELLED:
            return TaskCancelled(f"run {row.id} was cancelled", for_model=_STOP)
        if row.state == RunState.ROLLED_BACK or (row.state == RunState.DEAD and row.reason != Reason.BUDGET):
            return TaskDead(f"run {row.id} has ended ({row.reason})", for_model=_STOP)
    return None


_STOP = "Refused, nothing was done: this request has been ended. Do not call tools again; answer with what you have."


def _place(tx: Tx, sub: Submission, wiring: Wiring, line: list[RunRow], doubled: bool) -> Seat:
    """The task is born: CONFIRMING, QUEUED, or RUNNING with its first attempt claimed in the same commit."""
    tool, now = sub.call.tool, sub.row.created_at
    # The claim begins where it is written, however long it had to wait for its turn to be.
    began = wiring.clock.now()
    limit = None if sub.row.deadline_at is None else sub.row.deadline_at + began - now
    row = sub.row.but(deadline_at=earliest(limit, line), started_at=began, lease_until=began + wiring.lease)
    if doubled:
        row = row.but(dedupe_key=None)  # the one that was done keeps the key
    elif row.dedupe_key is not None:
        take_key(tx, row, now, tool.policy.window)
    detail = {"repeat": sub.call.repeat} if sub.call.repeat else None
    if doubled or sub.confirm:
        row = tasks.create(tx, _unclaimed(row, State.CONFIRMING), "ask", wiring.owner, detail)
        approvals.ask(tx, row, now, micros(tool.policy.confirm_ttl), tool.approved_as)
        tx.then(lambda: wiring.tell()(row))
        return Seat(row)
    if sub.here and (claimed := tasks.create_claimed(tx, row, detail)):
        if wiring.tell.wants("started"):
            tx.then(partial(wiring.tell(), claimed))
        return Seat(claimed, claimed=True)
    queued = tasks.create(tx, _unclaimed(row, State.QUEUED), "submit", wiring.owner, detail)
    if not sub.here and wiring.post is not None:
        wiring.post.after_commit(tx, queued)
    return Seat(queued)


def _unclaimed(row: TaskRow, state: State) -> TaskRow:
    return row.but(
        state=state.value, attempt=0, fence=0, owner=None, lease_until=None, attempt_open=0, started_at=None,
        deadline_at=None,
    )  # fmt: skip


def _key_conflict(sub: Submission, other: TaskRow) -> RequestConflict:
    what = "other arguments" if _same_tool(sub, other) else f"tool {other.tool!r}"
    return RequestConflict(
        f"key {sub.call.key!r} is held by task {other.id} with {what}, and was now sent for {sub.row.tool!r}",
        task_id=other.id,
        for_model="Refused, nothing was done: this idempotency key was used before for something else.",
    )


def _problem_json(sub: Submission) -> str:
    import json

    assert sub.invalid is not None
    return json.dumps({"type": "InvalidArguments", "message": sub.invalid.for_model()})
