"""Talking to the outside world: from a tool's body, sync or async, and from the test that runs it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, Self

from support.surroundings import SURROUNDINGS

Row = dict[str, Any]
GRACE = 5.0


class Outside:
    """A client of the world; one connection per question, so that it can be asked from any thread and any fork."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, do: str, **more: Any) -> Row:
        """One question; blocks until the reply."""
        with socket.create_connection(("127.0.0.1", self.port)) as line, line.makefile("rwb") as both:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            both.write(_line(do, more))
            both.flush()
            return json.loads(both.readline())

    async def aask(self, do: str, **more: Any) -> Row:
        """:meth:`ask` on an event loop."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
        try:
            writer.write(_line(do, more))
            await writer.drain()
            return json.loads(await reader.readline())
        finally:
            writer.close()


class World(Outside):
    """The world's process as its test holds it; leaving the block stops it: TERM, wait, KILL."""

    def __init__(self, folder: Path) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "support.world", str(folder / "world.jsonl")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **SURROUNDINGS},
        )
        assert self._child.stdout is not None
        super().__init__(int(self._child.stdout.readline()))
        assert self.seen() == []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.terminate()
        try:
            self._child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                pipe.close()

    def begin_anew(self, folder: Path) -> None:
        """Another world, that has seen nothing yet."""
        self.ask("begin anew", books=str(folder / "world.jsonl"))

    def note(self, kind: str, **more: Any) -> None:
        """Write something down."""
        self.ask("note", kind=kind, **more)

    def open(self, *gates: str) -> None:
        """Let whoever waits at these gates go on, and whoever comes later pass."""
        for gate in gates:
            self.ask("open", gate=gate)

    def seen(self) -> list[Row]:
        """Everything so far."""
        return self.wait_for(0)

    def wait_for(self, count: int = 1, seconds: float = 30.0, **where: Any) -> list[Row]:
        """Everything, once it holds ``count`` entries like ``where``; fails if that never comes.

        Raises:
            AssertionError: it did not within ``seconds``.
        """
        entries = self.ask("seen", where=where, count=count, seconds=seconds)["entries"]
        like = [e for e in entries if all(e.get(name) == value for name, value in where.items())]
        assert len(like) >= count, f"waited {seconds:g} s for {count} × {where}; seen: {entries}"
        return entries


def _line(do: str, more: Row) -> bytes:
    return json.dumps({"do": do, **more}).encode() + b"\n"
