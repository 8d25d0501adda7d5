"""Which run the steps of an agent's turn work in, as LangGraph's config and the agent's own state tell it."""

from __future__ import annotations

from typing import Any

from langgraph.config import get_config

from ax_core import keys
from ax_core.dispatch import current_run

from .forks import begun, branched, run_in


def begins(own_budget: bool) -> str | None:
    """The key of the run of a turn that starts; None: its calls belong to a run that somebody else opened.

    Args:
        own_budget: the turn has a budget, so it is a run of its own inside the one that is open.
    """
    conf = get_config().get("configurable") or {}
    if conf.get("ax_run") or (current_run.get() is not None and not own_budget):
        return None
    # The place of this step: the same when it is run again after a crash, new in each turn.
    place = str(conf.get("checkpoint_ns") or id(conf))
    return begun(f"agent:{keys.digest(session() or '', place)[:40]}", conf)


def key_in(state: Any) -> str | None:
    """The key of the run that a step works in."""
    key = run_in(state)
    return None if key is None else branched(key, get_config().get("configurable") or {})


def session() -> str | None:
    """The session of the step: its thread."""
    thread = (get_config().get("configurable") or {}).get("thread_id")
    return str(thread) if thread else None
