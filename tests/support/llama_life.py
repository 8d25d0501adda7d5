"""A LlamaIndex conversation whose process is killed at a moment of the test's choice, and one that resumes it.

Its host saves the workflow's context after every event, as text. Moments are counted: each fault point of AX, each
save, and both sides of every effect. The effects are counted by the world, a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import traceback
from pathlib import Path
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, StopEvent

from ax_adapters.llama_index import ApprovalRequired, wrap_tools
from ax_core import AX, Policy, current, faults
from support.llama import Model, Plan, Saved
from support.outside import Outside, World
from support.resuming import Life, Moments, Spec


class LlamaLife(Life):
    """A conversation on disk: its saved context, AX's record, and the effects that the world saw."""

    def __init__(self, folder: Path, world: World, **spec: Any) -> None:
        super().__init__(folder, **spec, port=world.port)
        self.world = world

    def main(self) -> Any:
        """What the process runs."""
        return main

    @property
    def effects(self) -> list[str]:
        """What the world saw, in order."""
        return [entry["subject"] for entry in self.world.seen() if entry["kind"] in ("unsafe", "keyed")]

    @property
    def keys(self) -> list[str]:
        """The idempotency keys that it was shown."""
        return [entry["key"] for entry in self.world.seen() if entry["kind"] == "keyed"]


def main(spec: Spec, out: Any) -> None:
    """The process: build the agent, go on from the saved context where there is one, tell what its tools answered."""
    try:
        out.send(json.dumps(asyncio.run(_converse(spec))))
    except BaseException:
        out.send(json.dumps({"error": traceback.format_exc()}))
    finally:
        out.close()
        os._exit(0)


async def _converse(spec: Spec) -> dict[str, Any]:
    moment = Moments(spec.get("kill_at"), spec.get("kill_in"))
    faults.listen(moment.passed)
    ax = AX(f"sqlite:///{spec['folder']}/ax.db", lease=2.0, heartbeat=0.5)
    policies = {name: Policy.of(said) for name, said in spec.get("policies", {}).items()}
    tools = wrap_tools([_acting(name, spec, moment) for name in spec["tools"]], ax, policies=policies)
    made = FunctionAgent(tools=tools, llm=Model(response_generator=Plan(spec["script"])))
    kept = Path(spec["folder"]) / "context.json"
    if kept.exists():
        handler = made.run(ctx=Saved.again(made, json.loads(kept.read_text())))
    else:
        memory = ChatMemoryBuffer.from_defaults(tokenizer_fn=str.split, token_limit=3000)
        handler = made.run("go", ctx=Context(made), memory=memory)
    answers: dict[str, list[str]] = {}
    async for event in handler.stream_events():
        # A context that has come to its end cannot be resumed, only begun anew.
        if isinstance(event, StopEvent):
            break
        moment.passed("save.before")
        _save(handler.ctx, kept)
        moment.passed("save.after")
        if isinstance(event, ApprovalRequired) and spec.get("answer"):
            handler.ctx.send_event(event.answer(spec["answer"], by="ann"))
        if isinstance(event, ApprovalRequired) and not spec.get("answer"):
            await handler.cancel_run()
            return {"told": answers, "last": "", "asked": [event.ax_task_id]}
        if isinstance(event, ToolCallResult):
            answers.setdefault(event.tool_id, []).append(event.tool_output.content)
    return {"told": answers, "last": str(await handler), "asked": []}


def _save(ctx: Any, kept: Path) -> None:
    fresh = kept.with_suffix(".new")
    fresh.write_text(json.dumps(Saved.of(ctx)))
    fresh.replace(kept)


def _acting(name: str, spec: Spec, moment: Moments) -> FunctionTool:
    outside = Outside(spec["port"])

    def question(n: int) -> dict[str, Any]:
        ctx = current()
        keyed = spec.get("policies", {}).get(name) == "keyed"
        more = {"key": ctx.idempotency_key} if keyed else {}
        return {"do": "keyed" if keyed else "unsafe", "subject": f"{name}:{n}", "task": ctx.task_id, **more}

    def body(n: int = 0) -> str:
        moment.passed(f"{name}.before")
        outside.ask(**question(n))
        moment.passed(f"{name}.after")
        return f"{name} {n} done"

    async def abody(n: int = 0) -> str:
        moment.passed(f"{name}.before")
        await outside.aask(**question(n))
        moment.passed(f"{name}.after")
        return f"{name} {n} done"

    if spec.get("form") == "sync":
        return FunctionTool.from_defaults(body, name=name, description=name)
    return FunctionTool.from_defaults(async_fn=abody, name=name, description=name)
