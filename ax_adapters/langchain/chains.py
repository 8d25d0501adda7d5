"""The runs that agents of this process work in: opened by one step, entered by the others, left when none is inside."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ax_core import AX, Budget, TaskCancelled, TaskDead, keys
from ax_core.app.runs import RunBlock
from ax_core.dispatch import RunScope, current_run

from .chain import Chain, Ended, way


class Chains:
    """The open chains of one middleware, by run key.

    A step that ends in an exception may end the agent, and nothing would tell: so once no step is inside, the run is
    left as that exception says. If somebody retries, the next step enters it again by its key.
    """

    def __init__(self, ax: AX, budget: Budget | None, on_busy: str) -> None:
        self._ax, self._budget, self._on_busy = ax, budget, on_busy
        self._open: dict[str, Chain] = {}
        self._lock = threading.Lock()

    def open(self, key: str, session: str | None) -> None:
        """Open the run of an agent that starts.

        Raises:
            SessionBusy: another chain holds the session.
        """
        chain = self._known(key) or self._add(key, block := self._block(key, session), block.open())
        chain.block.rest()

    async def aopen(self, key: str, session: str | None) -> None:
        """:meth:`open` on an event loop."""
        chain = self._known(key)
        if chain is None:
            block = self._block(key, session)
            chain = self._add(key, block, await block.aopen())
        await chain.block.arest()

    def close(self, key: str) -> None:
        """The agent came to its end."""
        block = self._taken(key)
        if block is not None:
            block.close()

    async def aclose(self, key: str) -> None:
        """:meth:`close` on an event loop."""
        block = self._taken(key)
        if block is not None:
            await block.aclose()

    @contextmanager
    def step(self, key: str, session: str | None) -> Iterator[RunBlock]:
        """A step inside the run, which another process may have opened.

        Raises:
            Ended: the run has ended for good, so there is no step.
        """
        chain = self._known(key)
        if chain is None:
            block = self._block(key, session)
            try:
                chain = self._add(key, block, block.open())
            except (TaskCancelled, TaskDead) as error:
                raise Ended(error, block.id) from error
        token = self._begin(chain)
        kind: type[BaseException] | None = None
        try:
            yield chain.block
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            current_run.reset(token)
            if self._end(key, chain, kind):
                match way(chain.left_by):
                    case "rest":
                        chain.block.rest()
                    case "pause":
                        chain.block.pause()
                    case _:
                        chain.block.close(chain.left_by)

    @asynccontextmanager
    async def astep(self, key: str, session: str | None) -> AsyncIterator[RunBlock]:
        """:meth:`step` on an event loop."""
        chain = self._known(key)
        if chain is None:
            block = self._block(key, session)
            try:
                chain = self._add(key, block, await block.aopen())
            except (TaskCancelled, TaskDead) as error:
                raise Ended(error, block.id) from error
        token = self._begin(chain)
        kind: type[BaseException] | None = None
        try:
            yield chain.block
        except BaseException as error:
            kind = type(error)
            raise
        finally:
            current_run.reset(token)
            if self._end(key, chain, kind):
                match way(chain.left_by):
                    case "rest":
                        await chain.block.arest()
                    case "pause":
                        await chain.block.apause()
                    case _:
                        await chain.block.aclose(chain.left_by)

    def _block(self, key: str, session: str | None) -> RunBlock:
        block = self._ax.run(session=session, key=key, budget=self._budget, on_busy=self._on_busy)
        # The same in every step of this process, so that two which enter at the same moment are one holder.
        block.id = keys.idempotency_key("agent", self._ax.namespace, key)
        return block

    def _known(self, key: str) -> Chain | None:
        """The chain, unless it was paused because nobody came back to it for a while."""
        with self._lock:
            chain = self._open.get(key)
            if chain is not None and not chain.inside and not chain.block.back():
                del self._open[key]
                return None
            return chain

    def _add(self, key: str, block: RunBlock, scope: RunScope) -> Chain:
        with self._lock:
            return self._open.setdefault(key, Chain(block, scope))

    def _taken(self, key: str) -> RunBlock | None:
        with self._lock:
            chain = self._open.pop(key, None)
        return None if chain is None else chain.block

    def _begin(self, chain: Chain) -> Any:
        with self._lock:
            chain.inside += 1
        chain.block.back()
        return current_run.set(chain.scope)

    def _end(self, key: str, chain: Chain, kind: type[BaseException] | None) -> bool:
        """Whether nobody is inside any more; a chain that was left by an exception is forgotten then."""
        with self._lock:
            chain.inside -= 1
            if kind is not None and (chain.left_by is None or way(chain.left_by) == "pause"):
                chain.left_by = kind
            idle = chain.inside == 0
            if idle and chain.left_by is not None and self._open.get(key) is chain:
                del self._open[key]
        return idle
