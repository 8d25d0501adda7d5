"""The verbs that decide about one task: confirm, reject, cancel, requeue, resolve."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..errors import NotAllowed
from ..model import Verdict
from . import data
from .options import HERE, ME, Where, Who
from .out import answer, text
from .place import opened

if TYPE_CHECKING:
    from ..app import AX


def confirm(task: str, /, *, payload: str | None = None, who: Who = ME, where: Where = HERE) -> int:
    """Approve a task that waits for it; it runs when its caller comes back, or in ax.serve(), never here.

    Args:
        task: its id, or six or more of its first or last characters.
        payload: other arguments for it, as a JSON object: all of them, and they pass every gate again.
    """
    edited = None if payload is None else _object(payload)
    return carried_out(where, task, lambda ax, id: ax.confirm(id, by=who.name, payload=edited))


def reject(task: str, /, *, reason: str | None = None, who: Who = ME, where: Where = HERE) -> int:
    """Refuse a task that waits for approval.

    Args:
        task: its id, or six or more of its first or last characters.
        reason: why; the model reads it.
    """
    return carried_out(where, task, lambda ax, id: ax.reject(id, by=who.name, reason=reason))


def cancel(id: str, /, *, who: Who = ME, where: Where = HERE) -> int:
    """Cancel a task, or a run with everything under it. What runs is asked to stop; what lies parked is put away.

    Args:
        id: of a task, else of a run, or six or more of its first or last characters.
    """
    return carried_out(where, id, lambda ax, found: ax.cancel(found, by=who.name), of="any")


def requeue(task: str, /, *, who: Who = ME, where: Where = HERE) -> int:
    """Order another attempt of a task that ended badly, under the same key.

    Args:
        task: its id, or six or more of its first or last characters.
    """
    return carried_out(where, task, lambda ax, id: ax.requeue(id, by=who.name))


def resolve(
    task: str,
    /,
    *,
    happened: Annotated[bool | None, Parameter(negative="--did-not-happen")] = None,
    rerun: Annotated[bool, Parameter(negative=())] = False,
    result: str | None = None,
    who: Who = ME,
    where: Where = HERE,
) -> int:
    """Say whether an effect in doubt happened, after you looked.

    Args:
        task: its id, or six or more of its first or last characters.
        happened: it did, or it did not.
        rerun: it did not, so run it again, under the same key.
        result: what the call would have returned, as JSON.
    """
    if happened is None:
        raise ValueError("say --happened or --did-not-happen")
    if result is not None and not happened:
        raise ValueError("--result goes with --happened: what did not happen has none")
    value = None if result is None else _json("--result", result)
    return carried_out(
        where, task, lambda ax, id: ax.resolve(id, happened=happened, result=value, rerun=rerun, by=who.name)
    )


def carried_out(where: Where, target: str, verb: Callable[[AX, str], Verdict], of: str = "task") -> int:
    """Carry a verb out and say what it came to: 0 it decided, 1 it did not apply or somebody had decided before.

    Args:
        target: what a person wrote for the id of a task or a run; or the name of a tool.
        of: which of these.
    """
    with opened(where) as ax:
        kind, id = "tool", target
        if of != "tool":
            found = ax.find(target, of=of)
            kind, id = f"ax_{found.kind}_id", str(found)
        try:
            verdict = verb(ax, id)
        except NotAllowed as refused:
            state = ax.get(id).state if kind == "ax_task_id" else ax.tree(id).run.state
            verdict = Verdict(False, id, state, str(refused))
    answer(
        where.as_json,
        data.verdict(verdict, kind),
        lambda on: on.print(text(verdict.message, "green" if verdict.done else "yellow"), soft_wrap=True),
    )
    return 0 if verdict.done else 1


def _object(given: str) -> dict[str, Any]:
    value = _json("--payload", given)
    if not isinstance(value, dict):
        raise ValueError("--payload must be a JSON object of all the arguments")
    return value


def _json(option: str, given: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(given, parse_constant=refuse)
    except ValueError as error:
        raise ValueError(f"{option} is no JSON: {error}") from None
