"""A function's signature is its schema, and its admitted arguments arrive as the objects it asks for."""

from __future__ import annotations

import datetime as dt
import enum
import functools
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from ax_core.errors import PolicyError
from ax_core.registry.signature import SignatureError, bind, description_of, schema_of
from support.annotated import Address, Item, Options, OrderId, Tree, properties

if TYPE_CHECKING:
    from nowhere import Missing

    from ax_core.dispatch import Context

UNSEEN = object()


class Colour(enum.Enum):
    RED = "red"


class Mood(enum.StrEnum):
    GOOD = "good"


class Loose(BaseModel, extra="ignore"):
    a: int


class Live:
    """No JSON form."""


def context_class(module: str) -> type:
    return type("Context", (), {"__module__": module})


# --- the schema


def test_the_schema_says_what_the_signature_says() -> None:
    def refund(
        order_id: OrderId, amount: float, note: str | None = None, kind: Literal["a", "b"] = "a"
    ) -> None: ...

    assert schema_of(refund) == {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "amount": {"type": "number"},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "a"},
        },
        "required": ["order_id", "amount"],
        "additionalProperties": False,
    }


def test_no_parameters_is_a_closed_empty_object() -> None:
    assert schema_of(lambda: 1) == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_parameter_without_annotation_takes_anything() -> None:
    assert properties(lambda x, y=1: 1) == {"x": {}, "y": {"default": 1}}


