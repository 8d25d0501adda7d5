"""A real MCP server in a process of its own, on loopback."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).with_name("mcp_server.py")


@dataclass(frozen=True)
class Serving:
    """The server, as its clients and its test see it."""

    folder: Path
    connection: dict[str, Any]

    def tools(self) -> dict[str, Any]:
        """Its tools as LangChain tools, by name; built anew each time."""
        from langchain_mcp_adapters.client import MultiServerMCPClient

        client = MultiServerMCPClient({"sample": dict(self.connection)})  # type: ignore[dict-item]
        return {tool.name: tool for tool in asyncio.run(client.get_tools())}

    def lines(self, name: str = "effects") -> list[str]:
        """What the server noted."""
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def forget(self) -> None:
        """Begin anew."""
        for path in self.folder.iterdir():
            path.unlink()


def over_stdio(folder: Path) -> Serving:
    """Started by its client, for each session."""
    return Serving(
        folder, {"transport": "stdio", "command": sys.executable, "args": [str(SCRIPT), str(folder)]}
    )


@contextmanager
def over_http(folder: Path) -> Iterator[Serving]:
    """Running for the block."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(SCRIPT), str(folder), str(port)])
    try:
        _wait_for(port, process)
        yield Serving(folder, {"transport": "streamable_http", "url": f"http://127.0.0.1:{port}/mcp"})
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up = time.monotonic() + 60
    while time.monotonic() < give_up:
        assert process.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server does not listen")
