"""What every adapter shares: policies by name, refusals that end an agent, and the answer a model reads."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ax_core import AX, AXError, BudgetExceeded, Effect, Policy, PolicyError, SessionBusy

REFUSALS_BEFORE_RAISING = 3
"""A model that goes on calling tools after this many refusals for lack of budget is not listening: raise."""

ON_REFUSAL = ("return", "raise")


@dataclass(frozen=True)
class Binding:
    """How a set of tools is wrapped."""

    ax: AX
    policy: Policy
    on_refusal: str = "return"

    def __hash__(self) -> int:
        return hash((id(self.ax), id(self.policy), self.on_refusal))


def policies_for(
    names: Iterable[str],
    policies: Mapping[str, Policy | Effect | str | Mapping[str, Any]] | None,
    default_effect: Effect | str | None,
    timeout: float | None,
) -> dict[str, Policy]:
    """One policy per tool.

    Raises:
        PolicyError: an invalid policy, or one for a tool that is not among ``names``.
    """
    known = list(names)
    given = dict(policies or {})
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"; did you mean {near[0]!r}?" if near else f" (the tools are: {', '.join(known) or 'none'})"
            )
            raise PolicyError(f"policies= names {name!r}, which is no tool of this list{hint}")
    made: dict[str, Policy] = {}
    for name in known:
        try:
            policy = Policy.of(given.get(name, {} if default_effect is None else {"effect": default_effect}))
        except PolicyError as error:
            raise PolicyError(f"the policy of tool {name!r}: {error}") from None
        if timeout is not None and policy.timeout is None:
            policy = replace(policy, timeout=timeout)
        made[name] = policy
    return made


def check_on_refusal(value: str) -> str:
    """Refuse a misspelt ``on_refusal``."""
    if value not in ON_REFUSAL:
        raise PolicyError(f"on_refusal={value!r} is unknown; one of {', '.join(map(repr, ON_REFUSAL))}")
    return value


def tell_undeclared(ax: AX, made: Mapping[str, Policy]) -> None:
    """Say once which tools declare nothing, what that means, and how to declare them."""
    undeclared = sorted(name for name, policy in made.items() if policy.effect is Effect.UNDECLARED)
    if undeclared:
        ax.warn_once(
            f"undeclared tools: {', '.join(undeclared)}. After a timeout or a crash nobody will know whether they "
            f"acted, so a person is asked. Say what they do, e.g. policies={{{undeclared[0]!r}: 'read'}} "
            "('idempotent', 'keyed', 'transactional', 'unsafe')"
        )


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


def text_of(error: AXError) -> str:
    """What a model reads of a verdict."""
    return error.for_model
