"""Compiling a tool's schema into its gate, once, at registration."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ax_core.schema.checking import Place, check_all, check_meta, root_of
from ax_core.schema.dialect import DEFAULT, OLDER, Dialect, dialect
from ax_core.schema.errors import SchemaError
from ax_core.schema.gate import Gate
from ax_core.schema.intake import MAX_BYTES, MAX_DEPTH, Limits, Refused, take
from ax_core.schema.plainly import plainly
from ax_core.schema.shape import Shape
from ax_core.schema.shaping import shape_of
from ax_core.schema.visible import Visible, visible

_Parts = tuple[Visible, Shape, Any, tuple[str, ...]]
_SCHEMA_LIMITS = Limits(max_bytes=4 << 20, max_depth=200)


def compile_gate(
    schema: dict[str, Any] | bool,
    *,
    lenient_unknown: bool = False,
    aliases: Mapping[str, str] | None = None,
    hidden: Collection[str] = (),
    redact: Collection[str] = (),
    max_bytes: int = MAX_BYTES,
    max_depth: int = MAX_DEPTH,
) -> Gate:
    """The gate of a tool whose arguments ``schema`` describes; nothing is ever fetched over a network.

    Args:
        schema: JSON Schema of the arguments' object; the dialect is its ``$schema``, else 2020-12, or draft 7
            or 4 where only these know its spelling.
        lenient_unknown: drop unknown arguments with a note instead of refusing them.
        aliases: other names that callers may use → argument name.
        hidden: arguments that the framework injects: no part of the schema, the hash or any message, and
            refused when a caller gives them.
        redact: arguments (dotted paths) whose values no note or problem may quote.
        max_bytes: of the arguments as JSON text.
        max_depth: containers within containers.

    Raises:
        SchemaError: a schema that cannot be honoured: says where and what to do.
    """
    try:
        own = _copied(schema, hidden)
        names, shape, validator, remarks = _read(own)
    except SchemaError:
        raise
    except Exception as error:  # whatever an odd schema does to the libraries that read it
        raise SchemaError("#", f"it cannot be read ({type(error).__name__}); simplify it") from error
    names = replace(names, schemas={name: each for name, each in names.schemas.items() if name not in hidden})
    return Gate(
        schema=own,
        remarks=remarks,
        names=names,
        aliases=_checked_aliases(aliases or {}, names),
        hidden=frozenset(hidden),
        redact=frozenset(redact),
        lenient_unknown=lenient_unknown,
        limits=Limits(max_bytes, max_depth),
        shape=shape,
        validator=validator,
        plainly=plainly(names, shape),
    )


def _copied(schema: Any, hidden: Collection[str]) -> Any:
    """The gate's own copy of a schema, without injected arguments."""
    if not isinstance(schema, Mapping | bool):
        raise SchemaError("#", f"a schema is an object or a boolean, not {type(schema).__name__}")
    try:
        own = take(schema, _SCHEMA_LIMITS)
    except (Refused, RecursionError) as error:
        raise SchemaError("#", f"it is no JSON: {error}") from None
    if isinstance(own, dict) and isinstance(own.get("properties"), dict):
        own["properties"] = {name: each for name, each in own["properties"].items() if name not in hidden}
    if isinstance(own, dict) and isinstance(own.get("required"), list):
        own["required"] = [name for name in own["required"] if name not in hidden]
        if not own["required"]:
            del own["required"]  # draft 4 knows no empty one
    return own


def _read(own: Any) -> _Parts:
    """Read a schema in the dialect it names, else in the newest that knows its spelling."""
    if isinstance(own, dict) and "$schema" in own:
        if not isinstance(own["$schema"], str):
            raise SchemaError("#/$schema", "it must be the address of a dialect")
        return _parts(own, dialect(own["$schema"]), guessed=False)
    refusal = None
    for uri in (DEFAULT, *OLDER):
        try:
            names, shape, validator, remarks = _parts(own, dialect(uri), guessed=True)
        except SchemaError as error:
            refusal = refusal or error
            continue
        if uri != DEFAULT:
            remarks = (f"#: valid only as {uri}, and read so; say it in $schema", *remarks)
        return names, shape, validator, remarks
    assert refusal is not None
    raise refusal


def _parts(own: Any, spoken: Dialect, *, guessed: bool) -> _Parts:
    """What a gate is made of: visible names, shape, validator and remarks."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    check_meta(own, spoken)
    root = root_of(own, spoken)
    remarks = check_all(root, spoken, guessed=guessed)
    validator = spoken.validator(own, registry=REGISTRY)
    unfit: list[str] = []

    def fits(here: Place, default: Any) -> bool:
        fitting = bool(validator.evolve(schema=here.schema, _resolver=here.resolver).is_valid(default))
        if not fitting:
            unfit.append(f"{here.path}: its default does not fit it and is never filled in")
        return fitting

    shape = shape_of(root, spoken, fits)
    if "object" not in shape.accepts and own is not False:
        why = "it accepts no object, and arguments are always one; put this under a property"
        raise SchemaError("#", why)
    return visible(root, spoken), shape, validator, (*remarks, *unfit)


def _checked_aliases(aliases: Mapping[str, str], names: Visible) -> dict[str, str]:
    for alias, name in aliases.items():
        if alias in names.schemas:
            raise SchemaError(
                f"#/properties/{alias}", f"{alias!r} is an argument and cannot be an alias as well"
            )
        if name not in names.schemas and not names.open:
            raise SchemaError(
                "#/properties", f"the alias {alias!r} stands for {name!r}, which is no argument"
            )
    return dict(aliases)
