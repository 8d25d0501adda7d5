"""What goes in: the framework's validation, unchanged, and the arguments as the tool wants them."""

import copy
from typing import Any

import pytest
from langchain_core.tools import StructuredTool, ToolException, tool
from pydantic import BaseModel, Field, ValidationError

from ax_core import AX, State
from support.driving import Drive, Wrap, alike, call_of, came_to
from support.sample_tools import Point, add, by_json, old, shout

modes = pytest.mark.parametrize(
    "mode",
    [False, True, "bad!", lambda error: f"custom {type(error).__name__}"],
    ids=["raised", "told", "text", "function"],
)


@modes
def test_arguments_that_do_not_fit_are_answered_by_the_framework(mode: Any, wrap: Wrap, ax: AX) -> None:
    """In each mode of handle_validation_error the answer is the bare tool's, and each refusal is on record."""
    bare = StructuredTool.from_function(add.func, handle_validation_error=mode)
    wrapped = wrap(bare)
    for value in (call_of(bare, {"a": "x"}), call_of(bare, {}), {"a": "nope"}):
        alike(bare, wrapped, value)
    recorded = ax.tasks().tasks
    assert {(task.state, task.reason) for task in recorded} == {(State.QUARANTINE, "invalid_args")}
    assert len(recorded) == 6


def test_validated_values_reach_the_tool(wrap: Wrap, drive: Drive) -> None:
    """Nested models arrive as instances, defaults are filled in, aliases are resolved."""

    class Order(BaseModel):
        point: Point
        items: list[Point] = []
        kept: int = Field(5, alias="theAlias")

    got: dict[str, Any] = {}
    made = StructuredTool.from_function(
        lambda point, items, kept: got.update(point=point, items=items, kept=kept) or "ok",
        name="order",
        description="d",
        args_schema=Order,
    )
    drive(wrap(made), {"point": {"x": 1}, "theAlias": 9})
    assert got == {"point": Point(x=1), "items": [], "kept": 9}
    drive(wrap(made), {"point": {"x": 1}, "items": [{"x": 2}]})
    assert got["items"] == [Point(x=2)] and got["kept"] == 5


@pytest.mark.parametrize(
    ("bare", "value"),
    [
        (by_json, call_of(by_json, {"a": 1})),
        (by_json, {"a": "whatever"}),
        (by_json, "text"),
        (old, {"a": "5"}),
        (old, {"a": "x"}),
        (shout, "abc"),
        (shout, {"x": "abc"}),
        (shout, {"x": "a", "y": "b"}),
        (add, "5"),
    ],
    ids=lambda it: str(getattr(it, "name", it)),
)
def test_every_kind_of_schema_and_input_is_read_as_before(bare: Any, value: Any, wrap: Wrap) -> None:
    """JSON schemas, pydantic's first form, one text argument, a text for a tool that takes fields: the same answer."""
    alike(bare, wrap(bare), value)


def test_too_many_arguments_for_a_tool_of_one(wrap: Wrap, ax: AX) -> None:
    """The framework's own refusal keeps its type, and is on record."""
    with pytest.raises(ToolException, match="Too many arguments"):
        wrap(shout).invoke({"x": "a", "y": "b"})
    assert [task.reason for task in ax.tasks().tasks] == ["invalid_args"]


def test_the_callers_input_is_not_touched(wrap: Wrap, drive: Drive) -> None:
    """Neither the tool call nor its arguments are changed by passing through."""

    @tool
    def keep(d: dict) -> str:
        """Keeps."""
        return "ok"

    call = call_of(keep, {"d": {"k": 1}})
    before = copy.deepcopy(call)
    drive(wrap(keep), call)
    assert call == before


def test_what_is_recorded_is_what_the_model_asked(wrap: Wrap, ax: AX, drive: Drive) -> None:
    """The task shows the model's own arguments; the defaults the framework fills in never enter them."""
    drive(wrap(add), {"a": 2})
    (task,) = ax.tasks().tasks
    assert (task.tool, task.payload, task.result, task.state) == ("add", {"a": 2}, 5, State.SUCCESS)


def test_arguments_that_are_no_plain_data_run_and_equal_nothing(wrap: Wrap, ax: AX) -> None:
    """A live object among the arguments does not keep a tool from running; the record says what it is."""

    @tool
    def take(thing: Any) -> str:
        """Takes anything."""
        return type(thing).__name__

    wrapped = wrap(take)
    assert (wrapped.invoke({"thing": object()}), wrapped.invoke({"thing": print})) == (
        "object",
        "builtin_function_or_method",
    )
    assert all("not plain data" in task.notes[0] for task in ax.tasks().tasks)


def test_a_validation_error_inside_the_body_is_the_tools_own(wrap: Wrap, ax: AX, drive: Drive) -> None:
    """Only what the framework refuses before the body is filed as invalid arguments."""

    @tool
    def strict(a: int) -> str:
        """Validates something else."""
        Point(x="no")  # type: ignore[arg-type]
        return "never"

    with pytest.raises(ValidationError):
        drive(wrap(strict), {"a": 1})
    assert [task.state for task in ax.tasks().tasks] == [State.FAILED]


def test_async_and_sync_refuse_alike(wrap: Wrap) -> None:
    """Both doors raise the same exception for the same wrong input."""
    wrapped = wrap(add)
    assert came_to(wrapped.invoke, {}) == came_to(Drive("async"), wrapped, {})
