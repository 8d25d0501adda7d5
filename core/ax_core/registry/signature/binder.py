"""Admitted JSON arguments as the objects a function's annotations ask for."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ax_core.errors import InvalidArguments
from ax_core.registry.signature.annotations import is_json, number_type
from ax_core.registry.signature.parameters import parameters_of

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Binder:
    """Turns admitted JSON arguments into keyword arguments for the function.

    Models, dataclasses, enums, dates and the like are made by pydantic, strictly, from their JSON form.
    Raises InvalidArguments, which names the fields, for what the annotations refuse. `context` is the
    parameter that wants the running task's Context, if there is one: the caller passes it.
    """

    function: str
    typed: Mapping[str, Read] = field(default_factory=dict)
    numbers: tuple[tuple[str, type], ...] = ()
    fills: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    context: str | None = None

    def __call__(self, args: dict[str, Any]) -> dict[str, Any]:
        """Keyword arguments; `args` is never changed, and is the answer where nothing is to be done."""
        out = args
        for name, wanted in self.numbers:
            value = args.get(name)
            if value is not None and type(value) is not wanted:
                out = {**out, name: _number(value, wanted)}
        if self.typed or self.fills:
            made = {
                name: self._read(name, read, args[name]) for name, read in self.typed.items() if name in args
            }
            filled = {name: fill() for name, fill in self.fills.items() if name not in args}
            out = {**out, **made, **filled}
        return out

    def _read(self, name: str, read: Read, value: Any) -> Any:
        from pydantic import ValidationError

        try:
            return read(value)
        except ValidationError as error:
            # without the inputs: the message is shown and logged
            found = error.errors(include_url=False, include_context=False, include_input=False)
            lines = [f"{'.'.join(map(str, (name, *item['loc'])))}: {item['msg']}" for item in found[:5]]
            raise InvalidArguments(f"{self.function}: {'; '.join(lines)}") from None


def bind(fn: Callable[..., Any], *, hidden: Collection[str] = ()) -> Binder:
    """The Binder of a function; raises SignatureError as `schema_of` does.

    A parameter of a type that pydantic cannot make gets the JSON value: its tool was given a schema by hand.
    """
    parameters = parameters_of(fn, hidden)
    typed: dict[str, Read] = {}
    numbers: list[tuple[str, type]] = []
    for p in parameters.visible:
        number = number_type(p.annotation)
        if number is not None:
            numbers.append((p.name, number))
        elif not is_json(p.annotation) and (read := _reader(p.annotation)) is not None:
            typed[p.name] = read
    fills = {p.name: p.fill for p in parameters.visible if p.fill is not None}
    return Binder(parameters.function, typed, tuple(numbers), fills, parameters.context)


def _number(value: Any, wanted: type) -> Any:
    """JSON has one kind of number: 10 may stand for 10.0 and 10.0 for 10, where nothing is lost."""
    if type(value) not in (int, float):
        return value
    try:
        number = wanted(value)
    except (OverflowError, ValueError):
        return value
    return number if number == value else value


def _reader(annotation: Any) -> Read | None:
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation

    try:
        adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    except (PydanticUserError, PydanticUndefinedAnnotation):
        return None
    return lambda value: adapter.validate_json(json.dumps(value), strict=True)
