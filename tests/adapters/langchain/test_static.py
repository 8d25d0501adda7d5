"""To look at, a wrapped tool is the tool."""

import copy
import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from langchain_core.tools.base import _get_type_hints
from langchain_core.utils.function_calling import convert_to_openai_tool

from ax_adapters.langchain import wrap_tool
from support.driving import Wrap
from support.fresh import fresh
from support.sample_tools import KINDS, Offset, add, shout

kinds = pytest.mark.parametrize("tool", KINDS, ids=[tool.name for tool in KINDS])


class Elsewhere(BaseTool):
    name: str = "elsewhere"
    description: str = "Shout."
    args_schema: Any = {"type": "object", "properties": {"text": {"type": "string"}}}

    def _run(self, text: str, manager: "OnlyForTypeCheckers | None" = None) -> str:  # noqa: F821
        return text + "!"


def schema_of(tool: BaseTool) -> object:
    try:
        return tool.get_input_jsonschema()
    except Exception as error:  # pydantic's first form has none
        return type(error)


@kinds
def test_every_public_field_is_the_same(tool: BaseTool, wrap: Wrap) -> None:
    """Name, description, schema, tags, metadata, extras, error handling: each field of the class is equal."""
    wrapped = wrap(tool)
    for field in type(tool).model_fields:
        assert getattr(wrapped, field) == getattr(tool, field), field


@kinds
def test_the_model_is_sent_the_same_schema(tool: BaseTool, wrap: Wrap) -> None:
    """What a provider is sent of a tool, and its input schema, are the same to the byte."""
    wrapped = wrap(tool)
    assert convert_to_openai_tool(wrapped) == convert_to_openai_tool(tool)
    assert wrapped.args == tool.args
    assert schema_of(wrapped) == schema_of(tool)
    assert wrapped.get_input_schema().__name__ == tool.get_input_schema().__name__


@kinds
def test_the_parameters_of_its_body_are_the_tools(tool: BaseTool, wrap: Wrap) -> None:
    """The framework reads names, kinds, defaults and types of the body's parameters, and finds the same ones."""
    wrapped = wrap(tool)
    for name in ("_run", "_arun"):
        ours, bare = getattr(wrapped, name), getattr(tool, name)
        assert inspect.signature(ours) == inspect.signature(bare)
        assert _get_type_hints(ours) == _get_type_hints(bare)


def test_annotations_that_only_a_type_checker_knows_are_left_to_the_framework(wrap: Wrap) -> None:
    """A body that names a type which is not there at run time is wrapped and runs, as it does bare."""
    wrapped = wrap(Elsewhere())
    assert _get_type_hints(wrapped._run) is None
    assert wrapped.invoke({"text": "a"}) == "a!"


@kinds
def test_it_is_an_instance_of_the_tools_own_class(tool: BaseTool, wrap: Wrap) -> None:
    """isinstance, attributes and methods of the class hold; so do its name, documentation and repr."""
    wrapped = wrap(tool)
    assert isinstance(wrapped, type(tool))
    for name in ("func", "coroutine", "offset", "helper", "is_single_input", "_injected_args_keys"):
        assert hasattr(wrapped, name) == hasattr(tool, name), name
    assert (type(wrapped).__name__, type(wrapped).__doc__) == (type(tool).__name__, type(tool).__doc__)
    assert repr(wrapped) == repr(tool)


def test_its_state_is_the_tools_state(wrap: Wrap) -> None:
    """An attribute that is set on either is seen by both, while they run too; the original is not wrapped by it."""
    tool = Offset(offset=1)
    wrapped = wrap(tool)
    wrapped.offset = 100
    assert (wrapped.invoke({"a": 1}), tool.invoke({"a": 1})) == (104, 104)
    tool.offset = 7
    assert wrapped.invoke({"a": 1}) == 11
    assert type(tool) is Offset


def test_copies_stay_wrapped(wrap: Wrap, ax) -> None:
    """deepcopy and model_copy give tools that still go through AX, under a new name too."""
    tool = Offset(offset=2)
    wrapped = wrap(tool)
    for made in (copy.deepcopy(wrapped), wrapped.model_copy(update={"name": "other"})):
        assert made.invoke({"a": 1}) == tool.invoke({"a": 1})
    assert [task.tool for task in ax.tasks().tasks] == ["other", "offset"]


def test_a_pickle_opens_the_same_store(tmp_path: Path) -> None:
    """What pickles bare pickles wrapped: the copy records its calls in the same file."""
    with fresh(path=tmp_path / "ax.db") as ax:
        again = pickle.loads(pickle.dumps(wrap_tool(Offset(offset=2), ax)))
        assert again.invoke({"a": 1}) == 6
        assert [task.tool for task in ax.tasks().tasks] == ["offset"]


def test_a_store_in_memory_cannot_be_pickled_and_says_so(ax) -> None:
    """There would be nothing on the other side to record in."""
    with pytest.raises(TypeError, match="give it a URL of a file"):
        pickle.dumps(wrap_tool(Offset(), ax))


def test_wrapping_twice_is_wrapping_once(wrap: Wrap, ax) -> None:
    """A wrapped tool comes back as it is, and each call is one task."""
    wrapped = wrap(add)
    assert wrap(wrapped) is wrapped
    assert wrapped.invoke({"a": 1}) == 4
    assert len(ax.tasks().tasks) == 1


def test_single_input_tools_stay_so(wrap: Wrap) -> None:
    """Agents that only take tools of one text argument take them wrapped."""
    assert wrap(shout).is_single_input
    assert wrap(shout).run("abc") == "ABC"
