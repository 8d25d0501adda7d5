"""A tool whose body does what the test says, and counts how often it was entered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from ax_core import AX, Context, Policy, current
from ax_core.dispatch import Call
from ax_core.registry import Tool


class Interrupt(BaseException):
    """What Ctrl-C is to a tool: the host is leaving, and the tool has not failed. (It leaves pytest alone.)"""


class Pause(BaseException):
    """A framework's pause."""


class Held:
    """A body that waits: ``entered`` is set once it is inside, and it goes on at ``go``."""

    def __init__(self, then: Any = "done") -> None:
        self.then, self.entered, self.go = then, threading.Event(), threading.Event()

    def wait_entered(self) -> None:
        """Until the body is inside."""
        assert self.entered.wait(10), "the body was never entered"


class Probe:
    """The effect behind a tool.

    Each entry plays the next item of the script: an exception is raised, a :class:`Held` waits, a callable is called
    with the context and then judged the same way, anything else is returned. After the script it returns ``"done"``.

    Attributes:
        seen: of each entry: (attempt, fence, idempotency key, arguments).
    """

    def __init__(self, *script: Any) -> None:
        self._script = list(script)
        self._lock = threading.Lock()
        self.seen: list[tuple[int, int, str | None, dict[str, Any]]] = []

    @property
    def count(self) -> int:
        """How often it was entered: the effects that the world saw."""
        return len(self.seen)

    @property
    def keys(self) -> set[str | None]:
        """The idempotency keys that the downstream saw."""
        return {key for _, _, key, _ in self.seen}

    def then(self, *script: Any) -> None:
        """What the next entries do."""
        self._script += script

    def tool(self, ax: AX, name: str = "pay", effect: Any = None, **policy: Any) -> Tool[..., Any]:
        """Register it: ``pay(order, amount, note)``. Without ``effect`` it is undeclared."""
        given = policy if effect is None else {"effect": effect, **policy}

        def pay(order: str = "7", amount: int = 10, note: str = "") -> Any:
            return self.play({"order": order, "amount": amount, "note": note})

        return ax.register(pay, name=name, policy=Policy.of(given))

    def async_tool(
        self, ax: AX, body: Callable[[], Any], name: str = "pay", effect: Any = None, **policy: Any
    ) -> Any:
        """Register an async one, whose body is ``await body()`` for each entry."""
        given = policy if effect is None else {"effect": effect, **policy}

        async def pay(order: str = "7", amount: int = 10, note: str = "") -> Any:
            self._enter({"order": order, "amount": amount, "note": note})
            return await body()

        return ax.register(pay, name=name, policy=Policy.of(given))

    def play(self, args: dict[str, Any]) -> Any:
        """One entry."""
        item = self._enter(args)
        return self._act(item, current())

    def _enter(self, args: dict[str, Any]) -> Any:
        ctx = current()
        with self._lock:
            self.seen.append((ctx.attempt, ctx.fence, ctx.idempotency_key, args))
            return self._script.pop(0) if self._script else "done"

    def _act(self, item: Any, ctx: Context) -> Any:
        if isinstance(item, Held):
            item.entered.set()
            assert item.go.wait(30), "nobody let the body go on"
            return self._act(item.then, ctx)
        if isinstance(item, BaseException) or (isinstance(item, type) and issubclass(item, BaseException)):
            raise item
        if callable(item):
            return self._act(item(ctx), ctx)
        return item


def paused(ax: AX, **policy: Any) -> tuple[Probe, Call]:
    """A task that its framework has paused in the first attempt, and the call that goes on with it."""
    probe = Probe(Pause())
    call = Call(probe.tool(ax, **policy), {}, request_id="r")
    with pytest.raises(Pause):
        ax.dispatch(call, passes=(Pause,))
    return probe, call
