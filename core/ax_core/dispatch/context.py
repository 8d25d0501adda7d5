"""What a tool's body may ask of the task it runs in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import PolicyError, TaskCancelled, TaskTimeout
from ..store.runs import Draw
from .scope import current_task

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from ..model import TaskRow
    from ..store import Store
    from .wiring import Wiring


class Context:
    """The running task, seen from inside its body. Outside a task it is inert: no ids, never cancelled, no limits.

    Attributes:
        task_id, run_id, attempt, fence, idempotency_key: of this attempt; None or 0 outside a task.
        deadline: when the body must have ended, as a reading of ``time.monotonic``; None is no limit.
    """

    __slots__ = ("_cancelled", "_connection", "_wiring", "deadline", "row")

    def __init__(
        self, row: TaskRow | None = None, wiring: Wiring | None = None, deadline: float | None = None
    ) -> None:
        self.row = row
        self.deadline = deadline
        self._wiring = wiring
        self._cancelled = False
        self._connection: Connection | None = None

    @property
    def task_id(self) -> str | None:
        """The task's id."""
        return self.row.id if self.row else None

    @property
    def run_id(self) -> str | None:
        """The id of the run the task stands in."""
        return self.row.run_id if self.row else None

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1."""
        return self.row.attempt if self.row else 0

    @property
    def fence(self) -> int:
        """A number that grows with every claim: pass it downstream to have stale writers refused."""
        return self.row.fence if self.row else 0

    @property
    def idempotency_key(self) -> str | None:
        """36 characters, the same in every attempt of this task: pass it to a downstream that honours one."""
        return self.row.idempotency_key if self.row else None

    def remaining(self) -> float | None:
        """Seconds until the deadline, never below zero; None is no limit."""
        if self.deadline is None or self._wiring is None:
            return None
        return max(0.0, self.deadline - self._wiring.clock.monotonic())

    @property
    def cancelled(self) -> bool:
        """Whether this attempt was asked to stop."""
        return self._cancelled

    def raise_if_cancelled(self) -> None:
        """Stop here if this attempt was asked to: the tool's own word that it did no more.

        Raises:
            TaskCancelled: it was.
        """
        if self.cancelled:
            raise TaskCancelled("the task was asked to stop", task_id=self.task_id)

    def about_to_act(self) -> None:
        """The last gate, right before the effect: a guarded, durable record that it may now happen.

        Raises:
            TaskCancelled: the task was cancelled, or somebody else holds it now.
            TaskTimeout: the deadline has passed.
        """
        if self.row is None or self._wiring is None:
            return
        self.raise_if_cancelled()
        if self.deadline is not None and self._wiring.clock.monotonic() >= self.deadline:
            raise TaskTimeout("the deadline passed before the tool acted", task_id=self.row.id)
        if self._connection is not None:
            return  # its effect and its record commit together: there is no moment between them
        from .record import mark

        self._wiring.db.write(mark(self._wiring, self.row), "mark", durable=True)

    @property
    def connection(self) -> Connection:
        """The SQLAlchemy connection whose writes commit with AX's own record.

        Raises:
            PolicyError: the tool is not TRANSACTIONAL.
        """
        if self._connection is None:
            raise PolicyError("ctx.connection is for tools with effect=TRANSACTIONAL, inside their body")
        return self._connection

    @property
    def store(self) -> Store | None:
        """The store that the task is recorded in."""
        return self._wiring.db if self._wiring is not None else None

    @property
    def in_transaction(self) -> bool:
        """Whether this is the body of a TRANSACTIONAL tool."""
        return self._connection is not None

    @property
    def results(self) -> Mapping[str, Any]:
        """Earlier results of the run, by task id, oldest first."""
        if self.row is None or self._wiring is None:
            return {}
        from ..store import queries

        run_id, codec = self.row.run_id, self._wiring.codec
        rows = self._wiring.db.read(lambda tx: queries.of_run(tx, run_id))
        return {
            row.id: codec.readable(row.result)
            for row in rows
            if row.state == "SUCCESS" and row.result is not None
        }

    @property
    def resources(self) -> Mapping[str, Any]:
        """What the ``lifespan`` of this worker made; empty elsewhere."""
        return self._wiring.resources if self._wiring is not None else {}

    def spend(self, units: int) -> None:
        """Take cost units from the budget of the run, before they are used.

        Raises:
            BudgetExceeded: the run does not have so many left; none were taken.
        """
        if units < 0:
            raise ValueError("cost units are zero or more")
        if self.row is not None and self._wiring is not None:
            from .spend import spend

            refused = self._wiring.db.write(spend(self._wiring, self.row.run_id, Draw(cost=units)), "control")
            if refused is not None:
                raise refused

    def progress(self, fraction: float, text: str = "") -> None:
        """Say how far it is, for people who watch: it is logged as an event, not stored."""
        if self.row is not None and self._wiring is not None:
            self._wiring.log.debug("task %s: %.0f %% %s", self.row.id, 100 * fraction, text)

    # What the executor does to it.

    @property
    def lapsed(self) -> bool:
        """Whether the lease that this attempt was claimed with has run out."""
        if self.row is None or self._wiring is None or self._connection is not None:
            return False
        return self.row.lease_until is not None and self.row.lease_until <= self._wiring.clock.now()

    def ask_to_stop(self) -> None:
        """Set the cancel flag."""
        self._cancelled = self.row is not None

    def lend(self, connection: Connection | None) -> None:
        """Give or take back the connection of a TRANSACTIONAL body."""
        self._connection = connection


_OUTSIDE = Context()


def current() -> Context:
    """The task this code runs in; an inert one outside a task."""
    return current_task.get() or _OUTSIDE
