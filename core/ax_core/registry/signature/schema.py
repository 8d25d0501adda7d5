"""The JSON Schema of what a model may pass to a function."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from ax_core.registry.signature.annotations import note_of
from ax_core.registry.signature.docstring import docstring_of
from ax_core.registry.signature.error import SignatureError
from ax_core.registry.signature.parameters import EMPTY, Parameter, parameters_of

_MISSING = object()


def schema_of(fn: Callable[..., Any], *, hidden: Collection[str] = ()) -> dict[str, Any]:
    """The JSON Schema of what a model may pass to a function.

    Left out: parameters in `hidden`, those a partial binds by name, and a `Context` of ax_core. Descriptions
    come from `Annotated`, else from the docstring. A default stands in the schema where JSON can say it
    without loss; what a factory makes never does. Other names are refused at every level, unless the function
    takes `**kwargs`, or a model says what it does with extras.

    Raises SignatureError for `*args`, positional-only parameters, and annotations that cannot be resolved or
    have no JSON form.
    """
    parameters = parameters_of(fn, hidden)
    shown, definitions = _properties(parameters.function, parameters.visible)
    described = docstring_of(fn).parameters
    required = []
    for p in parameters.visible:
        if text := note_of(p.annotation) or described.get(p.name):
            shown[p.name].setdefault("description", text)
        if p.default is not EMPTY and (form := _json_form(p.annotation, p.default)) is not _MISSING:
            shown[p.name]["default"] = form
        if p.default is EMPTY and p.fill is None:
            required.append(p.name)
    schema: dict[str, Any] = {"type": "object", "properties": shown}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = parameters.any_name
    if definitions:
        schema["$defs"] = definitions
    return schema


def description_of(fn: Callable[..., Any]) -> str:
    """The docstring without its section of parameters, which the schema tells; "" where there is none."""
    return docstring_of(fn).text


def _properties(
    function: str, parameters: Sequence[Parameter]
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    from pydantic import PydanticUserError
    from pydantic.errors import PydanticUndefinedAnnotation

    unusable = (PydanticUserError, PydanticUndefinedAnnotation)
    try:
        built = _build(parameters)
    except unusable as error:
        culprit = next((p.name for p in parameters if _fails(p, unusable)), None)
        reason = str(error).partition("\n")[0]
        hint = f"has no JSON form ({reason}): change its type, hide it, or pass a schema of your own"
        raise SignatureError(function, culprit, hint) from error
    shown = built.get("properties", {})
    properties = {p.name: {k: v for k, v in shown[p.name].items() if k != "default"} for p in parameters}
    return properties, built.get("$defs", {})


def _build(parameters: Sequence[Parameter]) -> dict[str, Any]:
    from pydantic import Field, create_model

    from ax_core.registry.signature.generator import ClosedSchema

    # an attribute of a model cannot be called `_x` or `schema`, but its alias can
    fields: dict[str, Any] = {
        f"p{n}": (p.annotation, Field(alias=p.name, validation_alias=p.name))
        for n, p in enumerate(parameters)
    }
    model: Any = create_model("Arguments", **fields)
    built: dict[str, Any] = model.model_json_schema(schema_generator=ClosedSchema)
    return built


def _fails(p: Parameter, how: tuple[type[Exception], ...]) -> bool:
    try:
        _build([p])
    except how:
        return True
    return False


def _json_form(annotation: Any, default: Any) -> Any:
    """A default as JSON, or _MISSING where reading that back would give something else."""
    from pydantic import TypeAdapter

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
        form = adapter.dump_python(default, mode="json", by_alias=True, warnings=False)
        back = adapter.validate_json(json.dumps(form, allow_nan=False), strict=True)
        numbers = type(back) in (int, float) and type(default) in (int, float)
        return form if back == default and (numbers or type(back) is type(default)) else _MISSING
    except Exception:  # a default of another type than annotated, or one that compares oddly
        return _MISSING
