"""``current()`` in the process of an isolated tool: what it knows it was told, the rest it asks of its worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from ..codec import Codec
from ..dispatch import Context
from ..errors import PolicyError, TaskTimeout

if TYPE_CHECKING:
    from ..clock import Clock
    from ..model import TaskRow


def attempt_of(row: TaskRow) -> str:
    """The name of an attempt, by which what a thread of an earlier one says is told apart."""
    return f"{row.id}/{row.fence}"


class Worker(Protocol):
    """The worker, as it is asked from in here."""

    def ask(self, what: str, **more: Any) -> Any:
        """Ask and wait for the answer; raises what the worker was refused with."""

    def tell(self, kind: str, **more: Any) -> bool:
        """Say something that needs no answer."""


class InnerContext(Context):
    """The running task, seen from inside of a process of its own."""

    __slots__ = ("_clock", "_codec", "_of", "_resources", "_worker")

    def __init__(
        self,
        row: TaskRow,
        remaining: float | None,
        worker: Worker,
        clock: Clock,
        codec: Codec,
        resources: Mapping[str, Any],
    ) -> None:
        super().__init__(row, None, None if remaining is None else clock.monotonic() + remaining)
        self._worker, self._clock, self._codec, self._resources = worker, clock, codec, resources
        self._of = attempt_of(row)

    def remaining(self) -> float | None:
        """Seconds until the deadline, never below zero; None is no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - self._clock.monotonic())

    def about_to_act(self) -> None:
        """As everywhere; the worker writes the mark, and nothing goes on before it is durable."""
        self.raise_if_cancelled()
        if self.remaining() == 0.0:
            raise TaskTimeout("the deadline passed before the tool acted", task_id=self.task_id)
        self._worker.ask("about_to_act", of=self._of)

    @property
    def connection(self) -> NoReturn:
        """Refused: AX's transaction is the worker's."""
        raise PolicyError(
            "ctx.connection does not reach into a process of its own: use isolation='thread' with TRANSACTIONAL"
        )

    @property
    def results(self) -> Mapping[str, Any]:
        """Earlier results of the run, by task id, oldest first."""
        return {
            key: self._codec.readable(text) for key, text in self._worker.ask("results", of=self._of).items()
        }

    @property
    def resources(self) -> Mapping[str, Any]:
        """What the ``lifespan`` made in this process."""
        return self._resources

    def spend(self, units: int) -> None:
        """Take cost units from the budget of the run, before they are used."""
        if units < 0:
            raise ValueError("cost units are zero or more")
        self._worker.ask("spend", of=self._of, units=units)

    def progress(self, fraction: float, text: str = "") -> None:
        """Say how far it is, for people who watch."""
        self._worker.tell("progress", of=self._of, fraction=float(fraction), text=str(text))
