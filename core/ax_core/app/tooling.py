"""Registering tools."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, get_type_hints, overload

from ..dispatch import current
from ..dispatch.post import for_workers, made_in, stays_here
from ..errors import PolicyError
from ..policy import DEFAULT_TIMEOUT, Effect, Policy
from ..registry import Registry, Tool
from .rollback import undo_tool

if TYPE_CHECKING:
    from ..codec import TypeCodec
    from ..registry.signature import Binder
    from .core import Core

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class Tooling:
    """The tools of an AX."""

    _core: Core
    _ns: str
    _through: Callable[..., Any]

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
            aliases: beside those of the policy.

        Raises:
            PolicyError: an invalid policy, signature or schema, or the name is taken by another.
        """
        from ..registry.signature import SignatureError, bind, description_of, schema_of

        made = Policy.of(policy)
        if aliases:
            made = replace(made, aliases=tuple(dict.fromkeys((*made.aliases, *aliases))))
        is_async = _is_async(fn)
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
        if tool.policy.where not in (None, "here") and self._core.queue is None:
            raise PolicyError(
                f"tool {tool.name!r}: where={tool.policy.where!r} needs workers, "
                "and this AX has no queue= to reach them by"
            )
        if tool.policy.where not in (None, "here") and tool.given:
            raise PolicyError(
                f"tool {tool.name!r}: where='worker', but only the process that calls it has what its framework gives "
                f"it as {', '.join(tool.given)}; leave where= out, or make a tool of what needs its arguments only"
            )
        undo = undo_tool(self._core, self._ns, tool)
        for each in (tool, undo):
            if each is not None:
                self._check_kept(each)
        self._core.registry.add(tool)
        self._core.publish(self._ns, tool)
        if undo is not None:
            self._core.registry.add(undo)
            self._core.publish(self._ns, undo)
        if tool.given and self._core.queue is not None and made_in(tool, self._core.imports):
            self.warn_once(stays_here(tool))
        if (texts := tool.doubtful_arguments) and tool.effect is Effect.UNSAFE:
            self.warn_once(
                f"tool {tool.name!r} is UNSAFE with free text in {', '.join(texts)} and no business key: the same "
                f"intent worded otherwise is another call; name the arguments that tell intents apart with key=(…)"
            )
        return tool

    def _check_kept(self, tool: Tool[..., Any]) -> None:
        # Fail closed: a limit that nothing would enforce must not be believed.
        core, field = self._core, tool.policy.kept_by_workers
        if field is None:
            return
        what = f"tool {tool.name!r}: {field}= is enforced by workers only: it needs workers (`axd worker`)"
        if core.queue is None:
            raise PolicyError(f"{what}, and this AX has no queue= to reach them by")
        if core.queue.startswith("celery:"):
            raise PolicyError(f"{what}, and this queue's are Celery's, which has limits of its own")
        if not for_workers(tool, core.imports):
            raise PolicyError(f"{what}, and this tool runs in the process that calls it")
        if tool.is_async and tool.policy.isolation == "process":
            raise PolicyError(
                f"tool {tool.name!r}: isolation='process' is for plain functions; an async one is cut off by its loop"
            )

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

    def warn_once(self, what: str) -> None:
        """Log a warning, once per process."""
        self._core.hooks.log_once(what)

    @property
    def tools(self) -> Registry:
        """The registered tools."""
        return self._core.registry


def _is_async(fn: Callable[..., Any]) -> bool:
    # A callable object is async where its class's __call__ is.
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__)


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
