"""Wrapping: what goes in comes back in kind, and what cannot work is told before anything runs."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, BaseToolkit, StructuredTool
from pydantic import BaseModel, PydanticUndefinedAnnotation

from ax_adapters.langchain import wrap_tool, wrap_tools
from ax_core import AX, Effect, Policy, PolicyError
from support.driving import call_of
from support.sample_tools import Library, Offset, add, fancy, returning, shout


class Kit(BaseToolkit):
    """A toolkit of two."""

    def get_tools(self) -> list[BaseTool]:
        return [add, shout]


def plus(a: int) -> int:
    """Adds one."""
    return a + 1


def test_containers_come_back_in_kind(ax: AX) -> None:
    """A list for a list, a tuple for a tuple, a list for a toolkit; callables become tools of their own name."""
    assert [made.name for made in wrap_tools([add, plus], ax)] == ["add", "plus"]
    assert isinstance(wrap_tools((add, fancy), ax), tuple)
    assert [made.name for made in wrap_tools(Kit(), ax)] == ["add", "shout"]
    assert wrap_tool(plus, ax).invoke({"a": 1}) == 2


def test_what_is_no_tool_of_ours_passes_through(ax: AX) -> None:
    """Dicts that a provider runs itself, and tools that are wrapped already, come back as the same objects."""
    search = {"type": "web_search"}
    wrapped = wrap_tool(add, ax)
    assert wrap_tools([search, wrapped], ax) == [search, wrapped]
    assert wrap_tools([search, wrapped], ax)[1] is wrapped


def test_the_originals_stay_bare(ax: AX) -> None:
    """Whoever holds the original calls it without AX."""
    made = Offset()
    wrap_tools([made], ax)
    assert made.invoke({"a": 1}) == 14
    assert ax.tasks().tasks == ()


def test_a_tool_that_is_rebuilt_is_the_same_tool(ax: AX) -> None:
    """The same name, schema and policy again is no clash: MCP clients build their tools anew for each request."""
    for _ in range(3):
        assert wrap_tool(returning("x"), ax, policy="read").invoke({"a": 1}) == "x"


def test_policies_go_by_name(ax: AX) -> None:
    """Each tool has the policy that names it, the rest the default effect; a timeout is for those without their own."""
    wrap_tools(
        [add, fancy, shout],
        ax,
        policies={"add": Policy(Effect.UNSAFE, timeout=3), "fancy": {"effect": "keyed", "retries": 2}},
        default_effect="read",
        timeout=9,
    )
    policies = {name: ax.tools.get(name).policy for name in ("add", "fancy", "shout")}
    assert {name: (p.effect.value, p.timeout, p.retries) for name, p in policies.items()} == {
        "add": ("unsafe", 3, 0),
        "fancy": ("keyed", 9, 2),
        "shout": ("read", 9, 0),
    }


def test_without_a_timeout_there_is_none(ax: AX) -> None:
    """A wrapped tool may take as long as the bare one."""
    wrap_tool(add, ax)
    assert ax.tools.get("add").policy.timeout is None


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        ({"addd": "read"}, "'addd', which is no tool of this list; did you mean 'add'"),
        ({"zzz": "read"}, "the tools are: add"),
        ({"add": {"confirms": True}}, "tool 'add': policy key 'confirms' is unknown; did you mean 'confirm'"),
        ({"add": "raed"}, "tool 'add': effect 'raed' is unknown; did you mean 'read'"),
        ({"add": {"confirm": "alway"}}, "tool 'add': confirm='alway' must be True, False or a predicate"),
        ({"add": {"confirm": []}}, "confirm="),
        ({"add": {"confirm": None}}, "confirm=None"),
        ({"add": {"confirm": "False"}}, "confirm='False'"),
        ({"add": 7}, "not int"),
    ],
    ids=str,
)
def test_an_invalid_policy_is_an_error_at_wrapping(policies: dict[str, Any], told: str, ax: AX) -> None:
    """It names the tool and the key and what was meant; nothing is registered under it."""
    with pytest.raises(PolicyError) as caught:
        wrap_tools([add], ax, policies=policies)
    assert told in str(caught.value)
    assert ax.tools.find("add") is None


def test_names_that_clash(ax: AX) -> None:
    """Two tools of one name in a list, and another tool of a known name, are refused, with a hint."""
    with pytest.raises(PolicyError, match="two tools are named 'value'"):
        wrap_tools([returning(1), returning(2)], ax)
    wrap_tool(returning(1), ax)
    other = StructuredTool.from_function(plus, name="value")
    with pytest.raises(PolicyError, match="'value'"):
        wrap_tool(other, ax)
    with pytest.raises(PolicyError, match="'value'"):
        wrap_tool(returning(1), ax, policy="unsafe")


@pytest.mark.parametrize("method", ["invoke", "ainvoke", "run", "arun"])
def test_a_class_that_bypasses_run_is_refused(method: str, ax: AX) -> None:
    """AX could not stand between; the reason says which method, and what to do."""

    def whole(self: Any, *args: Any, **more: Any) -> str:
        return "done without _run"

    cls = type("Whole", (Offset,), {method: whole, "__module__": __name__})
    with pytest.raises(PolicyError, match=rf"overrides {method}\(\) without reaching _run"):
        wrap_tool(cls(), ax)


def test_a_class_that_extends_run_is_wrapped(ax: AX) -> None:
    """super().invoke() reaches the seam."""

    class Louder(Offset):
        def invoke(self, *args: Any, **more: Any) -> Any:
            return super().invoke(*args, **more) * 2

    assert wrap_tool(Louder(), ax).invoke({"a": 1}) == 28
    assert len(ax.tasks().tasks) == 1


def test_what_is_no_list_is_refused(ax: AX) -> None:
    """One tool goes to wrap_tool; a misspelt on_refusal is told at once."""
    with pytest.raises(PolicyError, match="one tool: wrap_tool"):
        wrap_tools(add, ax)
    with pytest.raises(PolicyError, match="on_refusal='rais'"):
        wrap_tools([add], ax, on_refusal="rais")


def test_undeclared_tools_are_told_once(ax: AX, caplog: pytest.LogCaptureFixture) -> None:
    """One line says which they are, what that means, and how to declare them."""
    for _ in range(2):
        wrap_tools([add, shout, fancy], ax, policies={"fancy": "read"})
    (line,) = [record.message for record in caplog.records if "undeclared" in record.message]
    assert "add, shout" in line and "fancy" not in line
    assert "policies={'add': 'read'}" in line


def _unread(bare: BaseTool) -> None:
    """Go on only where LangChain itself says that it cannot read a schema yet; it used to leave the field out."""
    try:
        _ = bare.tool_call_schema
    except PydanticUndefinedAnnotation:
        return
    pytest.skip("this langchain-core leaves arguments of unknown types out of the schema")


def test_a_type_that_is_defined_later(ax: AX) -> None:
    """As bare: the tool is made now, and its schema is read once it can be."""

    class Order(BaseModel):
        item: "Item"

    bare = StructuredTool(name="order", description="Orders.", func=lambda item: item.name, args_schema=Order)
    _unread(bare)
    wrapped = wrap_tool(bare, ax, policy="unsafe")
    with pytest.raises(PydanticUndefinedAnnotation, match="Item"):
        wrapped.tool_call_schema.model_json_schema()
    with pytest.raises(PydanticUndefinedAnnotation):
        wrapped.invoke({"item": {"name": "tea"}})

    class Item(BaseModel):
        name: str

    Order.model_rebuild(force=True, _types_namespace={"Item": Item})
    assert wrapped.invoke({"item": {"name": "tea"}}) == "tea"
    assert (ax.tools.get("order").effect, [task.tool for task in ax.tasks().tasks]) == ("unsafe", ["order"])


def test_a_type_that_is_defined_later_under_a_name_that_is_taken(ax: AX) -> None:
    """Nobody could tell whether they are the same, so it is refused, with what to do."""

    class Order(BaseModel):
        item: "NeverDefined"  # noqa: F821

    wrap_tool(add, ax)
    other = StructuredTool(name="add", description="Orders.", func=lambda item: item, args_schema=Order)
    _unread(other)
    with pytest.raises(PolicyError, match="'NeverDefined', which is not defined yet"):
        wrap_tool(other, ax)


def test_arguments_of_which_there_is_no_schema(ax: AX) -> None:
    """No model could be told of such a tool: said at wrapping, with the way out."""

    def calls(back: Callable[[], int]) -> int:
        """Calls back."""
        return back()

    with pytest.raises(PolicyError, match=r"'calls': there is no JSON Schema .* InjectedToolArg"):
        wrap_tool(calls, ax)


def test_a_retriever_becomes_a_tool(ax: AX) -> None:
    """As LangChain makes one: text for the model, the documents as the artifact, replayed as they were."""
    (made,) = wrap_tools([Library()], ax, policies={"Library": "read"})
    assert (made.name, made.description) == ("Library", "A retriever with one document for every query.")
    for _ in range(2):
        with ax.override(request_id="r"):
            message = made.invoke(call_of(made, {"query": "tea"}))
        assert (message.content, message.artifact) == ("about tea", [Document(page_content="about tea")])
    assert len(ax.tasks().tasks) == 1


@pytest.mark.parametrize(
    ("thing", "told"),
    [
        (RunnableLambda(lambda x: x, name="chain"), "chain is no tool; make it one: runnable.as_tool"),
        (7, "7 is no tool"),
        (lambda x: x, "cannot be made a tool"),
    ],
    ids=["runnable", "number", "lambda"],
)
def test_what_is_no_tool_is_refused(thing: Any, told: str, ax: AX) -> None:
    """With what to do."""
    with pytest.raises(PolicyError, match=told):
        wrap_tool(thing, ax)
    with pytest.raises(PolicyError, match=told):
        wrap_tools([thing], ax)
