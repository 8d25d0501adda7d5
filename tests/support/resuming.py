"""An agent in a process of its own that is killed at a moment of the test's choice, and one that resumes it.

Moments are counted: each fault point of AX, each write of the checkpointer, and the effect itself is one. The same
spec always passes the same moments in the same order as long as it asks for one tool at a time.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from support.surroundings import SURROUNDINGS

_forking = multiprocessing.get_context("forkserver")

Spec = dict[str, Any]


@cache
def _forker() -> None:
    """Start the process that has imported everything; it finds the tests' own modules through its environment."""
    _forking.set_forkserver_preload(["support.resuming", "support.agent_imports", "support.llama_life"])
    kept = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = SURROUNDINGS["PYTHONPATH"]
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if kept is not None:
            os.environ["PYTHONPATH"] = kept


class Life:
    """A conversation on disk: its checkpoints, AX's record, and the effects the world saw."""

    def __init__(self, folder: Path, **spec: Any) -> None:
        self.folder, self.spec = folder, spec

    def run(self, start: str | None = "go", resume: Any = None, **more: Any) -> dict[str, Any] | None:
        """One process of it; what it told, or None where it was killed first."""
        _forker()
        ours, theirs = _forking.Pipe(duplex=False)
        spec = {**self.spec, "folder": str(self.folder), "start": start, "resume": resume, **more}
        process = _forking.Process(target=self.main(), args=(spec, theirs))
        process.start()
        theirs.close()
        try:
            told = json.loads(ours.recv()) if ours.poll(60) else {"error": "silent for 60 s"}
        except EOFError:
            told = None
        process.join(60)
        ours.close()
        assert told is not None or process.exitcode == -signal.SIGKILL, f"exit {process.exitcode}"
        if told is not None and "error" in told:
            raise AssertionError(told["error"])
        return told

    def main(self) -> Any:
        """What the process runs."""
        return main

    @property
    def effects(self) -> list[str]:
        """What the world saw, in order."""
        path = self.folder / "effects"
        return path.read_text().split() if path.exists() else []


def main(spec: Spec, out: Any) -> None:
    """The process: build the agent, go on from where the checkpoints are, tell the answers of its tools."""
    import asyncio
    import traceback

    try:
        made = _agent(spec)
        value = _value(spec)
        config = {"configurable": {"thread_id": "T", **spec.get("configurable", {})}}
        if spec.get("is_async"):
            result = asyncio.run(_ainvoke(spec, value, config))
        else:
            result = made.invoke(value, config, durability="sync")
        out.send(json.dumps(_told(result)))
    except BaseException:
        out.send(json.dumps({"error": traceback.format_exc()}))
    finally:
        out.close()
        os._exit(0)


async def _ainvoke(spec: Spec, value: Any, config: Any) -> Any:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(f"{spec['folder']}/checkpoints.db") as saver:
        return await _agent(spec, saver).ainvoke(value, config, durability="sync")


def _value(spec: Spec) -> Any:
    from langgraph.types import Command

    if spec["resume"] is not None:
        return Command(resume=spec["resume"])
    return None if spec["start"] is None else {"messages": [("user", spec["start"])]}


def _told(result: Any) -> dict[str, Any]:
    from support.scripted import told

    asked = [{"id": each.id, "value": each.value} for each in result.get("__interrupt__", ())]
    last = result["messages"][-1].text if result.get("messages") else ""
    return {"told": told(result), "asked": asked, "last": last}


def _agent(spec: Spec, saver: Any = None) -> Any:
    from langchain.agents import create_agent
    from langchain_core.tools import StructuredTool
    from langgraph.checkpoint.sqlite import SqliteSaver

    from ax_adapters import langchain as adapter
    from ax_core import AX, current, faults
    from support.scripted import Scripted

    folder = spec["folder"]
    moment = Moments(spec.get("kill_at"), spec.get("kill_in"))
    faults.listen(moment.passed)
    ax = AX(f"sqlite:///{folder}/ax.db", lease=2.0, heartbeat=0.5)

    def act(name: str) -> Any:
        def body(n: int = 0) -> str:
            moment.passed(f"{name}.before")
            with open(f"{folder}/effects", "a") as file:
                file.write(f"{name}:{current().idempotency_key if spec.get('keys') else n}\n")
            moment.passed(f"{name}.after")
            return f"{name} {n} done"

        return StructuredTool.from_function(body, name=name, description=name)

    policies = spec.get("policies", {})
    tools = [act(name) for name in spec["tools"]]
    if spec.get("middleware"):
        guard = {"middleware": [adapter.AXMiddleware(ax, policies=policies, **spec.get("options", {}))]}
    else:
        guard, tools = {}, adapter.wrap_tools(tools, ax, policies=policies)
    if saver is None:
        saver = SqliteSaver(sqlite3.connect(f"{folder}/checkpoints.db", check_same_thread=False))
        saver.setup()
    _watch(saver, moment, "aput_writes" if spec.get("is_async") else "put_writes")
    return create_agent(Scripted(script=spec["script"]), tools, checkpointer=saver, **guard)


def _watch(saver: Any, moment: Moments, name: str) -> None:
    kept = getattr(saver, name)

    def writes(*args: Any, **more: Any) -> Any:
        moment.passed("writes.before")
        return kept(*args, **more)

    setattr(saver, name, writes)


class Moments:
    """Counts what the process passes, and ends it at one of them."""

    def __init__(self, at: int | None, inside: str | None) -> None:
        self._left, self._inside = at, inside

    def passed(self, name: str) -> None:
        if self._left is not None:
            self._left -= 1
        if self._left == 0 or name == self._inside:
            os.kill(os.getpid(), signal.SIGKILL)
