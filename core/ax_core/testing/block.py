"""``with ax.testing() as t:`` the block in which an AX runs on a store and a clock of the test's own."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from .. import faults, owners
from ..clock import Clock
from ..dispatch import current_task
from ..errors import UnknownTool
from ..faults import Crash
from ..hooks import NAMES, Event
from ..registry import Tool
from ..scheduler import sweep
from .clock import FakeClock
from .mortal import Mortal, Mourning

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..app import AX
    from ..app.core import Core

AT = ("before", "mark", "after", "recorded")


class Testing:
    """The block, and what a test asks of it; ``with`` or ``async with``.

    Attributes:
        clock: moves only as the test says (a :class:`FakeClock`, unless another clock was given).
    """

    __test__ = False  # it is no test case, whatever pytest thinks of its name

    def __init__(self, ax: AX, core: Core, clock: Clock | None = None) -> None:
        self.clock = cast(FakeClock, clock if clock is not None else FakeClock())
        self._ax, self._core = ax, core
        self._armed: set[tuple[str, str]] = set()
        self._entered: Counter[str] = Counter()
        self._returned: Counter[str] = Counter()
        self._events: list[Event] = []
        self._stores: list[Mortal] = []
        self._undo: list[Callable[[], Any]] = []

    def __enter__(self) -> Testing:
        core, threads = self._core, self._core.threads
        self._undo.append(core.swap("sqlite://", self.clock, self._open))
        core.threads = Mourning()
        self._undo.append(lambda: setattr(core, "threads", threads))
        self._undo.append(faults.listen(self._hears))
        collect = self._events.append
        core.hooks.on(*NAMES)(collect)
        self._undo.append(lambda: core.hooks.off(collect))
        return self

    def __exit__(self, *_: object) -> None:
        # Whatever of the block still runs must not write into a store that is closed.
        over = Crash("the testing block is over")
        for store in self._stores:
            store.die(over)
        while self._undo:
            self._undo.pop()()
        for store in self._stores:
            store.close()

    async def __aenter__(self) -> Testing:
        return self.__enter__()

    async def __aexit__(self, *_: object) -> None:
        self.__exit__()

    # -- dying -----------------------------------------------------------------------------------------------

    def crash(self, tool: str | Tool[..., Any], at: str = "after") -> None:
        """Let the process die in the next call of a tool: its caller gets a :class:`Crash`, nothing more is recorded.

        Args:
            at: ``"before"`` its body, ``"mark"`` (right after ``ctx.about_to_act()``), ``"after"`` its body, before
                the outcome is recorded, or ``"recorded"``, when only the caller does not hear of it any more.

        Raises:
            ValueError: no such point.
            UnknownTool: no such tool is registered.
        """
        if at not in AT:
            raise ValueError(f"at={at!r} is unknown; one of {', '.join(map(repr, AT))}")
        self._armed.add((self._name(tool), at))

    def recover(self) -> None:
        """Do what the next process does first: classify what the dead one left."""
        core, wiring = self._core, self._core.wiring(self._ax.namespace)
        wiring.db.write(sweep(core.clock, core.owner, core.tell), "recover", True)

    def tick(self) -> None:
        """Do now, at the fake time, what a watch does beside the calls: approvals, leases, cancels, ``reconcile``."""
        self._core.wiring(self._ax.namespace)
        watch = self._core._watch
        assert watch is not None
        watch.tick(everything=True)

    # -- looking ---------------------------------------------------------------------------------------------

    def entered(self, tool: str | Tool[..., Any]) -> int:
        """How often the body of a tool was entered, over all crashes."""
        return self._entered[self._name(tool)]

    def effects(self, tool: str | Tool[..., Any]) -> int:
        """How often the body of a tool came back with a value, over all crashes; one that raised does not count."""
        return self._returned[self._name(tool)]

    @property
    def events(self) -> tuple[Event, ...]:
        """Every event so far, in order; handlers registered with ``ax.on`` have been called for them."""
        delivered = threading.Event()
        self._core.hooks.drained(delivered.set)
        delivered.wait(10)
        return tuple(self._events)

    # -- how it is done --------------------------------------------------------------------------------------

    def _open(self, url: str, **given: Any) -> Mortal:
        memory = self._stores[0].memory if self._stores else None
        store = Mortal(url, reached=self._reached, memory=memory, **given)
        self._stores.append(store)
        return store

    def _name(self, tool: str | Tool[..., Any]) -> str:
        if isinstance(tool, Tool):
            return tool.name
        if (found := self._core.registry.find(tool)) is None:
            raise UnknownTool(f"no tool named {tool!r} is registered here")
        return found.name

    def _hears(self, point: str) -> None:
        if point not in ("body.before", "body.after"):
            return
        inside = current_task.get()
        store = inside.store if inside is not None else None
        if inside is None or inside.row is None or not isinstance(store, Mortal) or store not in self._stores:
            return
        tool = inside.row.tool
        if point == "body.before":
            if inside.in_transaction:
                store.entered(inside.connection, tool)
            self._reached(store, "before", tool)
            self._entered[tool] += 1
        else:
            self._returned[tool] += 1
            self._reached(store, "after", tool)

    def _reached(self, store: Mortal, at: str, tool: str) -> None:
        try:
            self._armed.remove((tool, at))
        except KeyError:
            return
        core = self._core
        crash = Crash(f"the process died: {tool}, {at}")
        store.die(crash)
        self._undo.append(owners.bury(core.owner))
        core.forget()
        raise crash
