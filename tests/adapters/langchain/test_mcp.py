"""Tools of a real MCP server under AX: blocks, artifacts, ids, errors, annotations, keys and time."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from ax_adapters.bridge import Shadows, hinted
from ax_adapters.langchain import AXMiddleware, wrap_tool, wrap_tools
from ax_adapters.langchain.mcp import hints_of
from ax_core import AX, Effect, Policy, PolicyError, State
from support.driving import call_of
from support.mcp_serving import Serving, over_http, over_stdio
from support.scripted import Scripted, answers, said, thread, told

pytestmark = [
    pytest.mark.xdist_group("mcp"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with over_http(tmp_path_factory.mktemp("mcp")) as serving:
        yield serving


@pytest.fixture
def server(running: Serving) -> Serving:
    running.forget()
    return running


def ask(made: Any, n: int = 1, **args: Any) -> Any:
    """One call of the model's."""
    return asyncio.run(made.ainvoke(call_of(made, {"n": n, **args})))


def _handled(bare: Any) -> None:
    if not bare.handle_tool_error:
        pytest.skip("this langchain-mcp-adapters raises what a server's tool says no with")


def without_ids(message: Any) -> Any:
    blocks = [{k: v for k, v in block.items() if k != "id"} for block in message.content]
    return blocks, message.artifact, message.status, message.name, message.tool_call_id


@pytest.mark.parametrize("name", ["look", "draw", "fail", "send"])
def test_answers_are_as_bare(name: str, server: Serving, ax: AX) -> None:
    """Text, pictures, structured content, and errors with their blocks."""
    bare, made = server.tools()[name], wrap_tool(server.tools()[name], ax)
    if name == "fail":
        _handled(bare)
    assert without_ids(ask(made)) == without_ids(ask(bare))
    assert len(server.lines()) == 2
    (task,) = ax.tasks().tasks
    assert task.state is (State.FAILED if name == "fail" else State.SUCCESS)


@pytest.mark.parametrize("name", ["look", "draw"])
def test_a_replay_equals_the_first_answer(name: str, server: Serving, ax: AX) -> None:
    """With the ids of its blocks and its artifact; nothing is sent again."""
    made = wrap_tool(server.tools()[name], ax)
    with ax.override(request_id="r"):
        first = ask(made)
        again = ask(wrap_tool(server.tools()[name], ax))
    assert (again.content, again.artifact) == (first.content, first.artifact)
    assert "id" in first.content[0] and type(again.artifact) is type(first.artifact)
    assert len(server.lines()) == 1


def test_an_error_that_is_not_handled_is_raised_as_bare(server: Serving, ax: AX) -> None:
    """The adapter's own exception, with its blocks."""
    bare = server.tools()["fail"]
    bare.handle_tool_error = False
    with pytest.raises(ToolException) as expected:
        ask(bare)
    with pytest.raises(ToolException) as raised:
        ask(wrap_tool(bare, ax))
    assert type(raised.value) is type(expected.value)
    assert raised.value.args == expected.value.args


def test_a_server_that_is_gone(server: Serving, ax: AX) -> None:
    """What the client raises is raised, and on record as a failure."""
    from langchain_mcp_adapters.client import MultiServerMCPClient

    client = MultiServerMCPClient({"sample": dict(server.connection)})  # type: ignore[dict-item]
    made = next(each for each in asyncio.run(client.get_tools()) if each.name == "send")
    client.connections["sample"]["url"] = "http://127.0.0.1:9/mcp"  # type: ignore[typeddict-unknown-key]
    with pytest.raises(BaseException) as bare:  # the client's is an ExceptionGroup
        ask(made)
    with pytest.raises(BaseException) as wrapped:
        ask(wrap_tool(made, ax))
    assert type(wrapped.value) is type(bare.value)
    assert [task.state for task in ax.tasks().tasks] == [State.FAILED]


