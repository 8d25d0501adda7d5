"""AX: what users hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_type_hints, overload

from ..clock import Clock
from ..dispatch import (
    Answer,
    Call,
    Override,
    Runner,
    Seat,
    acarry_out,
    bound,
    calling,
    carry_out,
    current,
    current_override,
    current_task,
    following,
    placed,
    prepare,
)
from ..dispatch.submit import dispatch_detached, submitting
from ..errors import PolicyError, UnknownTask
from ..hooks import Handler
from ..model import Budget, TaskHandle
from ..policy import DEFAULT_TIMEOUT, Effect, Policy
from ..registry import Registry, Tool
from ..settings import Settings
from ..states import State
from ..store import tasks
from .core import Core
from .rollback import undo_tool
from .runs import RunBlock
from .verbs import Verbs

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from ..codec import TypeCodec
    from ..registry.signature import Binder

    from .serve import Serving

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class AX(Verbs):
    """The controlled execution layer: every call through it is recorded before it acts.

    Nothing is opened before the first use: no file, no thread, no connection.

    Args:
        url: where the truth is kept: an SQLAlchemy URL. Default ``AX_URL``, else ``sqlite:///ax.db``;
            ``sqlite://`` is in memory.
        engine: share this SQLAlchemy engine instead (a SQLite file).
        settings: see :class:`ax_core.settings.Settings`; also as ``AX_…`` variables.

    Raises:
        PolicyError: an unknown setting.
    """

    def __init__(
        self, url: str | None = None, *, engine: Engine | None = None, clock: Clock | None = None, **settings: Any
    ) -> None:
        if url is not None and engine is not None:
            raise PolicyError("give AX a url or an engine, not both")
        self._core = Core(url, engine, Settings.of(settings), clock)
        self._ns = "default"

    # -- tools -----------------------------------------------------------------------------------------------

    @overload
    def tool(self, fn: Callable[P, R], /) -> Tool[P, R]: ...
    @overload
    def tool(self, fn: None = None, /, **policy: Any) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
    def tool(self, fn: Callable[P, R] | None = None, /, **policy: Any) -> Any:
        """Register a function as a tool; calling the result goes through AX.

        Args:
            policy: ``policy=``, or the fields of :class:`Policy` themselves; also ``name=``, ``description=``,
                ``schema=``, ``aliases=``. The timeout is 30 s unless given.

        Raises:
            PolicyError: an invalid policy, signature or schema, or the name is taken.
        """
        if fn is not None:
            return self.register(fn, policy=Policy(timeout=DEFAULT_TIMEOUT))
        named = {k: policy.pop(k) for k in ("name", "description", "schema", "aliases") if k in policy}
        given = policy.pop("policy", None)
        if given is not None and policy:
            raise PolicyError("give policy= or its fields, not both")
        made = Policy.of(given if given is not None else policy, timeout=DEFAULT_TIMEOUT)
        return lambda fn: self.register(fn, policy=made, **named)

    def register(
        self,
        fn: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        schema: dict[str, Any] | None = None,
        policy: Policy | Effect | str | Mapping[str, Any] | None = None,
        aliases: tuple[str, ...] = (),
    ) -> Tool[P, R]:
        """Register a function as a tool.

        Args:
            schema: JSON Schema of its arguments; default from the signature.

        Raises:
            PolicyError: an invalid policy, signature or schema, or the name is taken by another.
        """
        from ..registry.signature import SignatureError, bind, description_of, schema_of

        made = Policy.of(policy)
        is_async = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(fn, "__call__", None))
        title: str = name or getattr(fn, "__name__", None) or type(fn).__name__
        if made.effect is Effect.TRANSACTIONAL and is_async:
            raise PolicyError(f"tool {title!r}: a TRANSACTIONAL tool must be a plain function, not async")
        try:
            binder = _with_context(bind(fn)) if schema is None else dict
            tool: Tool[P, R] = Tool(
                name=title,
                description=description if description is not None else description_of(fn),
                schema=schema if schema is not None else schema_of(fn),
                policy=made,
                fn=fn,
                is_async=is_async,
                binder=binder,
                aliases=aliases,
                through=self._through,
            )
            _ = tool.gate  # an invalid schema is told now, not at the first call
        except (SignatureError, ValueError) as error:
            raise PolicyError(f"tool {title!r}: {error}") from error
        self._core.codec.allow_annotation(_returns(fn))
        return self.add(tool)

    def add(self, tool: Tool[P, R]) -> Tool[P, R]:
        """Register a ready-made tool (adapters do).

        Raises:
            PolicyError: the name is taken by another.
        """
        self._core.registry.add(tool)
        self._core.publish(self._ns, tool)
        if (undo := undo_tool(self._core, self._ns, tool)) is not None:
            self._core.registry.add(undo)
            self._core.publish(self._ns, undo)
        if (texts := tool.doubtful_arguments) and tool.effect is Effect.UNSAFE:
            self.warn_once(
                f"tool {tool.name!r} is UNSAFE with free text in {', '.join(texts)} and no business key: the same intent "
                f"worded otherwise is another call; name the arguments that tell intents apart with key=(…)"
            )
        return tool

    def allow(self, cls: C) -> C:
        """Let results hold instances of a class: an Enum, dataclass, NamedTuple or pydantic model; also a decorator.

        What a registered tool's return annotation names is allowed already.

        Raises:
            TypeError: another kind of class.
        """
        return self._core.codec.allow(cls)

    def allow_type(self, codec: TypeCodec) -> None:
        """Let results hold a type that needs a codec of its own."""
        self._core.codec.register(codec)

    @property
    def tools(self) -> Registry:
        """The registered tools."""
        return self._core.registry

    def _through(self, tool: Tool[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = inspect.signature(tool.fn).bind(*args, **kwargs)
        payload: dict[str, Any] = {}
        for name, value in given.arguments.items():
            kind = given.signature.parameters[name].kind
            payload |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
        return self.acall(tool.name, payload) if tool.is_async else self.call(tool.name, payload)

    # -- calls -----------------------------------------------------------------------------------------------

    def call(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> Any:
        """Submit and wait, on this thread; returns the tool's plain value.

        Args:
            request_id: names this decision: the same id again is answered from the record.
            timeout: seconds for the tool's body; cuts the policy's. Zero is no time at all.
            dedupe: another scope than the policy's; ``key``: an idempotency key of the caller's own.
            repeat: a reason why this is meant to happen again; it is audited, and nothing is merged.

        Raises:
            ToolFailed: the tool's answer is no; its ``__cause__`` is the tool's exception.
            AXError: a verdict; see :mod:`ax_core.errors`.
        """
        return self.dispatch(self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat)).get()

    async def acall(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> Any:
        """:meth:`call` on an event loop; an async tool runs on it, a sync one on a thread."""
        answer = await self.adispatch(self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat))
        return answer.get()

    def dispatch(self, call: Call, passes: tuple[type[BaseException], ...] = ()) -> Answer:
        """Carry a call out (adapters build their own).

        Raises:
            AXError: a verdict; the tool's own failure is in the answer.
        """
        wiring = self._core.wiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        return carry_out(calling(sub, wiring, self._core.settings.wait, passes), wiring)

    async def adispatch(self, call: Call, passes: tuple[type[BaseException], ...] = ()) -> Answer:
        """:meth:`dispatch` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        return await acarry_out(calling(sub, wiring, self._core.settings.wait, passes), wiring)

    def submit(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> TaskHandle:
        """Record a call and return at once; it runs on a thread of this process.

        Raises:
            AXError: it was refused.
        """
        call = self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat, origin="submit")
        wiring = self._core.wiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        seat: Seat = carry_out(submitting(sub, wiring), wiring)
        return dispatch_detached(seat, sub, wiring, self._core.settings.wait)

    async def asubmit(
        self,
        tool_name: str,
        payload: Any = None,
        *,
        request_id: str | None = None,
        timeout: float | None = None,
        dedupe: str | None = None,
        key: str | None = None,
        repeat: str | None = None,
    ) -> TaskHandle:
        """:meth:`submit` on an event loop."""
        call = self._call(tool_name, payload, request_id, timeout, dedupe, key, repeat, origin="submit")
        wiring = await self._core.awiring(self._ns)
        sub = prepare(placed(_outside_transaction(call)), wiring)
        seat: Seat = await acarry_out(submitting(sub, wiring), wiring)
        return dispatch_detached(seat, sub, wiring, self._core.settings.wait)

    def wait_for_result(self, task_id: str, timeout: float | None = None) -> Any:
        """The plain value of a submitted task; runs it here if nobody does and its tool is registered.

        Raises:
            StillRunning: only the wait ran out.
            AXError, ToolFailed: as :meth:`call`.
        """
        wiring = self._core.wiring(self._ns)
        row = wiring.db.read(lambda tx: tasks.get(tx, task_id))
        return carry_out(self._waiting(row, task_id, timeout), wiring).get()

    async def await_result(self, task_id: str, timeout: float | None = None) -> Any:
        """:meth:`wait_for_result` on an event loop."""
        wiring = await self._core.awiring(self._ns)
        row = await wiring.db.aread(lambda tx: tasks.get(tx, task_id))
        return (await acarry_out(self._waiting(row, task_id, timeout), wiring)).get()

    def _waiting(self, row: Any, task_id: str, timeout: float | None) -> Any:
        if row is None or row.ns != self._ns:
            raise UnknownTask(f"no task {task_id}", task_id=task_id)
        wiring = self._core.wiring(self._ns)
        tool = self._core.registry.find(row.tool)
        runner = None
        if tool is not None and not tool.validated_elsewhere:
            limit = None if tool.policy.timeout is None else int(tool.policy.timeout * 1e6)
            runner = Runner(tool, bound(tool), limit)
        patience = self._core.settings.wait if timeout is None else max(0.0, timeout)
        how = "replayed" if State(row.state) is State.SUCCESS else "attached"
        return following(Seat(row, how=how), runner, wiring, patience, for_people=timeout is not None)

    def _call(
        self,
        tool_name: str,
        payload: Any,
        request_id: str | None,
        timeout: float | None,
        dedupe: str | None,
        key: str | None,
        repeat: str | None,
        origin: str = "call",
    ) -> Call:
        return Call(
            self._core.registry.get(tool_name),
            {} if payload is None else payload,
            request_id=request_id,
            timeout=timeout,
            dedupe=dedupe,
            key=key,
            repeat=repeat,
            origin=origin,
        )

    # -- runs and surroundings -------------------------------------------------------------------------------

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
            self._core, self._ns, session=session, intent=intent, key=key, on_busy=on_busy, budget=budget, wait=wait
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

    def on(self, *names: str) -> Callable[[Handler], Handler]:
        """Register the decorated function for events; it gets an :class:`ax_core.hooks.Event`.

        Raises:
            ValueError: no such event.
        """
        return self._core.hooks.on(*names)

    def warn_once(self, what: str) -> None:
        """Log a warning, once per process."""
        self._core.hooks.log_once(what)

    def for_namespace(self, ns: str) -> AX:
        """The same store for another tenant, who sees nothing of this one. Tools are shared."""
        if not isinstance(ns, str) or not ns or len(ns) > 64 or not ns.isprintable():
            raise PolicyError("a namespace is 1 to 64 printable characters")
        other = AX.__new__(AX)
        other._core, other._ns = self._core, ns
        for tool in self._core.registry:
            self._core.publish(ns, tool)
        return other

    @property
    def namespace(self) -> str:
        """Whose calls these are."""
        return self._ns

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
            raise TypeError("an AX in memory, or on an engine of yours, cannot be pickled: give it a URL of a file")
        return _at, (core.url, self._ns, core.settings)

    def __repr__(self) -> str:
        from ..store.database import default_url

        return f"<AX {self._core.url or default_url()} {self._ns!r}>"


def _at(url: str | None, ns: str, settings: Settings) -> AX:
    made = AX(url)
    made._core.settings = settings
    return made if ns == made.namespace else made.for_namespace(ns)


def _returns(fn: Callable[..., Any]) -> Any:
    """What a function says it returns; None where it does not, or its names cannot be found."""
    try:
        return get_type_hints(fn).get("return")
    except (NameError, TypeError):
        return None


def _with_context(binder: Binder) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The binder, and the task's context for a function that asks for it by a parameter."""
    name = binder.context
    if name is None:
        return binder
    return lambda args: {**binder(args), name: current()}


def _outside_transaction(call: Call) -> Call:
    inside = current_task.get()
    if inside is not None and inside.in_transaction:
        raise PolicyError(
            f"tool {call.tool.name!r} was called inside a TRANSACTIONAL body: its write lock is held, so nothing else "
            "can be recorded; call it before or after"
        )
    return call