@pytest.mark.parametrize(
    "doc",
    [
        """Refund an order.

        Really.

        Args:
            order_id (str): the order
                to refund: all of it
            amount (Callable[[int], str], optional): how much

        Returns:
            nothing
        """,
        """Refund an order.

        Really.

        Parameters
        ----------
        order_id : str
            the order
            to refund: all of it
        amount
            how much

        Returns
        -------
        nothing
        """,
        """Refund an order.

        Really.

        :param str order_id: the order
            to refund: all of it
        :type order_id: str
        :param amount: how much
        :returns: nothing
        """,
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_descriptions_come_from_the_docstring_in_three_styles(doc: str) -> None:
    def refund(order_id: str, amount: float) -> None: ...

    refund.__doc__ = doc
    shown = properties(refund)
    assert shown["order_id"]["description"] == "the order to refund: all of it"
    assert shown["amount"]["description"] == "how much"
    text = description_of(refund)
    assert text.startswith("Refund an order.\n\nReally.")
    assert "nothing" in text
    assert "order_id" not in text


def test_a_description_beside_the_type_wins_over_the_docstring() -> None:
    def refund(a: Annotated[str, Field(description="field")], b: Annotated[str, "note"], c: str) -> None:
        """Args:
        a: doc
        b: doc
        """

    def plain(a: str = Field(description="default")) -> None: ...

    shown = properties(refund)
    assert (shown["a"]["description"], shown["b"]["description"]) == ("field", "note")
    assert properties(plain)["a"] == {"type": "string", "description": "default"}
    assert schema_of(plain)["required"] == ["a"]


def test_what_follows_a_parameter_after_a_blank_line_is_text() -> None:
    def fn(a: int) -> None:
        """Do it.

        :param a: first

            an example
        """

    assert properties(fn)["a"]["description"] == "first"
    assert "an example" in description_of(fn)


def test_text_that_only_looks_like_a_section_stays_text() -> None:
    def fn() -> None:
        """Parameters: none.

        Args:
        """

    assert description_of(fn) == "Parameters: none.\n\nArgs:"
    assert description_of(lambda: 1) == ""


def test_a_default_stands_in_the_schema_where_json_can_say_it_without_loss() -> None:
    def fn(
        day: dt.date = dt.date(2026, 1, 2),
        colour: Colour = Colour.RED,
        item: Item = Item(sku="a"),  # noqa: B008
        amount: float = 10,
        pair: tuple[int, int] = (1, 2),
        implicit: str = None,  # type: ignore[assignment]  # noqa: RUF013
        untyped: Any = (1, 2),
        unseen: Any = UNSEEN,
        nan: float = float("nan"),
        mood: str = Mood.GOOD,
    ) -> None: ...

    schema = schema_of(fn)
    defaults = {name: shown["default"] for name, shown in schema["properties"].items() if "default" in shown}
    assert defaults == {
        "day": "2026-01-02",
        "colour": "red",
        "item": {"sku": "a", "quantity": 1},
        "amount": 10.0,
        "pair": [1, 2],
    }
    assert "required" not in schema


def test_what_a_factory_makes_never_enters_the_schema_and_is_made_afresh_for_each_call() -> None:
    def annotated(id: Annotated[str, Field(default_factory=lambda: str(uuid.uuid4()))]) -> None: ...

    def default(id: str = Field(default_factory=lambda: str(uuid.uuid4()))) -> None: ...

    for fn in (annotated, default):
        assert schema_of(fn) == schema_of(fn)
        assert properties(fn) == {"id": {"type": "string"}}
        assert "required" not in schema_of(fn)
        binder = bind(fn)
        assert binder({})["id"] != binder({})["id"]
        assert binder({"id": "mine"}) == {"id": "mine"}


def test_a_field_default_is_filled_where_python_would_pass_the_field_object() -> None:
    def fn(a: int = Field(3, ge=1), b: int = Field(...)) -> None: ...

    assert properties(fn)["a"] == {"type": "integer", "minimum": 1, "default": 3}
    assert schema_of(fn)["required"] == ["b"]
    assert bind(fn)({"b": 1}) == {"a": 3, "b": 1}


def test_names_a_model_class_could_not_have_are_fine_for_a_parameter() -> None:
    def fn(schema: str, model_config: int, _private: bool, copy: str, json: str) -> None: ...

    assert list(properties(fn)) == ["schema", "model_config", "_private", "copy", "json"]


def test_nested_models_are_closed_too_unless_they_say_what_they_do_with_extras() -> None:
    def fn(item: Item, address: Address, options: Options, loose: Loose, tree: Tree) -> None: ...

    closed = {name: d.get("additionalProperties") for name, d in schema_of(fn)["$defs"].items()}
    assert closed == {"Item": False, "Address": False, "Options": False, "Tree": False, "Loose": None}


def test_kwargs_open_the_schema_and_reach_the_function() -> None:
    def fn(a: int, **more: Any) -> None: ...

    assert schema_of(fn)["additionalProperties"] is True
    assert bind(fn)({"a": 1, "b": 2}) == {"a": 1, "b": 2}


# --- what a model may not see


def test_hidden_parameters_a_partials_own_arguments_and_the_context_are_left_out() -> None:
    def send(to: str, subject: str, api_key: str, live: Missing = None) -> None: ...

    keyed = functools.partial(send, api_key="sk-secret")
    assert list(properties(keyed, hidden=("live",))) == ["to", "subject"]
    assert "sk-secret" not in str(schema_of(keyed, hidden=("live",)))
    assert list(properties(functools.partial(keyed, "a@b"), hidden={"live"})) == ["subject"]


@pytest.mark.parametrize("module, seen", [("ax_core.dispatch.context", False), ("llama_index.core", True)])
def test_a_context_of_this_core_is_left_out_and_anyone_elses_is_not(module: str, seen: bool) -> None:
    def fn(a: int, ctx: Any, other: Any = None) -> None: ...

    fn.__annotations__["ctx"] = context_class(module)
    if seen:
        with pytest.raises(SignatureError, match="'ctx' has no JSON form"):
            schema_of(fn)
        return
    assert list(properties(fn)) == ["a", "other"]
    assert bind(fn).context == "ctx"
    fn.__annotations__["ctx"] = context_class(module) | None
    assert list(properties(fn)) == ["a", "other"]


def test_a_context_imported_for_type_checkers_only_is_recognised() -> None:
    def fn(a: int, ctx: Context) -> None: ...

    def optional(a: int, ctx: Context | None = None) -> None: ...

    for each in (fn, optional):
        assert list(properties(each)) == ["a"]
        assert bind(each).context == "ctx"


# --- what cannot be a tool


def star(*items: int) -> None: ...
def positional(a: int, /) -> None: ...
def unresolved(a: int, b: Missing) -> None: ...
def live(a: int, b: Live) -> None: ...
def callback(a: Callable[[int], str]) -> None: ...


@pytest.mark.parametrize(
    "fn, parameter, todo",
    [
        (star, "items", "take a list"),
        (positional, "a", "remove the /"),
        (unresolved, "b", "TYPE_CHECKING"),
        (live, "b", "pass a schema"),
        (callback, "a", "pass a schema"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_by_name_with_what_to_do(
    fn: Any, parameter: str, todo: str
) -> None:
    with pytest.raises(SignatureError, match=todo) as caught:
        schema_of(fn)
    assert (caught.value.function, caught.value.parameter) == (fn.__name__, parameter)
    assert fn.__name__ in str(caught.value)
    assert isinstance(caught.value, (PolicyError, ValueError))


def test_a_builtin_without_a_signature_is_refused() -> None:
    with pytest.raises(SignatureError, match="wrap it in a def"):
        schema_of(iter)


def test_a_return_type_nobody_can_resolve_is_no_obstacle() -> None:
    def fn(a: int) -> Missing: ...

    assert list(properties(fn)) == ["a"]
    assert bind(fn)({"a": 1}) == {"a": 1}
