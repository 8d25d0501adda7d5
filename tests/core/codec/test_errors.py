"""A tool's exception is stored as data, and can be raised again where its process is gone."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import types
import weakref
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ax_core.codec import Opaque, RemoteToolError, decode_error, encode_error, rebuild
from ax_core.codec.frames import short_file


class Declined(Exception):
    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Response:
    status = 503


class HTTPError(OSError):
    def __init__(self, message: str, *, response: Response) -> None:
        super().__init__(message, response)
        self.response = response


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


class Spiteful(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError("no")


class Doubling(ValueError):
    def __init__(self, what: str) -> None:
        super().__init__(f"bad {what}")


class Fixed(Exception):
    def __str__(self) -> str:
        return "always the same"


class Bomb:
    made = 0

    def __init__(self, *args: Any) -> None:
        Bomb.made += 1

    def __str__(self) -> str:
        return "m"


class Slotted(Exception):
    __slots__ = ("a",)


class Agreeable(LookupError):
    pass


def raised(exc: BaseException) -> BaseException:
    try:
        raise exc
    except BaseException as caught:
        return caught


def circle() -> BaseException:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    return raised(first)


def chain(length: int) -> BaseException:
    exc: BaseException | None = None
    for n in range(length):
        link = ValueError(f"link {n}")
        link.__cause__ = exc
        exc = link
    assert exc is not None
    return exc


def endless() -> BaseException:
    def down() -> None:
        down()

    try:
        down()
    except RecursionError as error:
        return error
    raise AssertionError


ODD: dict[str, Any] = {
    "plain": lambda: raised(ValueError("no stock")),
    "extra argument": lambda: raised(Declined("declined", 402)),
    "live object": lambda: raised(HTTPError("gone", response=Response())),
    "mute": Mute,
    "spiteful": Spiteful,
    "circle": circle,
    "long chain": lambda: chain(100),
    "recursion": endless,
    "odd text": lambda: Exception("a\0b\ud800c😀"),
    "long text": lambda: Exception("退" * 1_000_000),
    "long arguments": lambda: Exception(*["x" * 5_000] * 50),
    "group": lambda: ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")] * 30)]),
    "cancelled": asyncio.CancelledError,
    "unicode": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad start"),
    "exit": lambda: SystemExit(3),
    "slots": lambda: raised(Slotted("x")),
}


@pytest.mark.parametrize("cap", [16_384, 4_096, 1_024, 10])
@pytest.mark.parametrize("make", ODD.values(), ids=ODD)
def test_any_exception_is_stored_as_data_within_the_cap_and_can_be_raised_again(make: Any, cap: int) -> None:
    exc = make()
    text = encode_error(exc, cap=cap)
    assert text.isascii()
    assert len(text) <= max(cap, 1024)
    json.loads(text, parse_constant=pytest.fail)
    assert "\\u0000" not in text
    stored = decode_error(text)
    assert stored.type.startswith(type.__getattribute__(type(exc), "__qualname__")[:4]) or "." in stored.type
    assert isinstance(rebuild(stored), BaseException)
    with pytest.raises(BaseException):  # noqa: B017 - whatever it is, it can be raised
        raise rebuild(stored)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(exclude_categories=())), st.integers(1, 3_000))
def test_no_message_breaks_the_cap(message: str, times: int) -> None:
    text = encode_error(Exception(message * times), cap=1024)
    assert len(text) <= 1024
    assert decode_error(text).message[:20] == (message * times)[:20]


def test_type_and_message_are_what_the_tool_raised() -> None:
    stored = decode_error(encode_error(raised(Declined("card declined", 402))))
    assert (stored.type, stored.message, stored.retryable) == (f"{__name__}.Declined", "card declined", None)
    assert stored.args == ("card declined",)
    assert str(stored) == f"{__name__}.Declined: card declined"
    assert decode_error(encode_error(Mute("x"))).message == f"<{__name__}.Mute: its message cannot be read>"


def test_a_live_object_among_the_arguments_is_named_and_not_kept() -> None:
    response = Response()
    exc = raised(HTTPError("gone", response=response))
    stored = decode_error(encode_error(exc))
    assert stored.args == ("gone", Opaque(f"{__name__}.Response"))
    assert not stored.complete
    gone = weakref.ref(response)
    made = rebuild(stored)
    del exc, response
    gc.collect()
    assert gone() is None
    assert isinstance(made, HTTPError)
    assert str(made) == stored.message


def test_a_class_is_not_made_again_from_a_part_of_its_arguments() -> None:
    made = rebuild(decode_error(encode_error(Fixed(Response()))))
    assert isinstance(made, Fixed)
    assert isinstance(made, RemoteToolError)
    assert not any(isinstance(arg, Opaque) for arg in made.args)
    assert type(rebuild(decode_error(encode_error(Fixed("plain"))))) is Fixed


def test_the_traceback_tells_where_and_not_on_which_machine() -> None:
    code = compile("def refund():\n    raise ValueError('no')\n", "/home/alice/secret/app/tools.py", "exec")
    space: dict[str, Any] = {}
    exec(code, space)
    with pytest.raises(ValueError) as caught:
        space["refund"]()
    text = encode_error(caught.value)
    stored = decode_error(text)
    assert stored.traceback.splitlines()[-1] == "app/tools.py:2 in refund"
    assert "alice" not in text
    assert short_file(r"C:\Users\alice\app\tools.py") == "app/tools.py"
    assert short_file("<stdin>") == "<stdin>"


def test_a_long_traceback_keeps_both_ends() -> None:
    lines = decode_error(encode_error(endless())).traceback.splitlines()
    assert len(lines) == 41
    assert lines[0].endswith("in endless")
    assert any("frames left out" in line for line in lines)


def test_the_chain_of_causes_is_cut_at_a_cycle_and_at_eight() -> None:
    stored = decode_error(encode_error(circle()))
    assert [(cause.type, cause.link) for cause in stored.causes] == [("KeyError", "cause")]
    assert len(decode_error(encode_error(chain(100))).causes) == 8


def test_causes_and_contexts_come_back_as_such_and_a_suppressed_one_is_left_out() -> None:
    def failing(how: str) -> BaseException:
        try:
            try:
                raise KeyError("inner")
            except KeyError as inner:
                if how == "from":
                    raise ValueError("outer") from inner
                if how == "none":
                    raise ValueError("outer") from None
                raise ValueError("outer")  # noqa: B904
        except ValueError as outer:
            return outer

    assert isinstance(rebuild(decode_error(encode_error(failing("from")))).__cause__, KeyError)
    made = rebuild(decode_error(encode_error(failing("during"))))
    assert made.__cause__ is None
    assert isinstance(made.__context__, KeyError)
    assert rebuild(decode_error(encode_error(failing("none")))).__context__ is None


@pytest.mark.parametrize(
    "exc",
    [
        ValueError("x"),
        KeyError("k"),
        ValueError(b"x", Decimal("1.10"), (1, "\0")),
        FileNotFoundError(2, "No such file or directory", "a/b"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad start"),
        StopIteration(7),
        asyncio.CancelledError("c"),
        TimeoutError(),
        Agreeable("k"),
    ],
    ids=repr,
)
def test_an_exception_that_takes_its_arguments_comes_back_as_its_own_class(exc: BaseException) -> None:
    made = rebuild(decode_error(encode_error(exc)))
    assert type(made) is type(exc)
    assert made.args == exc.args
    assert str(made) == str(exc)


def test_an_exception_group_comes_back_with_its_members() -> None:
    group = ExceptionGroup("two", [ValueError("a"), ExceptionGroup("in", [KeyError("b")])])
    made = rebuild(decode_error(encode_error(group)))
    assert isinstance(made, ExceptionGroup)
    found = made.split(KeyError)[0]
    assert found is not None
    assert str(found.exceptions[0].exceptions[0]) == "'b'"


@pytest.mark.parametrize(
    "exc", [Declined("declined", 402), Doubling("x"), HTTPError("gone", response=Response())]
)
def test_one_that_does_not_is_a_stand_in_that_its_handlers_still_catch(exc: BaseException) -> None:
    stored = decode_error(encode_error(exc))
    made = rebuild(stored)
    assert isinstance(made, type(exc))
    assert isinstance(made, RemoteToolError)
    assert type(made).__name__ == type(exc).__name__
    assert str(made) == stored.message
    assert made.stored == stored


def test_a_class_whose_module_is_not_loaded_is_a_stand_in_of_its_nearest_base_and_nothing_is_imported() -> (
    None
):
    module = types.ModuleType("shop_errors")
    exec("class Shop(LookupError): pass\nclass Sold(Shop): pass", module.__dict__)
    sys.modules["shop_errors"] = module
    try:
        text = encode_error(module.Sold("gone"))
        assert type(rebuild(decode_error(text))) is module.Sold
    finally:
        del sys.modules["shop_errors"]
    made = rebuild(decode_error(text))
    assert isinstance(made, LookupError)
    assert isinstance(made, RemoteToolError)
    assert (type(made).__module__, type(made).__name__, str(made)) == ("shop_errors", "Sold", "gone")
    assert "shop_errors" not in sys.modules


def test_a_lazy_module_is_not_made_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("lazy_errors")
    module.__getattr__ = pytest.fail  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "lazy_errors", module)
    text = json.dumps({"type": "lazy_errors.Late", "message": "m", "bases": ["ValueError"]})
    assert isinstance(rebuild(decode_error(text)), ValueError)


@pytest.mark.parametrize(
    "name", ["os.system", "builtins", "", "print", "subprocess.Popen", "a..b", "sys", f"{__name__}.Bomb"]
)
def test_a_name_that_is_no_exception_is_never_called(name: str) -> None:
    made = rebuild(decode_error(json.dumps({"type": name, "message": "m", "args": ["false"]})))
    assert isinstance(made, RemoteToolError)
    assert str(made) == "m"
    assert Bomb.made == 0


def test_notes_come_back_and_where_it_was_raised_is_added_once() -> None:
    exc = ValueError("x")
    exc.add_note("order 7")
    made = rebuild(decode_error(encode_error(raised(exc))))
    again = rebuild(decode_error(encode_error(raised(made))))
    for rebuilt in (made, again):
        assert rebuilt.__notes__[0] == "order 7"
        assert len(rebuilt.__notes__) == 2
        assert "in raised" in rebuilt.__notes__[1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"type":1,"message":"m"}',
        '{"type":"E","message":"m","args":3}',
        "[" * 99_999,
    ],
)
def test_reading_a_corrupt_error_never_raises(text: str) -> None:
    stored = decode_error(text)
    assert stored.type == "Unreadable"
    assert isinstance(rebuild(stored), RemoteToolError)


def test_an_error_read_in_another_process_says_the_same() -> None:
    code = (
        "import sys; from ax_core.codec import decode_error, rebuild\n"
        "made = rebuild(decode_error(sys.stdin.read()))\n"
        "print(type(made).__name__, isinstance(made, ValueError), str(made))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=encode_error(raised(Doubling("x"))),
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "Doubling True bad x"
