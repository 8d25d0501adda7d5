"""When a verdict is raised to the host instead of told to the model."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ax_core import AXError, BudgetExceeded, PolicyError, SessionBusy

REFUSALS_BEFORE_RAISING = 3
"""A model that goes on calling tools after this many refusals for lack of budget is not listening: raise."""

ON_REFUSAL = ("return", "raise")


def check_on_refusal(value: str) -> str:
    """Refuse a misspelt ``on_refusal``."""
    if value not in ON_REFUSAL:
        raise PolicyError(f"on_refusal={value!r} is unknown; one of {', '.join(map(repr, ON_REFUSAL))}")
    return value


class Refusals:
    """In how many steps each run was refused for lack of budget, for the newest runs of this process.

    A step is one message of the model: it cannot have listened to what its own parallel calls are told.
    """

    def __init__(self, keep: int = 1024) -> None:
        self._steps: OrderedDict[str, tuple[set[Any], AXError]] = OrderedDict()
        self._keep = keep

    def must_raise(self, error: AXError, run: str, step: Any, on_refusal: str) -> bool:
        """Whether this verdict is raised to the host instead of told to the model.

        Args:
            step: which message of the model asked; None: each call counts.
            on_refusal: ``"end"``: never for the budget; the caller looks at :meth:`over`.
        """
        if on_refusal == "raise" or isinstance(error, SessionBusy):
            return True
        if not isinstance(error, BudgetExceeded):
            return False
        steps, _ = self._steps.pop(run, (set(), error))
        self._steps[run] = steps, error
        steps.add(object() if step is None else step)
        while len(self._steps) > self._keep:
            self._steps.popitem(last=False)
        return on_refusal != "end" and len(steps) > REFUSALS_BEFORE_RAISING

    def known(self, run: str) -> bool:
        """Whether a call of this run was refused for lack of budget."""
        return run in self._steps

    def over(self, run: str) -> AXError | None:
        """The last refusal of a run that was refused too often to be asked again."""
        steps, error = self._steps.get(run, ((), None))
        return error if len(steps) >= REFUSALS_BEFORE_RAISING else None


refusals = Refusals()
