"""What lives as long as a worker: connections, clients, models, made once per process and closed at its end."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import Any

from ..app import AX
from ..errors import PolicyError

Lifespan = Callable[[AX], AbstractContextManager[Any] | AbstractAsyncContextManager[Any]]
OnLoop = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine on the worker's event loop, where its async tools run, and waits for it."""


@contextmanager
def living(lifespan: Lifespan | None, ax: AX, on_loop: OnLoop) -> Iterator[Mapping[str, Any]]:
    """The resources that a lifespan yields (a mapping, or None), for as long as the block lasts.

    Raises:
        PolicyError: it is no context manager, or yields something else.
    """
    if lifespan is None:
        yield {}
        return
    made = lifespan(ax) if callable(lifespan) else None
    if isinstance(made, AbstractAsyncContextManager):
        with _on_loop(made, on_loop) as resources:
            yield _checked(lifespan, resources)
    elif isinstance(made, AbstractContextManager):
        with made as resources:
            yield _checked(lifespan, resources)
    else:
        if inspect.iscoroutine(made):
            made.close()
        raise PolicyError(f"lifespan {_name(lifespan)} must be a function that makes a context manager")


@contextmanager
def _on_loop(made: AbstractAsyncContextManager[Any], on_loop: OnLoop) -> Iterator[Any]:
    async def enter() -> Any:
        return await made.__aenter__()

    async def leave(*error: Any) -> Any:
        return await made.__aexit__(*error)

    resources = on_loop(enter())
    try:
        yield resources
    except BaseException as error:
        if not on_loop(leave(type(error), error, error.__traceback__)):
            raise
    else:
        on_loop(leave(None, None, None))


def _checked(lifespan: Lifespan, resources: Any) -> Mapping[str, Any]:
    if resources is None:
        return {}
    if not isinstance(resources, Mapping):
        raise PolicyError(
            f"lifespan {_name(lifespan)} must yield a mapping of names to resources, not {type(resources).__name__}"
        )
    return resources


def _name(lifespan: Any) -> str:
    return str(getattr(lifespan, "__qualname__", repr(lifespan)))