EXPECTED = {
    "tighten": {"look": "undeclared", "wipe": "unsafe", "put": "unsafe", "send": "undeclared"},
    "trust": {"look": "read", "wipe": "unsafe", "put": "idempotent", "send": "undeclared"},
    "confirm": {"look": "undeclared", "wipe": "unsafe", "put": "unsafe", "send": "undeclared"},
}


@pytest.mark.parametrize("mode", EXPECTED)
def test_annotations_become_policy(mode: str, server: Serving, ax: AX) -> None:
    """Only explicit ones, for tools that no policy names; by default they only tighten."""
    wrap_tools(list(server.tools().values()), ax, mcp_hints=mode)
    made = {name: ax.tools.get(name).policy for name in EXPECTED[mode]}
    assert {name: policy.effect.value for name, policy in made.items()} == EXPECTED[mode]
    assert {name for name, policy in made.items() if policy.confirm} == (
        {"wipe", "put"} if mode == "confirm" else set()
    )


def test_what_you_declare_counts(server: Serving, ax: AX) -> None:
    """Over every hint; a default effect may be tightened by one."""
    tools = list(server.tools().values())
    wrap_tools(tools, ax, policies={"wipe": "idempotent", "look": "unsafe"}, default_effect="read")
    effects = {name: ax.tools.get(name).effect for name in ("wipe", "look", "put", "send")}
    assert effects == {"wipe": "idempotent", "look": "unsafe", "put": "unsafe", "send": "read"}


@pytest.mark.parametrize(
    ("effect", "hints", "mode", "made"),
    [
        ("read", {"readOnlyHint": False}, "tighten", "undeclared"),
        ("idempotent", {"idempotentHint": False}, "tighten", "undeclared"),
        ("idempotent", {"idempotentHint": True}, "tighten", "idempotent"),
        ("unsafe", {"readOnlyHint": True}, "tighten", "unsafe"),
        ("unsafe", {"readOnlyHint": True}, "trust", "read"),
        ("undeclared", {"readOnlyHint": None, "destructiveHint": None}, "trust", "undeclared"),
        ("undeclared", {"readOnlyHint": True, "destructiveHint": True}, "tighten", "undeclared"),
        ("undeclared", {"readOnlyHint": "yes", "destructiveHint": 1}, "trust", "undeclared"),
    ],
)
def test_each_hint(effect: str, hints: dict[str, Any], mode: str, made: str) -> None:
    """What one may do, and that nothing but a plain true or false counts."""
    assert hinted(Policy(Effect(effect)), hints, mode).effect == made


def test_a_misspelt_mode_is_told(ax: AX) -> None:
    """At wrapping, and at the middleware."""
    for use in (lambda: wrap_tools([], ax, mcp_hints="trsut"), lambda: AXMiddleware(ax, mcp_hints="trsut")):
        with pytest.raises(PolicyError, match="mcp_hints='trsut' is unknown"):
            use()


def test_the_key_comes_with_the_call(server: Serving, ax: AX) -> None:
    """In `_meta`, the same in each attempt; bare calls carry none."""
    bare = server.tools()["send"]
    made = wrap_tool(bare, ax, policy="keyed")
    ask(bare)
    ask(made)
    ask(bare)
    assert server.lines("keys") == ["None", ax.tasks().tasks[0].idempotency_key, "None"]


def test_only_the_tool_itself_carries_it(server: Serving, ax: AX) -> None:
    """A tool of yours that calls a server, even twice, has one key for both and must pass it on as it sees fit."""
    bare = server.tools()["send"]

    @tool
    async def twice(n: int) -> str:
        """Sends twice."""
        await bare.ainvoke({"n": n})
        await bare.ainvoke({"n": n + 1})
        return "sent"

    ask(wrap_tool(twice, ax))
    assert server.lines("keys") == ["None", "None"]


