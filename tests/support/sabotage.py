"""Breaking AX on purpose, in a child process: each of these the oracle must notice."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any


def commit(names: list[str]) -> None:
    """Break it in the named ways, from now on."""
    for name in names:
        SABOTAGE[name]()


def _requeue_what_is_in_doubt() -> None:
    """A lost attempt is run again, whatever its tool said."""
    from ax_core.control import recover
    from ax_core.decide import Decision, Facts, Lost, Outcome, decide
    from ax_core.states import Reason, State

    def wrong(facts: Facts, outcome: Outcome) -> Decision:
        if isinstance(outcome, Lost):
            return Decision(State.QUEUED, Reason.INTERRUPTED, interruption=True)
        return decide(facts, outcome)

    recover.decide = wrong  # type: ignore[assignment]


def _claim_without_commit() -> None:
    """The body is entered on a claim that is not on record."""
    from ax_core.store import Database
    from ax_core.store.tx import Tx

    right, right_queued = Database.write, Database.queued

    def undone(self: Database, op: Any) -> Any:
        raw = self._connect()
        try:
            raw.execute("BEGIN IMMEDIATE")
            result = op(Tx(raw.cursor(), self.dialect))
            raw.execute("ROLLBACK")
            return result
        finally:
            raw.close()

    def write(self: Database, op: Any, name: str = "control", durable: bool = False) -> Any:
        return undone(self, op) if name == "admit" else right(self, op, name, durable)

    def queued(self: Database, op: Any, name: str = "control", durable: bool = False) -> Any:
        if name != "admit":
            return right_queued(self, op, name, durable)
        answer = asyncio.get_running_loop().create_future()
        answer.set_result(undone(self, op))
        return answer

    Database.write, Database.queued = write, queued  # type: ignore[method-assign]


def _everybody_is_gone() -> None:
    """A running attempt of a living process is taken for lost."""
    _lost_if(lambda row, now: True)


def _nobody_is_gone() -> None:
    """An attempt whose process was killed is waited for, for ever."""
    _lost_if(lambda row, now: False)


def _lost_if(judge: Callable[[Any, int], bool]) -> None:
    for module in (
        "control.recover",
        "dispatch.admit",
        "dispatch.choreography",
        "dispatch.claim",
        "scheduler.leases",
    ):
        sys.modules[f"ax_core.{module}"].is_lost = judge  # type: ignore[attr-defined]


def _doubt_everything() -> None:
    """A lost attempt is in doubt, whatever its tool said."""
    from ax_core.control import recover
    from ax_core.decide import Decision
    from ax_core.states import Reason, State

    recover.decide = lambda facts, outcome: Decision(State.QUARANTINE, Reason.OUTCOME_UNKNOWN)  # type: ignore[assignment]


def _fresh_keys() -> None:
    """Every claim makes a new idempotency key."""
    from ax_core.dispatch.context import Context

    Context.idempotency_key = property(lambda self: f"{self.row.id}/{self.row.fence}")  # type: ignore[method-assign]


def _success_untouched() -> None:
    """The body is skipped, and its success recorded."""
    from ax_core.decide import Returned
    from ax_core.dispatch.body import Body

    Body.__call__ = lambda self: (Returned({"receipt": 0}), None)  # type: ignore[method-assign]


def _no_trail() -> None:
    """Moves are not written into the audit."""
    from ax_core.store.tx import Tx

    Tx.change = lambda self, sql, values, entry, first=None: self.update(sql, values) == 1  # type: ignore[method-assign]


def _commit_apart() -> None:
    """What a TRANSACTIONAL body wrote is committed before AX's record of it."""
    from ax_core.dispatch import hands
    from ax_core.dispatch.steps import Ended, Enter
    from ax_core.dispatch.wiring import Wiring

    def wrong(step: Enter, wiring: Wiring, slot: hands.Slot) -> Ended:
        held = wiring.db.transaction()
        step.body.context.lend(held.connection)
        outcome, error = step.body()
        step.body.context.lend(None)
        held.commit()
        return Ended(outcome, wiring.db.write(step.record(outcome), "record"), error)

    hands._transact = wrong


def _tell_fairy_tales() -> None:
    """A caller is told a value, whatever the record says."""
    from ax_core.dispatch import choreography
    from ax_core.dispatch.answer import Answer

    choreography.conclude = lambda row, *_: Answer(row, {"receipt": 0})  # type: ignore[assignment]


SABOTAGE: dict[str, Callable[[], None]] = {
    "requeue what is in doubt": _requeue_what_is_in_doubt,
    "doubt everything": _doubt_everything,
    "claim without commit": _claim_without_commit,
    "everybody is gone": _everybody_is_gone,
    "nobody is gone": _nobody_is_gone,
    "fresh keys": _fresh_keys,
    "success untouched": _success_untouched,
    "no trail": _no_trail,
    "commit apart": _commit_apart,
    "fairy tales": _tell_fairy_tales,
}
