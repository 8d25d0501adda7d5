"""Carrying out a choreography on the caller's thread."""

from __future__ import annotations

import _thread
import contextvars
from collections.abc import Callable, Generator
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ..decide import Lost, Outcome, Raised, Returned, TimedOut
from ..errors import StoreError
from ..policy import Effect
from ..states import State
from ..store import Alone, Lent, Tx
from .ends import write_end
from .record import Written
from .steps import Ended, Enter, Look, Step, Write
from .wiring import Wiring

T = TypeVar("T")


def carry_out(choreography: Generator[Step, Any, T], wiring: Wiring) -> T:
    """Run it to its end; raises what it raises."""
    answer: Any = None
    try:
        step = next(choreography)
        while True:
            try:
                answer = do(step, wiring)
            except BaseException as error:
                step = choreography.throw(error)
            else:
                step = choreography.send(answer)
    except StopIteration as stop:
        result: T = stop.value
        return result


def do(step: Step, wiring: Wiring) -> Any:
    """One step on this thread; its answer."""
    if isinstance(step, Write):
        return _write(step, wiring)
    if isinstance(step, Enter):
        return enter(step, wiring)
    if isinstance(step, Look):
        return wiring.db.read(step.op)
    step.waiter.wait(step.seconds)
    return None


def _write(step: Write, wiring: Wiring) -> Any:
    if step.abandoned is None:
        return wiring.db.write(step.op, step.name, step.durable)
    answer: list[Any] = []

    def op(tx: Tx) -> Any:
        answer[:] = (step.op(tx),)
        return answer[0]

    try:
        return wiring.db.write(Alone(op) if isinstance(step.op, Alone) else op, step.name, step.durable)
    except Exception:
        raise
    except BaseException:  # Ctrl-C: it is written all the same, and there is nobody to go on from it
        wiring.threads.spawn(lambda: _abandon(step, answer, wiring))
        raise


def _abandon(step: Write, answer: list[Any], wiring: Wiring) -> None:
    assert step.abandoned is not None
    try:
        wiring.db.flush()
        op = step.abandoned(answer[0]) if answer else None
        if op is not None:
            wiring.db.write(op, "record")
    except Exception:
        wiring.log.exception("an interrupted caller's claim could not be given back; its lease will expire")


def enter(step: Enter, wiring: Wiring) -> Ended:
    """Enter a body: here, or where a deadline can free the caller from it."""
    if step.deadline is not None and step.deadline <= wiring.clock.monotonic():
        return Ended(TimedOut(closed=True, entered=False))
    if step.body.is_async:
        from .private import on_private_loop

        return on_private_loop(step, wiring)
    if step.deadline is None or apart(step, wiring):
        return _here(step, wiring)
    slot = Slot()
    start(step, wiring, slot)
    left = max(0.0, step.deadline - wiring.clock.monotonic())
    if not slot.wait(left):
        wiring.clock.skip(left)
        return given_up(step, slot)
    assert slot.ended is not None
    return slot.ended


def apart(step: Enter, wiring: Wiring) -> bool:
    """Whether the body runs in a process of its own, which is killed in time: nobody has to be freed from it."""
    return wiring.isolated is not None and step.body.policy.isolation == "process"


def _entered(step: Enter, wiring: Wiring) -> tuple[Outcome, BaseException | None]:
    if wiring.isolated is not None and apart(step, wiring):
        return wiring.isolated(step, wiring), None
    return step.body()


class Slot:
    """Where a body on another thread leaves its end."""

    __slots__ = ("_bell", "_first", "ended", "held", "wake")

    def __init__(self) -> None:
        self.ended: Ended | None = None
        self.held: Lent | None = None
        self._first = _thread.allocate_lock()
        # A queue, not a lock: whoever waits on a loop's thread means to, and a lock there may be watched.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self.wake: Callable[[], None] = partial(self._bell.put, None)

    def take(self) -> bool:
        """True for the first to ask: the thread that enters the body, or the caller that gives it up unentered."""
        return self._first.acquire(False)

    def wait(self, seconds: float | None) -> bool:
        """Whether it ended in time."""
        try:
            self._bell.get(timeout=None if seconds is None else max(0.0, seconds))
        except Empty:
            return False
        return True


def start(step: Enter, wiring: Wiring, slot: Slot) -> None:
    """Start a sync body on a thread of its own, in a copy of the caller's context; it records its own end."""
    wiring.threads.spawn(attempt(step, wiring, slot))


