"""Who writes: operations stand in line, and one thread at a time leads, in the order they came.

Ctrl-C may hit a thread between any two steps of what follows. So the lead is a value that names its holder, taken
and known in one step; nothing leaves the line before it is answered; and what an interrupted thread leaves undone
is done by a helper thread, which no signal ever reaches.
"""

from __future__ import annotations

import _thread
import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ..threads import Threads
from .tx import Op, Told, Tx

Helper = list[bool]
"""The name under which a helper thread leads. Whoever empties it is that helper, so there is only one."""


class Item:
    """One operation in line; a thread waits for it on a lock, a coroutine on a future, and others are told.

    Attributes:
        told: called with the result and the error by whoever leads, which it must not block; None: somebody waits.
        op: what to run; None for one who wants nothing but the lead.
        done: it is answered, or was not to be.
    """

    __slots__ = ("done", "durable", "error", "future", "loop", "name", "op", "result", "told", "tx", "wake")

    def __init__(self, op: Op[Any] | None, name: str, durable: bool) -> None:
        self.op, self.name, self.durable = op, name, durable
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.tx: Tx | None = None
        self.wake: _thread.LockType | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.future: asyncio.Future[Any] | None = None
        self.told: Told | None = None

    @property
    def waits(self) -> bool:
        """Whether a thread waits for it, and will lead when its turn comes."""
        return self.loop is None and self.told is None

    def tell(self) -> None:
        """Wake the thread that waits here: it is done, or it leads. Once too often does no harm."""
        wake = self.wake
        if wake is not None and wake.locked():
            try:
                wake.release()
            except RuntimeError:  # somebody else told it at this very moment
                pass

    def outcome(self) -> Any:
        """The result; raises the error."""
        if self.error is not None:
            raise self.error
        return self.result


class Line:
    """The operations in line, and the lead.

    Args:
        work: answers what stands first in line and takes it out; called by whoever leads.
    """

    def __init__(self, work: Callable[[], None], threads: Threads) -> None:
        self.items: deque[Item] = deque()
        self._work, self._threads = work, threads
        # One entry or none: setdefault takes the lead and tells who has it, in one step.
        self._holder: dict[int, Item | Helper] = {}
        self._ending = _thread.allocate_lock()

    def through(self, item: Item) -> None:
        """Bring an operation to its end, on this thread or on that of whoever leads."""
        try:
            self.items.append(item)
            if self._holder.setdefault(0, item) is item or self._turn(item):
                self._work()
                self._pass_on()
        except BaseException:
            self._rescue(item)
            raise

    def leave_it(self, item: Item) -> None:
        """Bring an operation to its end here if nobody leads, and else leave it to whoever does."""
        try:
            self.items.append(item)
            if self._holder.setdefault(0, item) is item:
                self._work()
                self._pass_on()
        except BaseException:
            self._rescue(item)
            raise

    def queue(self, item: Item) -> None:
        """Put the operation of a coroutine in line; never blocks."""
        helper: Helper = [True]
        try:
            self.items.append(item)
            if self._holder.setdefault(0, helper) is helper:
                self._send(helper)
        except BaseException:
            self._rescue(item)
            raise

    def exclusive(self, seconds: float = -1) -> Exclusive | None:
        """Wait for the lead, and keep it until the answer is released; None: it did not come in time."""
        item = Item(None, "exclusive", True)
        try:
            self.items.append(item)
            mine = self._holder.setdefault(0, item) is item
            if mine and self.items[0] is not item:  # those before it come first
                self._pass_on()
                mine = False
            if not mine and not self._turn(item, seconds):
                self._rescue(item)
                return None
            return Exclusive(self, item)
        except BaseException:
            self._rescue(item)
            raise

    def end(self, item: Item) -> None:
        """The end of an exclusive lead; harmless once it has ended."""
        try:
            with self._ending:
                if self._holder.get(0) is item:
                    item.done = True
                    self.leave()
                    self._pass_on()
        except BaseException:
            self._rescue(item)
            raise

    def leave(self) -> None:
        """Let those go that stand first and are answered."""
        items = self.items
        while items and items[0].done:
            items.popleft()

    def _turn(self, item: Item, seconds: float = -1) -> bool:
        """Wait: True once this thread leads, False once the operation is answered, or the time is over."""
        wake = item.wake
        if wake is None:
            wake = _thread.allocate_lock()
            wake.acquire()
            item.wake = wake
        # Looked at after the lock is there to be told by, so that no answer is missed.
        in_time = True
        while True:
            if item.done:
                return False
            if self._holder.get(0) is item:
                return True
            if not in_time:
                return False
            in_time = wake.acquire(timeout=seconds)

    def _pass_on(self) -> None:
        """Give the lead to whoever stands first, or to nobody."""
        items, holder = self.items, self._holder
        helper: Helper = [True]
        while not items:
            del holder[0]
            # Somebody may have come between the look and the letting go, and found the lead taken.
            if not items or holder.setdefault(0, helper) is not helper:
                return
        first = items[0]
        if first.waits:
            holder[0] = first
            first.tell()
        else:
            holder[0] = helper
            self._send(helper)

    def _send(self, helper: Helper) -> None:
        try:
            self._threads.spawn(partial(self._lead, helper))
        except RuntimeError:  # no further thread is to be had: it has to be this one
            self._lead(helper)

    def _lead(self, helper: Helper) -> None:
        """Lead under a helper's name, unless somebody else already does."""
        try:
            helper.pop()
        except IndexError:
            return
        try:
            self._work()
        except Exception:
            logging.getLogger("ax").exception("a commit failed in a way that nobody foresaw")
        self._pass_on()

    def _rescue(self, item: Item) -> None:
        try:
            self._threads.spawn(partial(self._mend, item))
        except RuntimeError:
            self._mend(item)

    def _mend(self, item: Item) -> None:
        """Do what a thread that was interrupted on behalf of ``item`` may have left undone."""
        holder = self._holder.get(0)
        if holder is item:
            self._instead(item)
            return
        if holder is None:
            helper: Helper = [True]
            if self.items and self._holder.setdefault(0, helper) is helper:
                self._lead(helper)
        elif isinstance(holder, Item):
            holder.tell()
        else:
            self._lead(holder)
        # The lead may still come to it, and then somebody must be there.
        if item.waits and not item.done and self._turn(item):
            self._instead(item)

    def _instead(self, item: Item) -> None:
        if item.op is None:
            self.end(item)
        else:
            self._lead([True])


class Exclusive:
    """The lead, held; released once, by whoever is first."""

    def __init__(self, line: Line, item: Item) -> None:
        self._line, self._item = line, item

    def release(self) -> None:
        """Let the others write again."""
        self._line.end(self._item)

    def __del__(self) -> None:
        # Lost on its way to the one who asked for it: nobody else will let go.
        if not self._item.done:
            self.release()
