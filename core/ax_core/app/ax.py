"""AX: what users hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from ..clock import Clock
from ..dispatch import Override, current_override
from ..errors import PolicyError
from ..hooks import Handler
from ..model import Budget
from ..registry import Tool
from ..settings import Settings
from .calls import Calls
from .core import Core
from .listening import Listening
from .purge import Purging
from .run_list import RunList
from .runs import RunBlock
from .tooling import Tooling
from .trail import Trails
from .verbs import Verbs

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from .serve import Serving

T = TypeVar("T")


class AX(Tooling, Calls, Trails, Verbs, RunList, Listening, Purging):
    """The controlled execution layer: every call through it is recorded before it acts.

    Nothing is opened before the first use: no file, no thread, no connection.

    Args:
        url: where the truth is kept: an SQLAlchemy URL of SQLite, PostgreSQL (``postgresql+psycopg://…``) or MySQL
            (``mysql+pymysql://…``). Default ``AX_URL``, else ``sqlite:///ax.db``; ``sqlite://`` is in memory.
        engine: share this SQLAlchemy engine instead (of a SQLite file, or of a server).
        queue: how tasks reach workers: ``redis://…`` or ``celery://module:app``. Default ``AX_QUEUE``, else
            everything runs in the process that calls it.
        imports: modules whose tools run in workers, which import them too.
        settings: see :class:`ax_core.settings.Settings`; also as ``AX_…`` variables.

    Raises:
        PolicyError: an unknown setting.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        engine: Engine | None = None,
        queue: str | None = None,
        imports: Collection[str] = (),
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        if url is not None and engine is not None:
            raise PolicyError("give AX a url or an engine, not both")
        if isinstance(imports, str) or not all(isinstance(name, str) and name for name in imports):
            raise PolicyError(f"imports={imports!r} must be a list of module names")
        self._core = Core(url, engine, Settings.of(settings), clock, queue, imports)
        self._ns = "default"
        self._extensions: dict[Callable[[AX], Any], Any] = {}

    def _through(self, tool: Tool[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = inspect.signature(tool.fn).bind(*args, **kwargs)
        payload: dict[str, Any] = {}
        for name, value in given.arguments.items():
            kind = given.signature.parameters[name].kind
            payload |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        return self.acall(tool.name, payload) if tool.is_async else self.call(tool.name, payload)

    def run(
        self,
        session: str | None = None,
        intent: str | None = None,
        key: str | None = None,
        on_busy: str = "refuse",
        budget: Budget | None = None,
        wait: float | None = None,
    ) -> RunBlock:
        """Open a run for the calls inside the block, or enter the one of the same ``key`` again.

        Args:
            session: one chain at a time per session.
            on_busy: ``"refuse"`` at once, ``"wait"`` (at most ``wait`` seconds), or ``"supersede"`` the other chain.
            budget: default 50 tasks.

        Raises (on entering):
            SessionBusy: another chain holds the session.
            TaskCancelled, TaskDead: the run of that key has ended for good.
        """
        return RunBlock(
            self._core,
            self._ns,
            session=session,
            intent=intent,
            key=key,
            on_busy=on_busy,
            budget=budget,
            wait=wait,
        )

    @contextmanager
    def override(
        self,
        *,
        request_id: str | None = None,
        key: str | None = None,
        dedupe: str | None = None,
        repeat: str | None = None,
        timeout: float | None = None,
    ) -> Iterator[None]:
        """Say for the calls in the block what a framework's call cannot carry."""
        token = current_override.set(Override(request_id, key, dedupe, repeat, timeout))
        try:
            yield
        finally:
            current_override.reset(token)

    def on(self, *names: str, everywhere: bool = False) -> Callable[[Handler], Handler]:
        """Register the decorated function for events; it gets an :class:`ax_core.hooks.Event`.

        Args:
            everywhere: also for those of other processes (needs ``queue=``). Each process that registers one hears
                each event, at least once while it is connected: a hint to look, as everything that a queue carries.

        Raises:
            ValueError: no such event.
        """
        if everywhere and self._core.queue is None:
            raise PolicyError(
                "what happens in other processes is heard through a queue, and this AX has none"
            )
        return self._core.hooks.on(*names, everywhere=everywhere)

    def extension(self, kind: Callable[[AX], T]) -> T:
        """The one object of a kind that lives with this AX: where an adapter keeps what it must remember.

        Args:
            kind: makes it when it is first asked for; its name in this AX, too.
        """
        found: T | None = self._extensions.get(kind)
        # Of two threads that ask first, both get what the first of them kept.
        return self._extensions.setdefault(kind, kind(self)) if found is None else found

    def for_namespace(self, ns: str) -> AX:
        """The same store for another tenant, who sees nothing of this one. Tools are shared."""
        if not isinstance(ns, str) or not ns or len(ns) > 64 or not ns.isprintable():
            raise PolicyError("a namespace is 1 to 64 printable characters")
        other = AX.__new__(AX)
        other._core, other._ns, other._extensions = self._core, ns, {}
        for tool in self._core.registry:
            self._core.publish(ns, tool)
        return other

    @property
    def namespace(self) -> str:
        """Whose calls these are."""
        return self._ns

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self._core.settings

    # -- life ------------------------------------------------------------------------------------------------

    def serve(self, concurrency: int = 4) -> Serving:
        """Run stored tasks that are ready and whose tool is registered here, until the block or the process ends."""
        from .serve import Serving

        return Serving(self, self._core, self._ns, concurrency)

    def testing(self, clock: Clock | None = None) -> Any:
        """A block with a fresh store in memory and a clock of the test's own; see :mod:`ax_core.testing`."""
        from importlib import import_module

        return import_module("ax_core.testing").Testing(self, self._core, clock)

    def close(self, drain: float = 5.0) -> None:
        """Wait up to ``drain`` seconds for what runs here, then close."""
        self._core.close(drain)

    async def aclose(self, drain: float = 5.0) -> None:
        """:meth:`close` without blocking the event loop."""
        import asyncio

        await asyncio.to_thread(self._core.close, drain)

    def __enter__(self) -> AX:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> AX:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __reduce__(self) -> Any:
        # By its address: whoever unpickles it opens the same store. Frameworks copy tools this way.
        core = self._core
        if core.engine is not None or core.url == "sqlite://":
            raise TypeError(
                "an AX in memory, or on an engine of yours, cannot be pickled: give it a URL of a file"
            )
        return _at, (core.url, self._ns, core.settings, core.queue, core.imports)

    def __repr__(self) -> str:
        from ..store.opening import default_url, shown

        return f"<AX {shown(self._core.url or default_url())} {self._ns!r}>"


def _at(
    url: str | None, ns: str, settings: Settings, queue: str | None = None, imports: Collection[str] = ()
) -> AX:
    made = AX(url, queue=queue, imports=imports)
    made._core.settings = settings
    return made if ns == made.namespace else made.for_namespace(ns)
