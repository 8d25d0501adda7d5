"""Breaking AX on purpose, in a child process: each of these the oracle must notice."""

from __future__ import annotations

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
    from ax_core.store.commits import Commits

    right = Commits._run_alone

    def wrong(self: Commits, raw: Any, item: Any) -> None:
        if item.name != "admit":
            return right(self, raw, item)
        from ax_core.store.tx import Tx

        item.tx = Tx(raw.cursor(), self._dialect)
        item.result = item.op(item.tx)
        raw.execute("ROLLBACK")

    Commits._run_alone = wrong  # type: ignore[method-assign]


def _everybody_is_gone() -> None:
    """A running attempt of a living process is taken for lost."""
    for module in ("control.recover", "dispatch.claim", "dispatch.choreography", "dispatch.admit"):
        setattr(sys.modules[f"ax_core.{module}"], "is_lost", lambda row, now: True)


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
    from ax_core.store import audit

    audit.append = lambda tx, row: None  # type: ignore[assignment]


def _own_commit() -> None:
    """A transaction is committed although the guarded update of the record was refused."""
    from ax_core.store.database import Held

    Held.roll_back = Held.commit  # type: ignore[method-assign]


SABOTAGE: dict[str, Callable[[], None]] = {
    "requeue what is in doubt": _requeue_what_is_in_doubt,
    "claim without commit": _claim_without_commit,
    "everybody is gone": _everybody_is_gone,
    "fresh keys": _fresh_keys,
    "success untouched": _success_untouched,
    "no trail": _no_trail,
    "own commit": _own_commit,
}
