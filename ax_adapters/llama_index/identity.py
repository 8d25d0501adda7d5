"""Which decision of the model a call is: (conversation, turn, message, tool call id, tool), and an ordinal.

All of them are the same when a step is executed again: for an event it waited for, by a retry policy, from a serialised
context. A later message or turn that uses a tool call id again is another. In a step of one's own the piece of work
stands in for the message.
"""

from __future__ import annotations

from ax_core import keys
from ax_core.dispatch import current_task

from ..bridge import Identity, ordinals
from .place import Place
from .step import Step


def identify(tool: str, args_hash: str, step: Step | None, place: Place | None) -> Identity:
    """The identity of a call made in this step."""
    if step is None or place is None:
        return Identity()
    # Inside another task the run is that task's; what its body calls goes by its arguments, not by the model's id.
    inside = current_task.get()
    run_id, session = (place.turn, place.scope) if inside is None else (None, None)
    if not (step.of_agent or step.item):
        return Identity(run_id=run_id, session=session)
    asked = step.tool_id if step.tool_name == tool and inside is None else None
    if inside is not None and inside.task_id:
        where: tuple[str, ...] = ("task", inside.task_id)
    else:
        where = (place.message or "", step.tool_id or "") if step.of_agent else (step.item or "",)
    who = f"id:{asked}" if asked else f"args:{args_hash}"
    seat = (place.scope, place.turn, *where, who, tool)
    ordinal = ordinals.of(step.worker, seat)
    return Identity(
        request_id=f"li:{keys.digest(*seat, str(ordinal))[:40]}",
        run_id=run_id,
        session=session,
        address={
            "framework": "llama_index",
            "scope": place.scope,
            "item": step.item,
            "tool_id": step.tool_id,
        },
        seat=(step.worker, seat),
        ordinal=ordinal,
    )
