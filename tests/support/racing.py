"""A process that races others for one record: it gets ready, starts at a word, and tells what each call came to."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from ax_core import AX, AXError, Budget
from support.aside import Aside
from support.outside import Row

PATIENCE = 50.0


def main(spec: Row) -> None:
    """``do`` names what it does, with the rest of the spec; between its parts it waits for a line."""
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    ax = AX(spec.pop("url"))
    register(ax, spec.pop("effects"))
    ax.tasks(limit=1)
    _ready()
    DO[spec.pop("do")](ax, **spec)
    ax.close()
    print(json.dumps({"complaints": complaints.lines}), flush=True)
    print(json.dumps({"ended": True}), flush=True)


def register(ax: AX, effects: str) -> None:
    """Tools whose effect is a line in a file, with a moment before it in which others may come."""

    def act(n: int, pause: float = 0.0) -> list[int]:
        time.sleep(pause)
        return [n, _effect(effects, n)]

    async def soon(n: int, pause: float = 0.0) -> list[int]:
        await asyncio.sleep(pause)
        return [n, _effect(effects, n)]

    for name, fn, effect in (("act", act, "unsafe"), ("soon", soon, "unsafe"), ("look", act, "read")):
        ax.register(fn, name=name, policy={"effect": effect, "timeout": PATIENCE})


def numbers(effects: str) -> list[int]:
    """What happened, in order."""
    if not os.path.exists(effects):
        return []
    with open(effects) as f:
        return [int(line) for line in f]


class Complaints(logging.Handler):
    """Every warning and error that was logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def said(fn: Callable[[], Any]) -> Row:
    """What a call came to, as plain data."""
    try:
        return {"value": fn()}
    except AXError as error:
        return {"error": error.code, "message": str(error)}


async def asaid(call: Any) -> Row:
    """:func:`said` of a coroutine."""
    try:
        return {"value": await call}
    except AXError as error:
        return {"error": error.code, "message": str(error)}


def one_request(ax: AX, threads: int, coroutines: int, tool: str, request: str) -> list[Row]:
    """Everybody calls the same request."""

    async def loop() -> list[Row]:
        calls = [ax.acall(tool, {"n": 1, "pause": 0.05}, request_id=request) for _ in range(coroutines)]
        return list(await asyncio.gather(*[asaid(call) for call in calls]))

    calls = [
        Aside(lambda: said(lambda: ax.call(tool, {"n": 1, "pause": 0.05}, request_id=request)))
        for _ in range(threads)
    ]
    looping = Aside(lambda: asyncio.run(loop()))
    return [call.result(PATIENCE) for call in calls] + looping.result(PATIENCE)


def together_in_context(fns: list[Callable[[], Any]]) -> list[Row]:
    """Each on a thread of its own, in the run that is open around here."""
    going = [Aside(partial(contextvars.copy_context().run, said, fn)) for fn in fns]
    return [call.result(PATIENCE) for call in going]


def _one_request(ax: AX, **spec: Any) -> None:
    _tell(one_request(ax, **spec))


def _budget(ax: AX, tasks: int, first: int, calls: int) -> None:
    """Calls in one run, entered by its key in every process, which none leaves before all have called."""
    with ax.run(key="shared", budget=Budget(tasks=tasks)):
        _ready()
        mine = range(first, first + calls)
        _tell(together_in_context([lambda n=n: ax.call("act", {"n": n}) for n in mine]))
        sys.stdin.readline()


def _many(ax: AX, first: int, count: int, threads: int) -> None:
    """So many tasks, each with a key of its own that neighbours the others."""

    def some(at: int) -> list[Row]:
        mine = range(first + at, first + count, threads)
        return [said(lambda n=n: ax.call("act", {"n": n}, key=f"key-{n:06}")) for n in mine]

    going = [Aside(lambda at=at: some(at)) for at in range(threads)]
    _tell([row for call in going for row in call.result(PATIENCE)])


def _one_key(ax: AX, key: str, bodies: list[int]) -> None:
    """Everybody submits under one key."""
    going = [
        Aside(lambda n=n: said(lambda: ax.call("act", {"n": n, "pause": 0.02}, key=key))) for n in bodies
    ]
    _tell([call.result(PATIENCE) for call in going])


DO: dict[str, Callable[..., None]] = {
    "one_request": _one_request,
    "budget": _budget,
    "many": _many,
    "one_key": _one_key,
}


def _ready() -> None:
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()


def _tell(rows: list[Row]) -> None:
    # A line may not be longer than what a reader takes at once; so one each.
    for row in rows:
        print(json.dumps(row), flush=True)
    print(json.dumps({"told": len(rows)}), flush=True)


def _effect(effects: str, n: int) -> int:
    file = os.open(effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(file, f"{n}\n".encode())
    finally:
        os.close(file)
    return os.getpid()
