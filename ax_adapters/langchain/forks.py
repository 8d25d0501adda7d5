"""Going back in time, and on from there, is another run: a branch repeats what the turn did before.

LangGraph tells the steps of the one call that goes back, and nobody else; so the branch's run is kept in its state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage
from langgraph.types import Command

from ax_core import keys

_REPLAYED = "__pregel_replay_state"
_KEEP = 1024

_branches: OrderedDict[int, tuple[object, str | None]] = OrderedDict()
"""By the object that LangGraph makes for each call that goes back: the branch, None where it began a turn. Held
strongly, so that an id is not used again while it counts."""


def begun(key: str, conf: Mapping[str, Any]) -> str:
    """The key of a turn's own run, as it begins: it is new, also where the call went back in time."""
    if (state := conf.get(_REPLAYED)) is not None:
        _kept(state, None)
    return key


def branched(key: str, conf: Mapping[str, Any]) -> str:
    """The key of the run that a step works in: ``key``, or that of its branch."""
    if (state := conf.get(_REPLAYED)) is None:
        return key
    # The first step that is seen names the branch for all steps of the call.
    branch = _kept(state, keys.digest(str(conf.get("checkpoint_ns")))[:16])
    return (
        key
        if branch is None or key.endswith(f"@{branch}")
        else f"agent:{keys.digest(key, branch)[:40]}@{branch}"
    )


def _kept(state: object, branch: str | None) -> str | None:
    _, known = _branches.setdefault(id(state), (state, branch))
    while len(_branches) > _KEEP:
        _branches.popitem(last=False)
    return known


def run_in(state: Any) -> str | None:
    """The key of the run that an agent's state names."""
    key = state.get("ax_run") if isinstance(state, dict) else getattr(state, "ax_run", None)
    return key if isinstance(key, str) else None


def with_run(answer: Any, key: str, state: Any) -> Any:
    """The model's answer; in a branch, with the branch's run for the state, so that later calls find it there."""
    if key == run_in(state):
        return answer
    update: Command[Any] = Command(update={"ax_run": key})
    if isinstance(answer, ExtendedModelResponse):
        return ExtendedModelResponse(answer.model_response, answer.command or update)
    made = ModelResponse(result=[answer]) if isinstance(answer, AIMessage) else answer
    return ExtendedModelResponse(made, update)
