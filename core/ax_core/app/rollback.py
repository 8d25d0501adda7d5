"""Carrying a rollback out: waits for open attempts, stops at doubts, undoes the rest one by one, last first."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..compensation import ORIGIN, SUFFIX, Plan, plan
from ..control import all_tasks, begin_rollback, end_rollback
from ..dispatch import Call, calling, prepare
from ..dispatch.steps import Look, Rest, Step, Write
from ..errors import AXError
from ..model import TaskRow, Verdict
from ..policy import Effect, Policy
from ..registry import Tool
from ..states import RunState
from ..store import Tx, tasks, tools

if TYPE_CHECKING:
    from ..dispatch import Wiring
    from .core import Core

UNDO = Policy(effect=Effect.KEYED, retries=3, timeout=30.0)
"""How a plain ``compensate`` function is run: with its own key, repeated where it failed. A Tool says otherwise."""

WAIT_FOR_OPEN = 60.0


def undo_tool(core: Core, ns: str, tool: Tool[..., Any]) -> Tool[..., Any] | None:
    """The tool that undoes a success of ``tool``; None where it cannot be undone."""
    compensate = tool.policy.compensate
    if compensate is None:
        return None
    # A plain function runs where the tool does whose work it undoes.
    policy = compensate.policy if isinstance(compensate, Tool) else replace(UNDO, where=tool.policy.where)
    policy = replace(policy, aliases=tuple(name + SUFFIX for name in tool.aliases))
    function = compensate.fn if isinstance(compensate, Tool) else compensate

    def undo(task_id: str) -> Any:
        # By id, so that the result comes back with the types it had.
        row: TaskRow | None = core.wiring(ns).db.read(lambda tx: tasks.get(tx, task_id))
        assert row is not None
        import json

        result = None if row.result is None else core.codec.decode(row.result)
        return function(json.loads(row.payload), result)

    return Tool(
        name=tool.name + SUFFIX,
        description=f"Undoes {tool.name}.",
        schema={"type": "object", "properties": {"task_id": {"type": "string"}}, "required": ["task_id"]},
        policy=policy,
        fn=undo,
    )


def rolling_back(
    core: Core, wiring: Wiring, run_id: str, by: str, may: Callable[[Tool[..., Any]], bool] | None = None
) -> Generator[Step, Any, Verdict]:
    """The choreography of a rollback; carried out by the same hands as a call.

    Two that go on with the same run undo nothing twice: a compensation is a task with a request of its own.

    Args:
        may: which compensations may be called from here; None: those of all tools that are registered.
    """
    clock = wiring.clock
    yield Write(
        lambda tx: begin_rollback(tx, wiring.ns, run_id, by, clock.now(), wiring.tell), "control", True
    )
    give_up = clock.monotonic() + WAIT_FOR_OPEN
    undone = 0
    while True:
        ahead: Plan = yield Look(partial(_plan, core, wiring, run_id))
        if ahead.open:
            left = give_up - clock.monotonic()
            if left <= 0:
                return _verdict(
                    False, run_id, f"waits for {len(ahead.open)} tasks that still run; call it again"
                )
            with wiring.waiters.of(ahead.open[0].id) as waiter:
                yield Rest(waiter, left)
            continue
        if ahead.doubtful:
            names = ", ".join(f"{row.tool} {row.id}" for row in ahead.doubtful[:5])
            return _verdict(
                False,
                run_id,
                f"{undone} undone; stopped for a verdict on {names}: resolve, then roll back again",
            )
        if not ahead.undo:
            failed = bool(ahead.failed)
            yield Write(partial(_end, run_id, clock.now(), failed), "control", True)
            return _verdict(not failed, run_id, _summary(undone, ahead))
        target = ahead.undo[0]
        tool = core.registry.find(target.tool + SUFFIX)
        if tool is None or (may is not None and not may(tool)):
            return _verdict(
                False,
                run_id,
                f"closed to claims; {len(ahead.undo)} to undo by a worker that knows {target.tool}, or by ax.serve() "
                "where it is registered",
            )
        call = Call(
            tool,
            {"task_id": target.id},
            request_id=f"undo:{target.id}",
            run_id=target.run_id,
            session=target.session,
            parent_id=target.id,
            origin=ORIGIN,
        )
        try:
            yield from calling(prepare(call, wiring), wiring, core.settings.wait)
            undone += 1
        except AXError:
            pass  # it is on record as failed or in doubt; the plan is made anew with that


def _end(run_id: str, now: int, failed: bool, tx: Tx) -> None:
    end_rollback(tx, run_id, now, failed)


def _plan(core: Core, wiring: Wiring, run_id: str, tx: Tx) -> Plan:
    # Also by what was published: an operator's process has no tools.
    known = {row.name for row in tools.every(tx, wiring.ns)} | {tool.name for tool in core.registry}
    return plan(all_tasks(tx, run_id), {name for name in known if name + SUFFIX in known})


def _summary(undone: int, ahead: Plan) -> str:
    parts = [f"{undone} undone"]
    if ahead.failed:
        parts.append(f"{len(ahead.failed)} could not be undone and need a person")
    if ahead.kept:
        parts.append(
            f"{len(ahead.kept)} have no compensation and stay ({', '.join(sorted({r.tool for r in ahead.kept}))})"
        )
    return "; ".join(parts)


def _verdict(done: bool, run_id: str, message: str) -> Verdict:
    return Verdict(done, run_id, RunState.ROLLED_BACK, message)