def attempt(
    step: Enter, wiring: Wiring, slot: Slot, awaited: Callable[[], bool] = lambda: False
) -> Callable[[], None]:
    """What a body's thread does: enter it in a copy of this context, record its end, tell the slot. Never raises.

    Args:
        awaited: asked when the body has ended, whether its caller is still there and will record that itself.
    """
    context = contextvars.copy_context()
    wiring.live.add(step.attempt)

    def job() -> None:
        try:
            slot.ended = context.run(_run, step, wiring, slot, awaited)
        except BaseException as error:  # the store refused the record: the caller is owed that, not silence
            slot.ended = Ended(None, None, error)
        finally:
            wiring.live.remove(step.attempt)
            slot.wake()

    return job


def given_up(step: Enter, slot: Slot) -> Ended:
    """The deadline passed: the caller goes, the body may still be running."""
    step.attempt.given_up = True
    step.attempt.context.ask_to_stop()
    if slot.take():  # its thread never came to the body, and will not enter it now
        return Ended(TimedOut(closed=True, entered=False))
    if slot.held is not None:  # a transaction can be undone under it, so it is really over
        slot.held.abort()
        return Ended(TimedOut(closed=True))
    return Ended(TimedOut(closed=False))


def _here(step: Enter, wiring: Wiring) -> Ended:
    wiring.live.add(step.attempt)
    try:
        if step.attempt.row.effect == Effect.TRANSACTIONAL:
            ended = _transact(step, wiring, Slot())
            assert ended is not None  # nobody else could give it up
            return ended
        outcome, error = _entered(step, wiring)
        return Ended(outcome, None, error)
    finally:
        wiring.live.remove(step.attempt)


def _run(step: Enter, wiring: Wiring, slot: Slot, awaited: Callable[[], bool]) -> Ended | None:
    """Enter the body and record its end; None: the caller gave it up before."""
    if step.attempt.row.effect == Effect.TRANSACTIONAL:
        return _transact(step, wiring, slot)
    if not slot.take():
        return None
    outcome, error = _entered(step, wiring)
    step.attempt.ended = True
    if awaited():
        return Ended(outcome, None, error)
    return Ended(outcome, write_end(step, outcome, wiring), error)


def _transact(step: Enter, wiring: Wiring, slot: Slot) -> Ended | None:
    """A TRANSACTIONAL body: its writes and AX's record are one commit, AX's guarded UPDATE the last statement."""
    from ..store import tasks

    try:
        held = slot.held = wiring.db.transaction()
    except StoreError as refused:
        return _not_begun(step, wiring, slot, refused)
    if not slot.take():
        held.roll_back()
        return None
    step.body.context.lend(held.connection)
    # What is not committed is as if it had never been entered.
    outcome: Outcome = Lost(entered=False)
    error: BaseException | None = None
    try:
        # Somebody may have taken the task over before this began; later nobody can, or the record's UPDATE finds out.
        row, mine = tasks.look(held.tx, step.attempt.row.id), step.attempt.row.fence
        if row is not None and row.state == State.RUNNING and row.fence == mine:
            outcome, error = step.body()
        if isinstance(outcome, Returned):
            held.check()
            written: Written = step.record(outcome)(held.tx)
            if written.accepted:
                return Ended(outcome, _committed(step, wiring, held, written), error)
            outcome = Lost(entered=False)
    except Exception as refused:  # the connection was taken away, or the database said no: nothing is written
        outcome, error = Raised(refused, not_applied=True), None
    finally:
        step.body.context.lend(None)
        held.roll_back()
    return Ended(outcome, write_end(step, outcome, wiring), error)


def _not_begun(step: Enter, wiring: Wiring, slot: Slot, refused: StoreError) -> Ended | None:
    """The store refused the transaction: the body was not entered, and the claim is given back if it can be."""
    refused.task_id = step.attempt.row.id
    if not slot.take():
        return None
    outcome = Lost(entered=False)
    try:
        return Ended(outcome, write_end(step, outcome, wiring), refused)
    except StoreError:
        raise refused from None


def _committed(step: Enter, wiring: Wiring, held: Lent, written: Written) -> Written:
    try:
        held.commit()
    except Exception:
        # A COMMIT whose answer was lost is looked up before anything is said.
        from ..store import tasks

        held.roll_back()
        row = wiring.db.read(lambda tx: tasks.get(tx, step.attempt.row.id))
        if row is None or row.state != written.row.state or row.audit_head != written.row.audit_head:
            raise
    return written
