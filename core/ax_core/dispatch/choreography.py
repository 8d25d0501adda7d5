"""One call from admission to its answer: admit, run, record, wait. Written once; hands carry it out, sync or async."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from ..decide import Lost, Outcome
from ..errors import Closed, StoreError, UnknownTask
from ..model import TaskRow
from ..owners import certainly_gone
from ..policy import Effect
from ..registry import Tool
from ..states import FINAL, TRANSITIONS, State
from ..store import Alone, Op, Tx, tasks
from .admit import admit
from .answer import Answer, conclude, damaged, unrecorded, verdict
from .body import Body
from .call import Submission
from .claim import CLAIMABLE, claim
from .context import Context
from .ends import keep
from .live import OpenAttempt
from .record import Written, record, stored
from .seat import Seat
from .steps import Ended, Enter, Look, Rest, Step, Write
from .waiters import Waiter
from .wiring import Wiring

Choreography = Generator[Step, Any, Answer]
RunBody = Callable[[dict[str, Any]], Any]


def calling(
    sub: Submission, wiring: Wiring, patience: float, passes: tuple[type[BaseException], ...] = ()
) -> Choreography:
    """Submit a call and see it through.

    Args:
        patience: seconds to wait for a task that somebody else runs.
        passes: exceptions with which the framework pauses.
    """
    tool = sub.call.tool
    if not sub.here:
        return (yield from _calling_a_worker(sub, wiring, patience))
    acts = tool.effect is not Effect.READ and sub.invalid is None
    seat: Seat = yield Write(admit(sub, wiring), "admit", acts, partial(_let_go, wiring, tool))
    fresh = seat.claimed and seat.how == "new"
    return (yield from following(seat, runner_for(sub, passes, fresh), wiring, patience))


def _calling_a_worker(sub: Submission, wiring: Wiring, patience: float) -> Choreography:
    acts = sub.call.tool.effect is not Effect.READ and sub.invalid is None
    # It waits before the task is there, so that it need not look whether a worker was faster.
    with wiring.waiters.of(sub.row.id, told=True) as waiter:
        seat: Seat = yield Write(admit(sub, wiring), "admit", acts)
        mine = seat.row is not None and seat.row.id == sub.row.id
        return (yield from following(seat, None, wiring, patience, waiter=waiter if mine else None))


class Runner:
    """What a caller can run a task with."""

    __slots__ = ("args", "is_async", "passes", "run", "timeout", "tool")

    def __init__(
        self,
        tool: Tool[..., Any],
        run: RunBody,
        timeout: int | None,
        passes: tuple[type[BaseException], ...] = (),
        args: dict[str, Any] | None = None,
        is_async: bool | None = None,
    ) -> None:
        self.tool, self.run, self.timeout, self.passes, self.args = tool, run, timeout, passes, args
        self.is_async = tool.is_async if is_async is None else is_async


def runner_for(sub: Submission, passes: tuple[type[BaseException], ...], fresh: bool) -> Runner:
    """What a submission's own caller can run it with; ``fresh``: the admitted arguments need no reading back."""
    tool, call = sub.call.tool, sub.call
    args = sub.args if fresh else None
    if call.body is None:
        return Runner(tool, bound(tool), sub.timeout, passes, args)
    return Runner(tool, call.body, sub.timeout, passes, args, call.body_is_async)


def bound(tool: Tool[..., Any]) -> RunBody:
    """The registered function, taking admitted arguments."""
    fn, binder = tool.fn, tool.binder
    return lambda args: fn(**binder(args))


