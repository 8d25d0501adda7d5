"""Claiming a task that is already there: a resubmission, a due retry, an approval, or the next in line."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from .. import approvals
from ..compensation import ORIGIN
from ..control import holder, in_the_way, known_by, lost, take_key
from ..control.recover import is_lost
from ..decide import POISON
from ..errors import StoreError
from ..limits import give_back, reserve
from ..model import RunRow, TaskRow
from ..policy import Effect
from ..registry import Tool
from ..schema import Admitted
from ..states import Reason, RunState, State
from ..store import Op, Tx, runs, tasks, tools, transitions
from ..store import approvals as questions
from ..store.transitions import Transition
from .call import Submission
from .repeat import guarded
from .seat import Seat
from .wiring import Wiring

CLAIMABLE = frozenset({State.QUEUED, State.RETRY_WAIT, State.WAITING})


def again(tx: Tx, row: TaskRow, sub: Submission, wiring: Wiring, how: str) -> Seat:
    """What a further call for an existing task gets: its answer, a place to wait, or a new attempt."""
    now = wiring.clock.now()
    if row.state == State.RUNNING and is_lost(row, now):
        row = lost(tx, row, now, wiring.owner, wiring.tell) or row
    state = row.state
    if state in CLAIMABLE and sub.here:
        return claim_row(tx, row, sub.call.tool, wiring, now, sub.timeout, how)
    if how == "replayed" and _may_run_again(row):
        return _run_again(tx, row, sub, wiring, now)
    if state in CLAIMABLE or state in (State.RUNNING, State.CONFIRMING):
        return Seat(row, how="attached" if how == "replayed" else how)
    if how == "replayed":
        tx.run("UPDATE ax_task SET replays = replays + 1 WHERE id = :task_id", task_id=row.id)
        row = row.but(replays=row.replays + 1)
        if row.replays == 1:
            row = tasks.move(tx, row, transitions.note("replayed"), now, wiring.owner) or row
    if not sub.in_run:
        return Seat(row, how=how)
    note, ended = guarded(tx, row, Effect(row.effect), wiring, sub.row.run_id, replayed=how == "replayed")
    return Seat(row, how=how, note=note, refusal=ended)


def _may_run_again(row: TaskRow) -> bool:
    """Whether the same request again is a new attempt: a definite no that nobody asked to stop."""
    return row.state in (State.FAILED, State.TIMEOUT) and not row.maybe_applied and not row.cancel_requested


def _run_again(tx: Tx, row: TaskRow, sub: Submission, wiring: Wiring, now: int) -> Seat:
    tool, how = sub.call.tool, "replayed"
    if row.attempt_open and row.effect != Effect.READ:
        return Seat(
            row, how=how, note="the earlier attempt has not been seen to end; nothing new was started"
        )
    if row.purged:
        if row.args_hash != sub.row.args_hash:  # a person had edited them
            return Seat(
                row, how=how, note="the arguments that it ran with are no longer kept; nothing was started"
            )
        restored = transitions.note("restored", payload=sub.row.payload)
        row = tasks.move(tx, row, restored, now, wiring.owner) or row
    if tx.beside_others:  # a person may have edited its arguments, and with them what it is known by
        tx.serialise(*known_by(row))
    # It gave its key up when it failed: whoever took it since, or stands in the way, answers for both.
    if (other := holder(tx, row, now)) is not None:
        return Seat(other, how="merged")
    if (other := in_the_way(tx, row, now, wiring.owner, wiring.tell)) is not None:
        return Seat(other, how="in_the_way")
    if row.approved and (asked := questions.latest(tx, row.id)) is not None:
        moved = approvals.ask_again(tx, row, asked, now, wiring.owner, tool.promise, wiring.tell())
        return Seat(moved or tasks.get(tx, row.id) or row, how=how)
    seat = (
        claim_row(tx, row, tool, wiring, now, sub.timeout, how)
        if sub.here
        else _send_again(tx, row, wiring, now)
    )
    if (seat.claimed or not sub.here) and row.dedupe_key is not None:
        take_key(tx, row, now, tool.policy.window)
    return seat


def _send_again(tx: Tx, row: TaskRow, wiring: Wiring, now: int) -> Seat:
    """The same for a task that workers run."""
    step = transitions.queue("resubmitted", None, {"from": row.state})
    moved = tasks.move(tx, row, step, now, wiring.owner)
    if moved is not None and wiring.post is not None:
        wiring.post.after_commit(tx, moved)
    return Seat(moved or row, how="replayed")


def claim(
    task_id: str, tool: Tool[..., Any], wiring: Wiring, timeout: int | None, how: str = "attached"
) -> Op[Seat]:
    """Claim a task that is ready, for a caller that holds its request."""

    def op(tx: Tx) -> Seat:
        now = wiring.clock.now()
        row = tasks.get(tx, task_id)
        assert row is not None
        if row.state == State.RUNNING and is_lost(row, now):
            row = lost(tx, row, now, wiring.owner, wiring.tell) or row
        if row.state not in CLAIMABLE:
            return Seat(row, how=how)
        return claim_row(tx, row, tool, wiring, now, timeout, how)

    return op


def claim_seen(
    tx: Tx,
    seen: Sequence[tuple[TaskRow, Tool[..., Any], int | None]],
    wiring: Wiring,
    paused: Collection[str],
) -> list[Seat]:
    """Claim tasks as they were read a moment ago, those that are ready; one that was moved since is refused.

    Args:
        seen: each with its tool and the limit of its body.
        paused: tools that are.
    """
    now, how = wiring.clock.now(), "attached"
    looked_at = [
        (row, _gates(tx, row, tool, wiring, now, timeout, how, row.tool in paused))
        if row.state in CLAIMABLE
        else (row, Seat(row, how=how))
        for row, tool, timeout in seen
    ]
    claims = [(row, step) for row, step in looked_at if not isinstance(step, Seat)]
    moved = iter(tasks.move_each(tx, claims, now, wiring.owner, wiring.tell()))
    return [
        found if isinstance(found, Seat) else _claimed(tx, row, next(moved), how) for row, found in looked_at
    ]


def claim_row(
    tx: Tx, row: TaskRow, tool: Tool[..., Any], wiring: Wiring, now: int, timeout: int | None, how: str
) -> Seat:
    """The gates before every attempt but the first, then the guarded claim."""
    step = _gates(tx, row, tool, wiring, now, timeout, how)
    if isinstance(step, Seat):
        return step
    return _claimed(tx, row, tasks.move(tx, row, step, now, wiring.owner, wiring.tell()), how)


def _claimed(tx: Tx, row: TaskRow, moved: TaskRow | None, how: str) -> Seat:
    if moved is None:
        return Seat(tasks.get(tx, row.id) or row, how=how)
    return Seat(moved, claimed=True, how=how)


def _gates(
    tx: Tx, row: TaskRow, tool: Tool[..., Any], wiring: Wiring, now: int, timeout: int | None, how: str,
    paused: bool | None = None,
) -> Seat | Transition:  # fmt: skip
    """Why a task is not to be claimed, or how.

    Args:
        paused: whether its tool is, if that was looked up in this transaction.
    """
    if row.due_at is not None and row.due_at > now:
        return Seat(row, how=how)
    if row.attempt_open and row.effect != Effect.READ:
        return Seat(row, how=how)  # no attempt n+1 before attempt n is closed
    if row.interruptions >= POISON and row.state in CLAIMABLE:
        step = transitions.die("poison", Reason.POISON, now, {"interruptions": row.interruptions})
        return Seat(tasks.move(tx, row, step, now, wiring.owner, wiring.tell()) or row, how=how)
    if tools.paused(tx, row.ns, row.tool) if paused is None else paused:
        return Seat(row, how=how, note=f"{row.tool} is paused by an operator")
    if not _readable(row):
        return Seat(row, how=how, refusal=_unreadable(row))
    if row.approved:
        why = approvals.valid(tx, row, now, tool.approved_as)
        if why is not None:
            return Seat(_lapsed(tx, row, why, now, wiring), how=how)
    elif row.tool_version != tool.version and not _still_fits(row, tool, wiring.payload_cap):
        detail = {"was": row.tool_version, "is": tool.version}
        step = transitions.quarantine("policy_changed", Reason.POLICY_CHANGED, now, detail)
        return Seat(tasks.move(tx, row, step, now, wiring.owner, wiring.tell()) or row, how=how)
    # A call of no run has one only once it was rolled back, of which a first attempt asks nothing.
    line = runs.line(tx, row.run_id) if row.run_id != row.id or row.attempt > 0 else []
    # The first attempt was reserved when it was submitted.
    if row.attempt > 0 and row.origin != ORIGIN and (refused := reserve(tx, line, now)) is not None:
        return Seat(row, how=how, refusal=refused)
    deadline = earliest(None if timeout is None else now + timeout, line)
    verb = "claim_beside" if row.attempt > 0 and row.attempt_open else "claim"
    return transitions.claim(row, wiring.owner, now, wiring.lease, deadline, verb, **_changed(row, tool))


def earliest(deadline: int | None, line: list[RunRow]) -> int | None:
    """An attempt's deadline, cut to that of the open runs it stands in."""
    outer = [run.deadline_at for run in line if run.state == RunState.OPEN and run.deadline_at is not None]
    return min([*outer, deadline] if deadline is not None else outer, default=None)


