"""How a body ended, as a message from the process it ran in, and back: values and exceptions by the codec."""

from __future__ import annotations

from typing import Any

from ..codec import Codec, Opaque, Unreadable, decode_error, encode_error, rebuild
from ..decide import Lost, Outcome, Raised, Returned, Stopped, TimedOut
from ..errors import AXError
from .wire import Message


def as_message(outcome: Outcome, codec: Codec) -> Message:
    """The outcome as plain data; never raises, whatever the tool returned or raised."""
    match outcome:
        case Returned(value=value):
            return {"outcome": "returned", "value": codec.encode(value).text}
        case Raised(error=error, not_applied=not_applied, retry_after=after):
            text = None if error is None else encode_error(error)
            return {"outcome": "raised", "error": text, "not_applied": not_applied, "retry_after": after}
        case Stopped():
            return {"outcome": "stopped"}
        case TimedOut():
            return {"outcome": "timed_out"}
        case _:
            return {"outcome": "lost"}


def from_message(said: Message, codec: Codec) -> Outcome:
    """The same outcome here. What was judged there, where the classes are, is not judged again."""
    match said["outcome"]:
        case "returned":
            return Returned(_value(said["value"], codec))
        case "raised":
            text = said["error"]
            error = None if text is None else rebuild(decode_error(text))
            return Raised(error, said["not_applied"], said["retry_after"], text)
        case "stopped":
            return Stopped(by_itself=True)
        case "timed_out":
            return TimedOut(closed=True)
        case _:
            return Lost(entered=True)


def refusal(error: BaseException) -> Message:
    """What a question was refused with."""
    more = {"task_id": error.task_id, "for_model": error.for_model} if isinstance(error, AXError) else {}
    return {"error": encode_error(error), **more}


def refused(said: Message) -> BaseException:
    """The error to raise for it: of the same type, about the same task."""
    error: Any = rebuild(decode_error(said["error"]))
    if isinstance(error, AXError):
        error.task_id, error.for_model = said["task_id"], said["for_model"]
    return error  # type: ignore[no-any-return]


def _value(text: str, codec: Codec) -> Any:
    try:
        return codec.decode(text)
    except Unreadable as unreadable:  # of a type that only that process has been told to allow
        return Opaque(unreadable.reason, text[: codec.keep])
