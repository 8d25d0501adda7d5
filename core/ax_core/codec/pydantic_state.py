"""The state of a pydantic model, taken and given back without running its validators a second time."""

from __future__ import annotations

import sys
from typing import Any

from ax_core.codec.encoded import Unreadable


def is_model(cls: object) -> bool:
    """Whether a class is a pydantic model; pydantic itself is never imported for the answer."""
    pydantic = sys.modules.get("pydantic")
    base = getattr(pydantic, "BaseModel", None) if pydantic else None
    return base is not None and isinstance(cls, type) and issubclass(cls, base)


def field_types(cls: Any) -> list[Any]:
    """The annotations of a model's fields."""
    return [field.annotation for field in cls.model_fields.values()]


def excluded(cls: Any) -> list[str]:
    """The fields that a model keeps out of every serialisation, and so of the store."""
    return [name for name, field in cls.model_fields.items() if field.exclude is True]


def take(value: Any) -> dict[str, Any]:
    """Fields, and where they are not the ordinary ones: the set of given fields, extras, private attributes.

    A field declared `exclude=True` is not stored and must have a default; raises ValueError if it has none.
    """
    known = type(value).model_fields
    state = value.__dict__
    fields: dict[str, Any] = {}
    for name, field in known.items():
        if field.exclude is True:
            if field.is_required():
                raise ValueError(f"the field {name} is excluded from serialisation and has no default")
        elif name in state:
            fields[name] = state[name]
    data: dict[str, Any] = {"fields": fields}
    given = value.__pydantic_fields_set__.difference(excluded(type(value)))
    if given != fields.keys():
        data["given"] = sorted(given)
    if value.__pydantic_extra__:
        data["extra"] = dict(value.__pydantic_extra__)
    if value.__pydantic_private__:
        data["private"] = dict(value.__pydantic_private__)
    return data


def make(cls: Any, data: dict[str, Any]) -> Any:
    """A model in the stored state; fields that are new since then get their default, or it is Unreadable."""
    known = cls.model_fields
    state: dict[str, Any] = dict(data["fields"])
    given = set(data.get("given", state))
    if unknown := sorted(set(state) - set(known)):
        raise Unreadable(f"{cls.__qualname__} has no field {', '.join(unknown)}")
    for name, field in known.items():
        if name not in state:
            if field.is_required():
                raise Unreadable(f"{cls.__qualname__} wants a field {name} that was not stored")
            state[name] = field.get_default(call_default_factory=True)
    extra = data.get("extra") or ({} if cls.model_config.get("extra") == "allow" else None)
    made = cls.__new__(cls)
    for name, part in (
        ("__dict__", dict(state)),
        ("__pydantic_fields_set__", given),
        ("__pydantic_extra__", extra),
        ("__pydantic_private__", None),
    ):
        object.__setattr__(made, name, part)
    try:
        made.model_post_init(None)  # makes the private attributes
    except Exception:  # a hook that refuses its own results: the stored state stands without it
        pass
    # after the hook, which may have changed a field a second time
    object.__setattr__(made, "__dict__", state)
    private = made.__pydantic_private__
    if "private" in data and private is not None:
        private.update((name, item) for name, item in data["private"].items() if name in private)
    return made
