"""Arguments that do not fit: LlamaIndex checks none, so AX does for tools that act and whose author asked for care."""

from __future__ import annotations

import inspect
from typing import Any

from llama_index.core.tools import FunctionTool

from ax_core import keys
from ax_core.schema import Invalid, Problem

from ..bridge import Binding
from .pending import Pending, filled_in
from .registering import DECLARED, registered


def checked(binding: Binding, pending: Pending) -> dict[str, Any] | Invalid:
    """The arguments as they are recorded, hashed, shown to an approver and run; or why they are not.

    Those of undeclared tools and of reads go to the tool as they are: it is as strict as it is without AX.
    """
    if binding.policy.effect not in DECLARED:
        return pending.shown if pending.plain is None else pending.plain
    answer = registered(binding, pending.tool).gate.admit(pending.shown, binding.ax.settings.payload_cap)
    if isinstance(answer, Invalid):
        return answer
    unfit = _unfit(pending, answer.args)
    return answer.args if unfit is None else unfit


def args_hash(args: dict[str, Any]) -> str:
    """The hash of arguments; of those that are no plain data, one that equals no other."""
    try:
        return keys.args_hash(args)
    except keys.NotCanonical:
        return "?"


def _unfit(pending: Pending, args: dict[str, Any]) -> Invalid | None:
    """What a schema of the author's own does not say: the function would refuse the call before its first line."""
    tool = pending.tool
    if not isinstance(tool, FunctionTool):
        return None
    places, names = pending.changed(args, args)
    if tool.requires_context and tool.ctx_param_name not in names:
        return None  # the host's mistake, and LlamaIndex's to tell
    try:
        inspect.signature(tool.real_fn).bind(*places, **{**filled_in(tool), **names})
    except TypeError as error:
        return Invalid(
            (Problem("", "value", f"the arguments do not fit the function: {error}"),), accepts=tuple(args)
        )
    except ValueError:  # a builtin that has no signature to look at
        return None
    return None
