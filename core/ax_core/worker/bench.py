"""The bench of a worker: what it has begun, each task in a slot of its own, until its job is off the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..model import TaskRow
from ..ports import Delivery
from ..states import State
from .acks import Acks
from .lines import Lines, Waiting
from .pace import Pace
from .running import Begun, Running
from .slots import Slots

if TYPE_CHECKING:
    from ..app.core import Core

Taken = tuple[str, str, Delivery | None]
"""A task, its namespace, and what the queue handed out for it."""
Retry = Callable[[TaskRow, str | None], None]
"""Told of a task whose next attempt is due at a time to come, and of the client that waits for it."""


class Bench:
    """Begins tasks, and lets them go.

    Attributes:
        lines: where tasks of limited tools wait; None: no limits are kept.
        retry: set before the first task is begun.
    """

    retry: Retry

    def __init__(self, core: Core, running: Running, slots: Slots, pace: Pace, acks: Acks) -> None:
        self._core, self._running, self._slots, self._pace, self._acks = core, running, slots, pace, acks
        self.lines: Lines | None = None

    @property
    def room(self) -> int:
        """How many tasks may be begun now."""
        return self._pace.room(max(0, self._slots.free))

    def begin(self, jobs: Sequence[Taken], admitted: bool = False) -> int:
        """Begin tasks of one namespace, each in a slot of its own; how many there are that had none already.

        Args:
            admitted: the limits of their tools let them pass.
        """
        taken = [job for job in jobs if self._take(*job)]
        if taken:
            self._pace.spend(len(taken))
            self._running.relay.add(partial(self._work, taken, admitted))
        return len(taken)

    def _take(self, task_id: str, ns: str, delivery: Delivery | None) -> bool:
        waits = self.lines is not None and task_id in self.lines
        if not waits and self._slots.take(task_id, delivery):
            return True
        if delivery is not None and self._is_double(delivery):
            self._drop(delivery)
        return False

    def _drop(self, delivery: Delivery) -> None:
        """Take it off the queue; nobody is told, for nothing has happened."""
        self._acks.done(delivery._replace(job=delivery.job._replace(reply_to=None)))

    def _is_double(self, delivery: Delivery) -> bool:
        """Whether it is another entry than the one whose task is in a slot: that one is kept until it is done."""
        held = self._slots.deliveries + ([] if self.lines is None else self.lines.deliveries)
        return all(delivery.receipt != each.receipt for each in held)

    def _work(self, taken: Sequence[Taken], admitted: bool) -> None:
        ns = taken[0][1]
        try:
            found = self._running.look([task_id for task_id, _, _ in taken], ns)
        except Exception as error:
            self._away(taken, error)
            return
        passed = [(j, f) for j, f in zip(taken, found, strict=True) if admitted or self._admits(j, f)]
        apart = [each for each in passed if _isolated(each[1])]
        rest = [each for each in passed if not _isolated(each[1])]
        each = [partial(self._see_apart, job, seen) for job, seen in apart]
        try:
            begun = self._running.claim([seen for _, seen in rest], ns)
        except Exception as error:
            self._away([job for job, _ in rest], error)
        else:
            each += [partial(self._see, job, seen) for (job, _), seen in zip(rest, begun, strict=True)]
        self._running.relay.add(*each[1:])
        if each:
            each[0]()

    def _away(self, jobs: Sequence[Taken], error: Exception) -> None:
        """The store is away: the jobs stay with this worker until they are reclaimed, or the tasks are looked for."""
        for task_id, _, _ in jobs:
            self._core.hooks.complain(f"task {task_id} could not be run", error)
            self._let_go(task_id)

    def _admits(self, job: Taken, found: Begun) -> bool:
        """Whether the limits of its tool let a task pass; else it stands in line, and costs no slot."""
        tool = None if found.runner is None else found.runner.tool
        if tool is None or self.lines is None or not (tool.policy.rate or tool.policy.concurrency):
            return True
        turn = self.lines.turn(tool, Waiting(*job))
        if turn == "now":
            return True
        self._pace.spend(-1)
        if turn == "never" and job[2] is not None:
            self._drop(job[2])  # too many stand there: it is found in the database again
        self._slots.give(job[0])
        return False

    def _see(self, job: Taken, begun: Begun) -> None:
        self._running.see(begun, job[1], partial(self._over_with, job, begun))

    def _see_apart(self, job: Taken, found: Begun) -> None:
        try:
            self._running.attempt(found, job[1], partial(self._over_with, job, found))
        except Exception as error:  # nothing was claimed
            self._core.hooks.complain(f"task {job[0]} could not be run", error)
            self._let_go(job[0])

    def _over_with(self, job: Taken, before: Begun, row: TaskRow | None, certain: bool) -> None:
        task_id, _, delivery = job
        # If it is not certain, the job stays until it is reclaimed, or the task is looked for.
        if certain and delivery is not None:
            self._acks.done(delivery)
        self._let_go(task_id)
        # Only now: this worker takes a job for what is in one of its slots for a double.
        if certain and row is not None and before.row is not None and _comes_again(before.row, row):
            self.retry(row, delivery.job.reply_to if delivery is not None else None)

    def _let_go(self, task_id: str) -> None:
        if self.lines is not None:
            self.lines.over(task_id)
        self._slots.give(task_id)


def _isolated(found: Begun) -> bool:
    return found.runner is not None and found.runner.tool.policy.isolation == "process"


def _comes_again(before: TaskRow, row: TaskRow) -> bool:
    """Whether a job must be sent for the next attempt: the one of this attempt is done."""
    if row.attempt_open and row.effect != "read":
        return False
    return (row.state == State.RETRY_WAIT and row.due_at is not None) or (
        row.state == State.QUEUED and row.attempt > before.attempt
    )
