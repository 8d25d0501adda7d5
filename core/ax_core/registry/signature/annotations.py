"""What an annotation asks for: the JSON value as it stands, one kind of number, or an object made of it."""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

_CHANGES = object()
_IN_THE_SCHEMA = {"Gt", "Ge", "Lt", "Le", "Interval", "MultipleOf", "MinLen", "MaxLen", "Len"}
_PLAIN = (Any, object, str, bool, type(None), dict, list)


def metadata(annotation: Any) -> tuple[Any, ...]:
    """What stands beside the type in `Annotated`."""
    return tuple(annotation.__metadata__) if get_origin(annotation) is Annotated else ()


def note_of(annotation: Any) -> str | None:
    """A bare text in `Annotated`, which by habit is a description."""
    return next((item for item in metadata(annotation) if isinstance(item, str)), None)


def field_info(value: Any) -> Any:
    """The value if it is pydantic's `Field(...)`, else None; pydantic is not imported to find out."""
    if type(value).__module__ != "pydantic.fields":
        return None
    from pydantic.fields import FieldInfo

    return value if isinstance(value, FieldInfo) else None


def number_type(annotation: Any) -> type | None:
    """`int` or `float` where the annotation asks for just that, or for that or None."""
    options = [option for option in _options(annotation) if option is not type(None)]
    return options[0] if options in ([int], [float]) else None


def is_json(annotation: Any) -> bool:
    """Whether the admitted JSON value is already what the annotation asks for."""
    return all(option in (int, float) or _is_json(option) for option in _options(annotation))


def _is_json(option: Any) -> bool:
    if option in _PLAIN:
        return True
    origin, args = get_origin(option), get_args(option)
    if origin is Literal:
        return not any(hasattr(type(arg), "__members__") for arg in args)
    if origin is list:
        return all(_is_json_inside(arg) for arg in args)
    if origin is dict:
        return not args or (args[0] is str and _is_json_inside(args[1]))
    return False


def _is_json_inside(annotation: Any) -> bool:
    # 10 where 10.0 is asked for can be put right in an argument itself, not deep inside one
    return all(_is_json(option) for option in _options(annotation))


def _options(annotation: Any) -> tuple[Any, ...]:
    bare = _bare(annotation)
    return get_args(bare) if get_origin(bare) in (Union, types.UnionType) else (bare,)


def _bare(annotation: Any) -> Any:
    """The annotation without what the schema checks already; _CHANGES if something may change the value."""
    while True:
        if get_origin(annotation) is Annotated:
            if not all(map(_only_checks, annotation.__metadata__)):
                return _CHANGES
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        else:
            return annotation


def _only_checks(item: Any) -> bool:
    if (info := field_info(item)) is not None:
        return all(map(_only_checks, info.metadata))
    if type(item).__module__ == "annotated_types":
        return type(item).__name__ in _IN_THE_SCHEMA
    # pydantic passes over what has neither
    acts = ("__get_pydantic_core_schema__", "__is_annotated_types_grouped_metadata__")
    return not any(hasattr(item, name) for name in acts)
