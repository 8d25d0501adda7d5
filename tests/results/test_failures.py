"""What a tool raises: its caller gets that very exception, the record says what it was, and reading it never fails."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from ax_core import AX, State, ToolFailed

Restart = Callable[[], AX]


class Coded(Exception):
    """Takes more than it keeps."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Keywords(Exception):
    def __init__(self, *, reason: str) -> None:
        super().__init__(f"because {reason}")


class HTTPFailure(Exception):
    """Holds a live response."""

    def __init__(self, response: Any) -> None:
        super().__init__("503 Service Unavailable")
        self.response = response


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")

    __repr__ = __str__


class Forgetful(Exception):
    @property
    def args(self) -> Any:  # type: ignore[override]
        raise RuntimeError("no args")


def cycle() -> BaseException:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    return first


def chained() -> BaseException:
    try:
        try:
            raise OSError(28, "No space left on device", "/data/x")
        except OSError as inner:
            raise Coded("could not save", 507) from inner
    except Coded as outer:
        return outer


ERRORS: dict[str, Callable[[], BaseException]] = {
    "a plain one": lambda: ValueError("no such order"),
    "more constructor arguments": lambda: Coded("refused", 42),
    "keyword arguments only": lambda: Keywords(reason="it rains"),
    "a live response": lambda: HTTPFailure(open(__file__)),  # noqa: SIM115
    "no message to be had": Mute,
    "no arguments to be had": lambda: Forgetful("gone"),
    "a cycle of causes": cycle,
    "a chain of causes": chained,
    "a group": lambda: ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])]),
    "a unicode error": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    "a file error": lambda: FileNotFoundError(2, "No such file", "/nowhere"),
    "an empty one": Exception,
    "odd characters": lambda: ValueError("nul \x00 surrogate \ud800 emoji 🙂"),
    "a very long message": lambda: ValueError("x" * 1_000_000),
    "a timeout of its own": lambda: TimeoutError("downstream"),
    "a stop iteration": lambda: StopIteration(3),
    "a cancelled error": lambda: asyncio.CancelledError("of its own accord"),
}


@pytest.mark.parametrize("form", ["here", "limited", "soon"])
@pytest.mark.parametrize("name", ERRORS)
def test_the_caller_gets_the_very_exception_and_the_record_can_be_read(
    restart: Restart, caplog: pytest.LogCaptureFixture, name: str, form: str
) -> None:
    error = ERRORS[name]()

    def plain() -> None:
        raise error

    async def soon() -> None:
        raise error

    if form == "soon" and name == "a stop iteration":
        pytest.skip("Python itself makes a RuntimeError of it inside a coroutine")
    caplog.set_level(logging.WARNING, "ax")
    ax = restart()
    limit = None if form == "here" else 20
    ax.register(soon if form == "soon" else plain, name="fail", policy={"effect": "unsafe", "timeout": limit})
    with pytest.raises(ToolFailed) as failed:
        ax.call("fail", request_id="r")
    if not (form == "soon" and name == "a cancelled error"):  # asyncio makes a fresh one
        assert failed.value.__cause__ is error
    assert type(error).__name__ in str(failed.value)
    assert len(failed.value.for_model) < 5000
    assert failed.value.maybe_applied
    ax = restart()
    task = ax.find_request("r")
    assert task is not None
    assert task.state is State.FAILED
    assert task.error is not None
    assert task.error["type"].endswith(type(error).__name__)
    assert len(json.dumps(task.error)) < 70_000
    assert [listed.id for listed in ax.tasks().tasks] == [task.id]
    ax.inbox()
    assert ax.verify(task.id) is None
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("name", ERRORS)
def test_a_later_caller_gets_one_that_says_the_same(restart: Restart, name: str) -> None:
    """Of the same class where it can be made again from its arguments, else a stand-in that the same handlers catch."""
    error = ERRORS[name]()

    def fail() -> None:
        raise error

    ax = restart()
    ax.register(fail, name="fail", policy={"effect": "unsafe"})
    with pytest.raises(ToolFailed) as first:
        ax.call("fail", request_id="r")
    ax = restart()
    ax.register(lambda: 1, name="fail", schema={"type": "object"}, policy={"effect": "unsafe"})
    with pytest.raises(ToolFailed) as again:
        ax.call("fail", request_id="r")
    assert isinstance(again.value.__cause__, (type(error), type(error).__mro__[1]))
    assert type(error).__name__ in str(again.value)
    assert again.value.for_model
    assert first.value.maybe_applied is again.value.maybe_applied is True


def test_the_model_reads_type_and_message_and_neither_stack_nor_path(restart: Restart) -> None:
    def fail() -> None:
        raise LookupError("no order 7")

    ax = restart()
    ax.register(fail, name="fail", policy={"effect": "read"})
    with pytest.raises(ToolFailed) as failed:
        ax.call("fail")
    said = failed.value.for_model
    assert len(said) < 5000
    assert "LookupError: no order 7" in said
    assert "Traceback" not in said
    assert __file__ not in said
    assert failed.value.safe_to_repeat


def test_the_live_traceback_leads_into_the_tool(restart: Restart) -> None:
    def fail() -> None:
        raise LookupError

    ax = restart()
    for name, limit in (("here", None), ("limited", 20)):
        ax.register(fail, name=name, policy={"timeout": limit})
        with pytest.raises(ToolFailed) as failed:
            ax.call(name)
        trace = failed.value.__cause__.__traceback__  # type: ignore[union-attr]
        frames = []
        while trace is not None:
            frames.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert frames[-1] == "fail"
