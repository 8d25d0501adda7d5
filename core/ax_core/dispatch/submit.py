"""Submitting without waiting: recorded at once, run on a thread of this process."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from ..errors import AXError, InvalidArguments
from ..model import TaskHandle
from ..policy import Effect
from ..states import State
from .admit import admit
from .answer import verdict
from .call import Submission
from .choreography import Runner, following, runner_for
from .hands import carry_out
from .seat import Seat
from .steps import Step, Write
from .wiring import Wiring


def submitting(sub: Submission, wiring: Wiring) -> Generator[Step, Any, Seat]:
    """Admit a call and hand back its seat.

    Raises:
        AXError: it was refused.
    """
    durable = sub.call.tool.effect is not Effect.READ
    seat: Seat = yield Write(admit(sub, wiring), "admit", durable)
    if seat.refusal is not None:
        raise seat.refusal
    assert seat.row is not None
    if sub.invalid is not None and seat.how == "new":
        error = verdict(seat.row, seat.note)
        assert isinstance(error, InvalidArguments)
        raise error
    return seat


def dispatch_detached(seat: Seat, sub: Submission, wiring: Wiring, patience: float) -> TaskHandle:
    """Run a submitted task on a thread of this process, if it is this caller's to run."""
    row = seat.row
    assert row is not None
    if seat.claimed or (sub.here and row.state in (State.QUEUED, State.RETRY_WAIT)):
        runner = runner_for(sub, (), seat.claimed and seat.how == "new")
        context = contextvars.copy_context()
        wiring.threads.spawn(
            partial(context.run, _see_through, seat, runner, wiring, patience, wiring.live.promise())
        )
    return TaskHandle.of(
        row.id,
        State(row.state),
        replayed=seat.how == "replayed",
        merged=seat.how in ("merged", "in_the_way"),
    )


def _see_through(
    seat: Seat, runner: Runner, wiring: Wiring, patience: float, kept: Callable[[], None]
) -> None:
    try:
        carry_out(following(seat, runner, wiring, patience, detached=True), wiring)
    except AXError:
        pass  # its verdict is on record, for whoever asks
    except Exception:
        wiring.log.exception("a submitted task could not be run")
    finally:
        kept()