def test_time_that_the_client_does_not_keep_is_kept(server: Serving, ax: AX) -> None:
    """The caller is free, the model is told what is known, and the server saw one call."""
    made = wrap_tool(server.tools()["hang"], ax, policy=Policy("unsafe", timeout=1.5))
    began = time.monotonic()
    message = ask(made)
    assert time.monotonic() - began < 20
    assert (message.status, server.lines()) == ("error", ["hang 1"])
    assert "UNKNOWN OUTCOME" in message.content
    (task,) = ax.tasks().tasks
    assert (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")


def test_sync_code_can_call_it(server: Serving, ax: AX) -> None:
    """The most repeated complaint about MCP tools, answered by sync_bridge."""
    bare = server.tools()["draw"]
    with pytest.raises(NotImplementedError):
        wrap_tool(bare, ax).invoke(call_of(bare, {"n": 1}))
    made = wrap_tool(server.tools()["look"], ax, sync_bridge=True)
    assert made.invoke(call_of(made, {"n": 1})).content[0]["text"] == "saw 1"
    agent = create_agent(
        Scripted(script=[[("draw", {"n": 2})], "done"]),
        [bare],
        middleware=[AXMiddleware(ax, sync_bridge=True)],
    )
    assert answers(agent.invoke(said()))[0].artifact == {"structured_content": {"n": 2, "at": [1, 2]}}


def test_tools_that_are_built_for_each_request(server: Serving, ax: AX) -> None:
    """No clash, and nothing piles up."""
    for n in range(5):
        made = wrap_tools(list(server.tools().values()), ax, policies={"send": "keyed"})
        ask(next(each for each in made if each.name == "send"), n)
    kinds = len({ax.tools.get(name).effect for name in server.tools()})
    assert len(ax.extension(Shadows)) == kinds
    assert len(server.lines()) == 5


def test_an_agent_under_the_middleware(server: Serving, ax: AX) -> None:
    """Nothing is wrapped by hand: hints count, a destructive call asks, an error is told, a picture is shown."""
    _handled(server.tools()["fail"])
    script = [[("draw", {"n": 1}), ("fail", {"n": 2})], [("wipe", {"n": 3})], "done"]
    agent = create_agent(
        Scripted(script=script),
        list(server.tools().values()),
        middleware=[AXMiddleware(ax, mcp_hints="confirm")],
        checkpointer=InMemorySaver(),
    )
    paused = asyncio.run(agent.ainvoke(said(), thread()))
    assert paused["__interrupt__"][0].value["name"] == "wipe"
    drawn, failed = answers(paused)
    assert [block["type"] for block in drawn.content] == ["text", "image"]
    assert (failed.status, failed.content[0]["text"]) == ("error", "no 2")
    assert "wipe 3" not in server.lines()
    result = asyncio.run(agent.ainvoke(Command(resume="approve"), thread()))
    assert told(result)[-1] == "wiped 3"
    assert sorted(server.lines()) == ["draw 1", "fail 2", "wipe 3"]


def test_over_stdio(tmp_path: Path, ax: AX) -> None:
    """The server is a child process of each session."""
    serving = over_stdio(tmp_path)
    made = wrap_tool(serving.tools()["send"], ax, policy="keyed")
    assert ask(made).content[0]["text"] == "sent 1"
    assert serving.lines("keys") == [ax.tasks().tasks[0].idempotency_key]


def test_hints_as_langchain_mcp_groups_them() -> None:
    """Under a namespace of its own, in Python's spelling."""
    annotations = {"destructive_hint": True, "idempotent_hint": False, "title": "Wipe"}
    made = StructuredTool(
        name="wipe",
        description="d",
        func=lambda n: n,
        args_schema={"type": "object", "properties": {}},
        metadata={"mcp": {"tool": {"annotations": annotations}, "server": {"name": "s"}}},
    )
    assert hints_of(made) == {"destructiveHint": True, "idempotentHint": False, "title": "Wipe"}
    made.metadata = {"mcp": {"server": {"name": "s"}}}
    assert hints_of(made) == {}
    made.metadata = None
    assert hints_of(made) == {}
