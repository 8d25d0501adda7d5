"""Classes on the allow-list: taking a value apart into its fields and making an equal one again."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterator
from typing import Any, Literal

from ax_core.codec import pydantic_state
from ax_core.codec.encoded import Unreadable

Shape = Literal["enum", "flag", "dataclass", "namedtuple", "pydantic"]
_CONTENT = (dict, list, tuple, set, frozenset, str, bytes, int, float)


def class_path(cls: type) -> str:
    """`module:Qualified.Name`, the name a stored value calls its class by."""
    return f"{cls.__module__}:{cls.__qualname__}"


def shape_of(cls: object) -> Shape | None:
    """How values of a class are taken apart, or None for a class the allow-list cannot hold."""
    if not isinstance(cls, type):
        return None
    if issubclass(cls, enum.Enum):
        return "flag" if issubclass(cls, enum.Flag) else "enum"
    if pydantic_state.is_model(cls):
        return "pydantic"
    if dataclasses.is_dataclass(cls):
        # what such a class holds beside its fields would be lost
        return None if issubclass(cls, _CONTENT) else "dataclass"
    if issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple):
        return "namedtuple"
    return None


def take(value: Any, shape: Shape) -> Any:
    """The content of a value, as something the codec can store in turn."""
    if shape == "enum":
        return value.name
    if shape == "flag":
        return value.value
    if shape == "namedtuple":
        return list(tuple.__iter__(value))
    if shape == "pydantic":
        return pydantic_state.take(value)
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}


def make(cls: Any, shape: Shape, data: Any) -> Any:
    """An equal value of `cls`; raises Unreadable when the class has changed too much since."""
    if shape == "enum":
        return cls[data]
    if shape == "flag":
        return cls(data)
    if shape == "namedtuple":
        return cls._make(data)
    if shape == "pydantic":
        return pydantic_state.make(cls, data)
    return _make_dataclass(cls, data)


def _make_dataclass(cls: Any, data: dict[str, Any]) -> Any:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    if unknown := sorted(set(data) - set(fields)):
        raise Unreadable(f"{class_path(cls)} has no field {', '.join(unknown)}")
    for name, field in fields.items():
        if name in data:
            continue
        if field.default is not dataclasses.MISSING:
            data[name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            data[name] = field.default_factory()
        else:
            raise Unreadable(f"{class_path(cls)} wants a field {name} that was not stored")
    try:
        made = cls(**{name: data[name] for name, field in fields.items() if field.init})
    except Exception:  # an InitVar, or a __post_init__ that refuses its own results
        made = object.__new__(cls)
    # after __post_init__, which may have changed a field a second time
    for name, item in data.items():
        object.__setattr__(made, name, item)
    return made


def reachable(annotation: Any) -> Iterator[type]:
    """Every class the allow-list can hold that an annotation names, at any depth of its fields.

    Never raises: what cannot be resolved is left out.
    """
    # with the items themselves, so that none is freed and its id given to another
    seen: dict[int, Any] = {}
    waiting = [annotation]
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (str, bytes, int)):
            continue
        seen[id(item)] = item
        waiting.extend(reversed(typing.get_args(item)))
        shape = shape_of(item)
        if shape is None:
            continue
        yield item
        if shape not in ("enum", "flag"):
            waiting.extend(reversed(_field_types(item)))


def _field_types(cls: Any) -> list[Any]:
    if pydantic_state.is_model(cls):
        return pydantic_state.field_types(cls)
    try:
        return list(typing.get_type_hints(cls, include_extras=True).values())
    except Exception:  # a forward reference nobody can resolve, in any of the ways it can fail
        return []
