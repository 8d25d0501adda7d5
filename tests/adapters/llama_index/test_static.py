"""To look at, a wrapped tool is the tool."""

import copy
import pickle
from pathlib import Path

import pytest
from llama_index.core.tools import BaseTool, FunctionTool, ToolMetadata

from ax_adapters.llama_index import wrap_tool
from ax_core import AX
from support.fresh import fresh
from support.llama import Call, Wrap
from support.llama_tools import ADD, KINDS, NAMES, Own, SyncOnly

kinds = pytest.mark.parametrize("tool", KINDS, ids=NAMES)


@kinds
def test_the_model_is_sent_the_same(tool: BaseTool, wrap: Wrap) -> None:
    """Name, description, schema and return_direct are equal, and so is what a provider is sent."""
    wrapped = wrap(tool)
    for name in ("name", "description", "return_direct", "fn_schema"):
        assert getattr(wrapped.metadata, name) == getattr(tool.metadata, name)
    assert wrapped.metadata.get_parameters_dict() == tool.metadata.get_parameters_dict()
    assert wrapped.metadata.to_openai_tool() == tool.metadata.to_openai_tool()


@kinds
def test_it_is_an_instance_of_the_tools_own_class(tool: BaseTool, wrap: Wrap) -> None:
    """isinstance and the class's name and documentation hold; every attribute there was is there, and equal."""
    wrapped = wrap(tool)
    assert isinstance(wrapped, type(tool))
    assert (type(wrapped).__name__, type(wrapped).__module__) == (type(tool).__name__, type(tool).__module__)
    assert type(wrapped).__doc__ == type(tool).__doc__
    for name in (
        "fn",
        "async_fn",
        "real_fn",
        "requires_context",
        "ctx_param_name",
        "partial_params",
        "query_engine",
        "retriever",
    ):
        assert hasattr(wrapped, name) == hasattr(tool, name), name
        if hasattr(tool, name):
            assert getattr(wrapped, name) == getattr(tool, name), name


def test_attribute_writes_are_seen_by_both(wrap: Wrap) -> None:
    """What is written on the wrapper is on the tool, and the other way round."""
    bare = FunctionTool.from_defaults(lambda x: x, name="f", description="d")
    wrapped = wrap(bare)
    wrapped.partial_params = {"x": 1}
    assert bare.partial_params == {"x": 1}
    bare._metadata = ToolMetadata(name="f", description="another")
    assert wrapped.metadata.description == "another"


def test_the_original_stays_bare(ax: AX) -> None:
    """Wrapping changes nothing about the tool that was wrapped: called itself, it leaves no record."""
    wrap_tool(ADD, ax)
    assert ADD.call(a=1).raw_output == 4
    assert len(ax.tasks().tasks) == 0


def test_a_copy_is_wrapped_too(wrap: Wrap, ax: AX, call: Call) -> None:
    """copy and deepcopy give tools of their own that go through AX."""
    for copied in (copy.copy(wrap(ADD)), copy.deepcopy(wrap(ADD))):
        assert call(copied, a=1).content == "4"
        copied.partial_params = {"b": 9}
    assert len(ax.tasks().tasks) == 2
    assert ADD.partial_params == {}


def test_what_pickles_bare_pickles_wrapped(tmp_path: Path) -> None:
    """The copy opens the same store."""
    with fresh(path=tmp_path / "ax.db") as ax:
        copied = pickle.loads(pickle.dumps(wrap_tool(Own(), ax)))
        assert copied.call(a=1).content == "own {'a': 1}"
        assert [task.tool for task in ax.tasks().tasks] == ["own"]


@pytest.mark.parametrize("tool", [ADD, SyncOnly(), Own()], ids=["add", "sync_only", "own"])
def test_wrapping_twice_is_wrapping_once(tool: BaseTool, wrap: Wrap, ax: AX) -> None:
    """The second wrapping gives the first back; one call is one task."""
    wrapped = wrap(tool)
    assert wrap(wrapped) is wrapped
    wrapped(a=1)
    assert len(ax.tasks().tasks) == 1