def following(
    seat: Seat,
    runner: Runner | None,
    wiring: Wiring,
    patience: float,
    *,
    for_people: bool = False,
    detached: bool = False,
    once: bool = False,
    waiter: Waiter | None = None,
) -> Choreography:
    """See a task through to its answer, running it where it is this caller's to run.

    Args:
        runner: None: this caller can only wait.
        for_people: wait for a person's decision too, instead of answering that it is pending.
        once: make one attempt at most; any further one is for whoever comes for it.
        detached: nobody is told the answer; this only sees to it that the task runs.
        waiter: one that has waited for the task since before it was ready.
    """
    give_up = wiring.clock.monotonic() + patience
    outcome: Outcome | None = None
    how, note = seat.how, seat.note
    gone = False
    try:
        while True:
            if seat.refusal is not None:
                raise seat.refusal
            note = seat.note or note
            row = seat.row
            assert row is not None
            if seat.claimed:
                assert runner is not None
                ended: Ended = yield entering(row, runner, wiring)
                if ended.outcome is None:  # never told as the tool's failure: nobody would know that it acted
                    assert ended.error is not None
                    raise unrecorded(row, ended.error)
                written = ended.written
                if written is None:
                    end = recording(wiring, row, runner.tool, ended.outcome)
                    try:
                        written = yield Write(end, "record")
                    except StoreError as error:
                        keep(end, row.id, wiring)
                        raise unrecorded(row, error) from error
                if ended.error is not None:
                    raise ended.error
                outcome = ended.outcome if written.accepted else None
                runner = None if once else runner
                seat = Seat(written.row, how=how, note=written.note or note, refusal=written.refusal)
                continue
            if row.state not in TRANSITIONS:
                raise damaged(row)
            if row.state in FINAL or (row.state == State.CONFIRMING and not for_people):
                return conclude(row, wiring, how, note, outcome)
            if _given_up(row) and not (detached or for_people):
                raise verdict(
                    row,
                    "its last attempt ran out of time and has not been seen to end; nothing runs until then",
                )
            _still_open(row, wiring)
            now = wiring.clock.now()
            if runner is not None and _ready(row, now, gone):
                durable = row.effect != Effect.READ
                op = claim(row.id, runner.tool, wiring, runner.timeout, how)
                seat = yield Write(op, "claim", durable, partial(_let_go, wiring, runner.tool))
                assert seat.row is not None
                if seat.claimed or seat.row != row or seat.refusal is not None:
                    continue
                if seat.note is not None:
                    raise verdict(seat.row, seat.note)
            left = give_up - wiring.clock.monotonic()
            if left <= 0:
                raise verdict(row, note)
            if waiter is None:
                waiter = wiring.waiters.of(row.id, not detached)
                waiter.__enter__()
            else:
                due = None if _given_up(row) else row.due_at
                if due is not None:
                    left = min(left, max(0.001, (due - now) / 1e6))
                # Only time stands between this caller and its next attempt, so a clock that can may skip it.
                if due is None or runner is None or not wiring.clock.skip(left):
                    yield Rest(waiter, left)
            _still_open(row, wiring)
            # Looked at after the waiter stands, so that no move is missed.
            found, waiter.found = waiter.found, None
            row, gone = (found, False) if found is not None else (yield Look(Alone(partial(_look, row.id))))
            seat = Seat(row, how=how, note=note)
    finally:
        if waiter is not None:
            waiter.__exit__()


def entering(row: TaskRow, runner: Runner, wiring: Wiring) -> Enter:
    """The step that enters the body of a claimed task."""
    now = wiring.clock.monotonic()
    deadline = None if row.deadline_at is None else now + (row.deadline_at - wiring.clock.now()) / 1e6
    context = Context(row, wiring, deadline)
    args = runner.args if runner.args is not None else json.loads(row.payload)
    runner.args = None  # a further attempt reads them back from the record
    body = Body(runner.run, args, runner.tool.policy, context, runner.is_async, runner.passes)
    return Enter(OpenAttempt(row, context, now), body, deadline, partial(recording, wiring, row, runner.tool))


def recording(wiring: Wiring, row: TaskRow, tool: Tool[..., Any], outcome: Outcome) -> Op[Written]:
    """The operation that writes the end of an attempt."""
    return record(wiring, row, tool.policy, outcome, stored(outcome, wiring), row.run_id != row.id)


def _let_go(wiring: Wiring, tool: Tool[..., Any], seat: Seat) -> Op[Any] | None:
    """The caller went away between the claim and the body: nothing happened, and nothing will."""
    if not seat.claimed or seat.row is None:
        return None
    return recording(wiring, seat.row, tool, Lost(entered=False))


def _still_open(row: TaskRow, wiring: Wiring) -> None:
    """A closing AX starts nothing that was waiting, and waits for nothing that does not run in it."""
    if wiring.live.closed and wiring.live.find(row.id) is None:
        raise Closed(f"this AX was closed; task {row.id} waits for whoever holds its request")


def _ready(row: TaskRow, now: int, gone: bool) -> bool:
    if row.state in CLAIMABLE:
        return (row.due_at is None or row.due_at <= now) and not _given_up(row)
    return row.state == State.RUNNING and (gone or (row.lease_until is not None and row.lease_until <= now))


def _given_up(row: TaskRow) -> bool:
    """Its retry must wait for the end of an attempt that nobody waits for any more."""
    return bool(row.attempt_open) and row.state == State.RETRY_WAIT and row.effect != Effect.READ


def _look(task_id: str, tx: Tx) -> tuple[TaskRow, bool]:
    """A task, and whether it runs in a process that is gone: to find that out reads files, which no loop may."""
    row = tasks.get(tx, task_id)
    if row is None:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    return row, row.state == State.RUNNING and row.owner is not None and certainly_gone(row.owner)
