"""A wire to a server that can be cut, slowed down, and made to carry nothing for a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self

CHUNK = 1 << 16


class Proxy:
    """Listens on a free loopback port and passes on what it hears to another one; use as a context manager."""

    def __init__(self, target: int) -> None:
        self.target, self.port = target, 0
        self._delay = 0.0
        self._wires: set[asyncio.StreamWriter] = set()
        self._at_work: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> Self:
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._do(self._listen())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def cut(self) -> None:
        """End every connection, in the middle of whatever it carries."""
        self._do(self._cut())

    def slow(self, seconds: float) -> None:
        """Each chunk is so late from now on; 0: none is."""
        self._delay = seconds

    def silence(self) -> None:
        """Carry nothing; nobody is told."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def speak(self) -> None:
        """Carry what was held back, and what comes."""
        self._loop.call_soon_threadsafe(self._open.set)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> None:
        self._open = asyncio.Event()
        self._open.set()
        self._server = await asyncio.start_server(self._joined, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        self._open.set()
        await asyncio.gather(*self._at_work, return_exceptions=True)

    async def _cut(self) -> None:
        for wire in list(self._wires):
            wire.transport.abort()

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        me = asyncio.current_task()
        assert me is not None
        self._at_work.add(me)
        me.add_done_callback(self._at_work.discard)
        try:
            there, far = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:  # nobody is there
            writer.transport.abort()
            return
        both = {writer, far}
        self._wires |= both
        try:
            await asyncio.gather(self._carry(reader, far), self._carry(there, writer))
        finally:
            self._wires -= both

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while chunk := await reader.read(CHUNK):
                if self._delay:
                    await asyncio.sleep(self._delay)
                await self._open.wait()
                writer.write(chunk)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
