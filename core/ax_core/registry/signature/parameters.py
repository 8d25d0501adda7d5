"""The parameters of a callable that a model may fill."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, get_args

from ax_core.registry.signature.annotations import field_info, metadata
from ax_core.registry.signature.error import SignatureError

EMPTY = inspect.Parameter.empty
_UNSEEN_CONTEXT = object()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `fill` makes the value of one with a `Field` default, which Python would not fill in."""

    name: str
    annotation: Any
    default: Any = EMPTY
    fill: Callable[[], Any] | None = None


@dataclass(frozen=True, slots=True)
class Parameters:
    """Those a model may fill, whether any other name is taken too, and which one wants the Context."""

    function: str
    visible: tuple[Parameter, ...]
    any_name: bool
    context: str | None


def parameters_of(fn: Callable[..., Any], hidden: Collection[str] = ()) -> Parameters:
    """The parameters of a callable, without those in `hidden` and those a partial binds by name.

    Raises SignatureError for `*args`, for positional-only ones and for annotations that cannot be resolved.
    """
    name = name_of(fn)
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError, NameError) as error:
        raise SignatureError(name, None, f"has no signature to read ({error}): wrap it in a def") from error
    hidden = {*hidden, *_bound_by_name(fn)}
    visible: list[Parameter] = []
    any_name, context = False, None
    for p in signature.parameters.values():
        if p.kind is p.VAR_KEYWORD:
            any_name = True
        elif p.name in hidden:
            continue
        elif p.kind is p.VAR_POSITIONAL:
            raise SignatureError(name, p.name, "is *args, which a model cannot name: take a list instead")
        elif p.kind is p.POSITIONAL_ONLY:
            raise SignatureError(name, p.name, "is positional-only: remove the / from the signature")
        elif _is_context(annotation := _resolved(fn, name, p)):
            context = p.name
        else:
            visible.append(_parameter(p, annotation))
    return Parameters(name, tuple(visible), any_name, context)


def name_of(fn: Any) -> str:
    """What to call a function, partial, method or callable object in a message."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", None) or type(fn).__name__


def _parameter(p: inspect.Parameter, annotation: Any) -> Parameter:
    info = field_info(p.default)
    if info is not None:  # `x: int = Field(...)`
        annotation = Annotated[annotation, info]
    elif p.default is not EMPTY:
        return Parameter(p.name, annotation, p.default)
    else:
        info = next(filter(None, map(field_info, metadata(annotation))), None)
    if info is None or info.is_required():
        return Parameter(p.name, annotation)
    default = EMPTY if info.default_factory is not None else info.default
    fill = functools.partial(info.get_default, call_default_factory=True)
    return Parameter(p.name, annotation, default, fill)


def _is_context(annotation: Any) -> bool:
    options = (annotation, *get_args(annotation))
    return annotation is _UNSEEN_CONTEXT or any(
        isinstance(option, type)
        and option.__name__ == "Context"
        and option.__module__.partition(".")[0] == "ax_core"
        for option in options
    )


def _resolved(fn: Any, name: str, p: inspect.Parameter) -> Any:
    if p.annotation is EMPTY:
        return Any

    def holder() -> None: ...

    holder.__annotations__ = {p.name: p.annotation}
    space = _globals(fn)
    try:
        return typing.get_type_hints(holder, globalns=space, localns=space, include_extras=True)[p.name]
    except Exception as error:  # a name, an attribute, a syntax: whatever evaluating text can raise
        text = str(p.annotation)
        # the one annotation that is often imported for type checkers only
        if p.name == "ctx" and text.strip("'\"").partition(" ")[0].rpartition(".")[2] == "Context":
            return _UNSEEN_CONTEXT
        hint = f"has the annotation {text!r}, which cannot be resolved ({error}): "
        hint += "define or import it at module level, outside `if TYPE_CHECKING`, or hide the parameter"
        raise SignatureError(name, p.name, hint) from error


def _globals(fn: Any) -> dict[str, Any]:
    """Where the names in the annotations of a callable are looked up."""
    while not isinstance(fn, types.FunctionType) or hasattr(fn, "__wrapped__"):
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif isinstance(fn, type):
            fn = inspect.getattr_static(fn, "__init__")
        elif isinstance(call := inspect.getattr_static(type(fn), "__call__", None), types.FunctionType):
            fn = call
        else:
            return {}
    return fn.__globals__


def _bound_by_name(fn: Any) -> Iterator[str]:
    while isinstance(fn, functools.partial):
        yield from fn.keywords
        fn = fn.func
