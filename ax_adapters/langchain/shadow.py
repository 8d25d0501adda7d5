"""The seam: a cached dynamic subclass of the tool's own class that shares the tool's state.

It learns the tool call id and the config in ``run``/``arun`` and dispatches in ``_run``/``_arun``; validation,
callbacks and formatting stay the framework's. To the framework it is the tool itself.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any, TypeVar

from langchain_core.tools import BaseTool

from ax_core import AXError

from ..bridge import Binding, Shadows, is_entered, refusals
from .arguments import refused_by_framework, unknown_arguments
from .direct import flag, withhold
from .dispatching import adispatch, aput_on_record, arefuse, dispatch, put_on_record, refuse
from .pending import MARK, Pending, current_pending, learn, noted, refusal

F = TypeVar("F", bound=Callable[..., Any])


def shadow_class(base: type[BaseTool], binding: Binding) -> type[BaseTool]:
    """The subclass of ``base`` for a binding; made once for both."""
    return binding.ax.extension(Shadows).of(base, binding, _make)


def shadow(tool: BaseTool, binding: Binding) -> BaseTool:
    """A wrapped twin of ``tool``: attribute writes on either are seen by both."""
    cls = shadow_class(type(tool), binding)
    twin = cls.__new__(cls)
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__"):
        object.__setattr__(twin, slot, getattr(tool, slot))
    return twin


def _make(base: type[BaseTool], binding: Binding) -> type[BaseTool]:
    @functools.wraps(base.run)
    def run(
        self: Any, tool_input: Any, *args: Any, config: Any = None, tool_call_id: str | None = None, **kw: Any
    ) -> Any:
        pending = learn(self, tool_input, tool_call_id, config)
        token = current_pending.set(pending)
        try:
            if (problem := unknown_arguments(binding, pending)) is not None:
                refuse(binding, pending, problem)
            result = base.run(self, tool_input, *args, config=config, tool_call_id=tool_call_id, **kw)
        except Exception as error:
            if (told := _told(binding, pending, error)) is not None:
                return told
            raise
        finally:
            current_pending.reset(token)
            if pending.misfit is not None:
                put_on_record(binding, pending, pending.misfit)
        return noted(result, pending.note)

    @functools.wraps(base.arun)
    async def arun(
        self: Any, tool_input: Any, *args: Any, config: Any = None, tool_call_id: str | None = None, **kw: Any
    ) -> Any:
        pending = learn(self, tool_input, tool_call_id, config)
        token = current_pending.set(pending)
        try:
            if (problem := unknown_arguments(binding, pending)) is not None:
                await arefuse(binding, pending, problem)
            result = await base.arun(self, tool_input, *args, config=config, tool_call_id=tool_call_id, **kw)
        except Exception as error:
            if (told := _told(binding, pending, error)) is not None:
                return told
            raise
        finally:
            current_pending.reset(token)
            if pending.misfit is not None:
                await aput_on_record(binding, pending, pending.misfit)
        return noted(result, pending.note)

    @functools.wraps(base._to_args_and_kwargs)
    def _to_args_and_kwargs(self: Any, *args: Any, **kw: Any) -> Any:
        try:
            return base._to_args_and_kwargs(self, *args, **kw)
        except Exception as error:  # the framework may answer it without raising, by handle_validation_error
            pending = current_pending.get()
            if pending is not None and pending.tool is self:
                pending.misfit = refused_by_framework(pending, error)
            raise

    @_standing_for(base._run)
    def _run(self: Any, /, *args: Any, **kw: Any) -> Any:
        if is_entered(self):
            return base._run(self, *args, **kw)
        return dispatch(binding, self, base, args, kw)

    members: dict[str, Any] = {
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "__doc__": base.__doc__,
        "__annotations__": {},
        MARK: binding,
        "run": run,
        "arun": arun,
        "_to_args_and_kwargs": _to_args_and_kwargs,
        "_run": _run,
        "__reduce_ex__": _reducer(base, binding),
    }
    if base._arun is not BaseTool._arun:  # else BaseTool._arun comes through _run, on a thread

        @_standing_for(base._arun)
        async def _arun(self: Any, /, *args: Any, **kw: Any) -> Any:
            if is_entered(self):
                return await base._arun(self, *args, **kw)
            return await adispatch(binding, self, base, args, kw)

        members["_arun"] = _arun
    metaclass: Any = type(base)
    made: type[BaseTool] = metaclass(base.__name__, (base,), members)
    made.return_direct = flag()  # type: ignore[assignment]  # a field cannot be overridden in the class body
    return made


def _standing_for(body: Callable[..., Any]) -> Callable[[F], F]:
    """Give a method the signature of the body it stands for, and its annotations as types.

    The framework reads both anew at every call; a bare tool's are evaluated from their text each time.
    """

    def dressed(method: F) -> F:
        functools.update_wrapper(method, body)
        try:
            method.__annotations__ = typing.get_type_hints(body, include_extras=True)
        except Exception:  # names that only a type checker knows; the framework copes with the texts
            pass
        method.__signature__ = inspect.signature(body)  # type: ignore[attr-defined]
        return method

    return dressed


def _told(binding: Binding, pending: Pending, error: Exception) -> Any:
    """The verdict as an answer to the model; None: the exception is not AX's, or must be raised."""
    if not isinstance(error, AXError) or error is not pending.verdict:
        return None
    step = pending.config.get("metadata", {}).get("langgraph_step")
    if refusals.must_raise(error, pending.run_id or "", step, binding.on_refusal):
        return None
    withhold(pending.config, pending.tool.name)
    return refusal(error, pending)


def _reducer(base: type[BaseTool], binding: Binding) -> Any:
    def reduce(self: Any, protocol: Any) -> Any:
        plain = object.__new__(base)
        BaseTool.__setstate__(plain, BaseTool.__getstate__(self))
        return _again, (plain, binding)

    return reduce


def _again(plain: BaseTool, binding: Binding) -> BaseTool:
    return shadow(plain, binding)
