"""The seam: a cached dynamic subclass of the tool's own class that shares the tool's state.

It dispatches in ``call`` and ``acall``, in ``__call__`` where a tool has nothing else. To the framework it is the tool.
"""

from __future__ import annotations

import copy
import functools
import inspect
from typing import Any

from llama_index.core.tools import AsyncBaseTool, BaseTool

from ..bridge import Binding, Shadows, is_entered
from .codeact import real_fn
from .dispatching import adispatch, dispatch
from .pending import MARK, learn
from .place import lay_down
from .step import current_step


def shadow_class(base: type[BaseTool], binding: Binding) -> type[BaseTool]:
    """The subclass of ``base`` for a binding; made once for both."""
    return binding.ax.extension(Shadows).of(base, binding, _make)


def shadow(tool: BaseTool, binding: Binding) -> BaseTool:
    """A wrapped twin of ``tool``: attribute writes on either are seen by both."""
    cls = shadow_class(type(tool), binding)
    twin = object.__new__(cls)
    object.__setattr__(twin, "__dict__", tool.__dict__)
    return twin


def _make(base: type[BaseTool], binding: Binding) -> type[BaseTool]:
    members: dict[str, Any] = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        MARK: binding,
        "__reduce_ex__": _reducer(base, binding),
        "__deepcopy__": lambda self, memo: shadow(copy.deepcopy(_plain(self, base), memo), binding),
    }
    if issubclass(base, AsyncBaseTool):
        members["call"] = _sync(base, binding, "call")
        members["acall"] = _async(base, binding)
    else:
        members["__call__"] = _sync(base, binding, "__call__")
    if isinstance(inspect.getattr_static(base, "metadata", None), property):
        members["metadata"] = _metadata(base)
    if isinstance(inspect.getattr_static(base, "real_fn", None), property):
        members["real_fn"] = real_fn(base)
    metaclass: Any = type(base)
    made: type[BaseTool] = metaclass(base.__name__, (base,), members)
    return made


def _sync(base: Any, binding: Binding, door: str) -> Any:
    bare = getattr(base, door)

    @functools.wraps(bare)
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_entered(self):
            return bare(self, *args, **kwargs)
        return dispatch(binding, learn(self, args, kwargs), base, door)

    return method


def _async(base: Any, binding: Binding) -> Any:
    bare = base.acall

    @functools.wraps(bare)
    async def acall(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_entered(self):
            return await bare(self, *args, **kwargs)
        return await adispatch(binding, learn(self, args, kwargs), base)

    return acall


def _metadata(base: Any) -> property:
    """The tool's metadata; an agent reads it before its model decides, so its conversation gets a name in time."""
    bare: property = inspect.getattr_static(base, "metadata")

    def read(self: Any) -> Any:
        step = current_step()
        if step is not None and not step.begins:
            try:
                lay_down(step)
            except RuntimeError:  # on a thread: the call itself will see to it
                pass
        return bare.__get__(self, type(self))

    return property(read, bare.fset, bare.fdel, bare.__doc__)


def _plain(tool: Any, base: type) -> Any:
    plain: Any = object.__new__(base)
    plain.__dict__.update(tool.__dict__)
    return plain


def _reducer(base: type, binding: Binding) -> Any:
    return lambda self, protocol: (shadow, (_plain(self, base), binding))