def _changed(row: TaskRow, tool: Tool[..., Any]) -> dict[str, Any]:
    """What the tool promises by now: the attempt is run, and its end judged, by that."""
    promised = {
        "tool_version": tool.version,
        "effect": tool.effect.value,
        "marks_effect": int(tool.policy.marks_effect),
        "max_attempts": tool.policy.retries + 1,
    }
    return {name: value for name, value in promised.items() if getattr(row, name) != value}


def _lapsed(tx: Tx, row: TaskRow, why: str, now: int, wiring: Wiring) -> TaskRow:
    if "changed" in why:
        step = transitions.quarantine("policy_changed", Reason.POLICY_CHANGED, now, {"why": why})
    else:
        step = transitions.cancel(Reason.APPROVAL_EXPIRED, {"why": why}, now)
        give_back(tx, row.run_id)
    return tasks.move(tx, row, step, now, wiring.owner, wiring.tell()) or row


def _readable(row: TaskRow) -> bool:
    try:
        return isinstance(json.loads(row.payload), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def _unreadable(row: TaskRow) -> StoreError:
    return StoreError(
        f"task {row.id} ({row.tool}) cannot be run: its stored arguments cannot be read; "
        "restore the row from a backup, or cancel the task and call the tool again",
        task_id=row.id,
        for_model=f"{row.tool} was not executed: the record of this call is damaged. Tell the user (task {row.id}).",
    )


def _still_fits(row: TaskRow, tool: Tool[..., Any], cap: int) -> bool:
    if tool.validated_elsewhere:
        return True
    answer = tool.gate.admit(json.loads(row.payload), cap)
    return isinstance(answer, Admitted) and answer.args == json.loads(row.payload)
