"""Which decision of the model a call is, from what LangGraph tells a tool.

In a node, (thread id, checkpoint namespace, tool call id, tool) is the same on crash-resume, interrupt-resume and
node retry, and new in a later turn that uses the id again and in a time-travel fork. A repeat within one execution
of the node is told apart by an ordinal, which advances only once a success was delivered.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ax_core import keys

from ..bridge import Identity, ordinals
from .inside import whole


def identify(
    ns: str,
    tool: str,
    tool_call_id: str | None,
    args: Any,
    config: Mapping[str, Any] | None,
    *,
    begins: bool = False,
) -> Identity:
    """The identity of a call from its RunnableConfig.

    Args:
        begins: the call is carried out now, and says when it left: until then an equal one without an id is another.
    """
    conf: Mapping[str, Any] = (config or {}).get("configurable") or {}
    thread, place = conf.get("thread_id"), conf.get("checkpoint_ns")
    session = str(thread) if thread else None
    named_run = conf.get("ax_run")
    run_id = str(named_run) if named_run else _run_of_message(ns, session, conf)
    if not place or not (pad := conf.get("__pregel_scratchpad")):
        return Identity(run_id=run_id, session=session)
    pad = whole(pad)
    # A bare tool.invoke(args) inside a node has no tool call id: its arguments stand in.
    who = f"id:{tool_call_id}" if tool_call_id else f"args:{'?' if args is None else keys.args_hash(args)}"
    # Some releases of LangGraph make a scratchpad per attempt of the node, older ones of 1.2 one for all.
    seat = (str(place), who, tool, _attempt(conf))
    ordinal = ordinals.take(pad, seat) if begins and not tool_call_id else ordinals.of(pad, seat)
    return Identity(
        request_id=f"lg:{keys.digest(session or '', str(place), who, tool, str(ordinal))[:40]}",
        run_id=run_id,
        session=session,
        address={
            "framework": "langgraph",
            "thread_id": session,
            "checkpoint_ns": str(place),
            "checkpoint_id": conf.get("checkpoint_id"),
            "tool_call_id": tool_call_id,
        },
        seat=(pad, seat),
        ordinal=ordinal,
    )


def _attempt(conf: Mapping[str, Any]) -> str:
    """Which execution of the node this is, where LangGraph counts them."""
    info = getattr(conf.get("__pregel_runtime"), "execution_info", None)
    return str(getattr(info, "node_attempt", ""))


def _run_of_message(ns: str, session: str | None, conf: Mapping[str, Any]) -> str | None:
    """The intent that the last human message is, where the graph lets it be read."""
    read = conf.get("__pregel_read")
    if session is None or read is None:
        return None
    try:
        messages = read("messages")
    except Exception:  # a graph without that channel
        return None
    for message in reversed(messages if isinstance(messages, list) else []):
        if getattr(message, "type", None) == "human":
            said = getattr(message, "id", None)
            return keys.idempotency_key("run", ns, session, said) if said else None
    return None
