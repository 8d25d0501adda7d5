"""An agent in a process of its own: it carries out calls under AX with stable request ids, and tells each answer.

``main(spec)`` takes plain data:

``db``, ``port``     the record, and the outside world
``settings``         of AX; ``policy``: further fields for every tool's policy; ``timeout``: of the tools
``faults``           specs of :mod:`ax_core.faults`; those of ``control`` are armed right before the first verb
``up``               tell once the record is open
``tells``            fault points of which it tells when it has come to them
``sabotage``         names of :mod:`support.sabotage`
``calls``            each ``{"tool", "request", "args"}``, or an operator's ``{"verb", "request", …}``
``together``         start all calls at once, each on a thread (or as a coroutine) of its own
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from ax_core import AX, AXError, faults
from ax_core.hooks import Event
from support import agent_tools
from support.outside import Outside, Row

_telling = threading.Lock()


def tell(**line: Any) -> None:
    """One answer, on its way before anything else happens."""
    with _telling:
        os.write(sys.stdout.fileno(), json.dumps(line).encode() + b"\n")


def main(spec: Row) -> None:
    """Carry out the calls of a spec."""
    early, late = [], []
    for fault in spec.get("faults", ()):
        (late if fault.startswith("control.") else early).append(fault)
    for fault in early:
        faults.arm_from(fault)
    for name in spec.get("tells", ()):
        faults.arm(name, partial(tell, reached=name))
    if spec.get("sabotage"):
        from support.sabotage import commit

        commit(spec["sabotage"])
    ax = AX(f"sqlite:///{spec['db']}", **spec.get("settings", {}))
    names = dict.fromkeys(call["tool"] for call in spec["calls"] if "tool" in call)
    agent_tools.register(
        ax, Outside(spec["port"]), names, spec.get("timeout", 60.0), **spec.get("policy", {})
    )

    @ax.on("alert")
    def alerted(event: Event) -> None:
        tell(alert=event.detail.get("kind"), task=event.task_id, state=event.state)

    calls = spec["calls"]
    if spec.get("up"):
        ax.tasks(limit=1)
        tell(up=True)
    if any(_on_loop(call) for call in calls):
        asyncio.run(_a_all(ax, calls, late, spec.get("together", False)))
    elif spec.get("together"):
        with ThreadPoolExecutor(len(calls)) as pool:
            list(pool.map(lambda call: _one(ax, call, late), calls))
    else:
        for call in calls:
            _one(ax, call, late)
    told = threading.Event()
    ax._core.hooks.drained(told.set)
    told.wait(10)
    tell(ended=True)


def _on_loop(call: Row) -> bool:
    return str(call.get("tool", "")).endswith("_loop")


def _one(ax: AX, call: Row, late: list[str]) -> None:
    try:
        if "verb" in call:
            return _decide(ax, dict(call), late)
        value = ax.call(call["tool"], call["args"], request_id=call["request"])
    except AXError as error:
        _tell_error(call, error)
    else:
        tell(request=call["request"], said="value", value=value)


async def _a_all(ax: AX, calls: list[Row], late: list[str], together: bool) -> None:
    if together:
        await asyncio.gather(*(_a_one(ax, call, late) for call in calls))
        return
    for call in calls:
        await _a_one(ax, call, late)


async def _a_one(ax: AX, call: Row, late: list[str]) -> None:
    if not _on_loop(call):
        return await asyncio.to_thread(_one, ax, call, late)
    try:
        value = await ax.acall(call["tool"], call["args"], request_id=call["request"])
    except AXError as error:
        _tell_error(call, error)
    else:
        tell(request=call["request"], said="value", value=value)


def _tell_error(call: Row, error: AXError) -> None:
    doubt = getattr(error, "maybe_applied", None)
    tell(
        request=call["request"], said=error.code, message=str(error), task=error.task_id, maybe_applied=doubt
    )


def _decide(ax: AX, call: Row, late: list[str]) -> None:
    """An operator's verb on the task of a request."""
    verb, request = call.pop("verb"), call.pop("request")
    task_id = next(task.id for task in ax.tasks(limit=1000).tasks if task.request_id == request)
    while late:
        faults.arm_from(late.pop())
    verdict = getattr(ax, verb)(task_id, by="ops", **call)
    tell(request=request, verb=verb, done=verdict.done, state=verdict.state, message=verdict.message)
