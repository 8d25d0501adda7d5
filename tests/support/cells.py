"""A notebook's kernel, one cell at a time."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from support.surroundings import SURROUNDINGS


@dataclass(frozen=True)
class Ran:
    """What a cell came to."""

    outputs: list[Any]
    seconds: float

    @property
    def text(self) -> str:
        """What it printed to its output."""
        return "".join(each.text for each in self.outputs if each.get("name") == "stdout")

    @property
    def error(self) -> str | None:
        """The name of the exception that ended it."""
        return next((each.ename for each in self.outputs if each.output_type == "error"), None)

    @property
    def html(self) -> str:
        """How it showed its last value."""
        return "".join(
            each.data.get("text/html", "") for each in self.outputs if each.output_type == "execute_result"
        )


class Cells:
    """A kernel that runs what it is given."""

    def __init__(self, client: NotebookClient, loop: asyncio.AbstractEventLoop, folder: Path) -> None:
        self._client, self._loop, self.folder = client, loop, folder

    def run(self, code: str, *, interrupt_once: str | None = None) -> Ran:
        """Run a cell; interrupt it, as the stop button does, once it has written the file of that name."""
        return self._loop.run_until_complete(self._run(code, interrupt_once))

    async def _run(self, code: str, interrupt_once: str | None) -> Ran:
        cell = nbformat.v4.new_code_cell(code)
        self._client.nb.cells.append(cell)
        stop = None
        if interrupt_once is not None:
            stop = asyncio.ensure_future(self._interrupt(self.folder / interrupt_once))
        began = time.monotonic()
        try:
            await self._client.async_execute_cell(cell, len(self._client.nb.cells) - 1)
        finally:
            if stop is not None:
                stop.cancel()
        return Ran(cell.outputs, time.monotonic() - began)

    async def _interrupt(self, sign: Path) -> None:
        while not sign.exists():  # noqa: ASYNC240 - a look at a local file
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        await self._client.km.interrupt_kernel()


@contextmanager
def kernel(folder: Path) -> Iterator[Cells]:
    """A kernel in that folder, for the block."""
    notebook = nbformat.v4.new_notebook()
    client = NotebookClient(
        notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    loop = asyncio.new_event_loop()
    setup = client.async_setup_kernel(env={**os.environ, **SURROUNDINGS})
    loop.run_until_complete(setup.__aenter__())
    try:
        yield Cells(client, loop, folder)
    finally:
        loop.run_until_complete(setup.__aexit__(None, None, None))
        loop.close()
