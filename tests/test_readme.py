"""What the README shows is run as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

README = Path(__file__).parent.parent / "README.md"
PROMISE = (
    "recorded before it acts; attempted at most once unless the tool says a repeat is safe; "
    "never silently unknown"
)


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def call(name: str, id: str, **args: Any) -> dict[str, Any]:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


@tool
def search_orders(text: str) -> str:
    """Find orders."""
    return f"order 7 matches {text}"


@tool
def charge_card(order_id: str, amount: float) -> str:
    """Take money."""
    return f"charged {amount}"


@tool
def refund(order_id: str, amount: float) -> str:
    """Give money back."""
    raise AssertionError("nobody approved this")


def test_the_promise_stands_in_its_exact_words() -> None:
    words = " ".join(README.read_text(encoding="utf-8").replace("\n>", " ").split())
    assert PROMISE in words


def test_the_swap_and_the_declarations_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AX_URL", raising=False)
    swap, declared, scaled = re.findall(
        r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    answers = [
        AIMessage("", tool_calls=[call("search_orders", "c1", text="mug")]),
        AIMessage("done"),
        AIMessage("", tool_calls=[call("refund", "c2", order_id="7", amount=3.0)]),
        AIMessage("it waits for approval"),
    ]
    names: dict[str, Any] = {
        "create_agent": create_agent,
        "model": Scripted(messages=iter(answers)),
        "tools": [search_orders, charge_card, refund],
    }
    exec(swap, names)
    said = names["agent"].invoke({"messages": [("user", "find my mug")]})["messages"]
    assert said[2].content == "order 7 matches mug"
    assert (tmp_path / "ax.db").is_file()

    with names["AX"](f"sqlite:///{tmp_path}/other.db") as ax:
        names["ax"] = ax
        exec(declared.replace("\nwrap_tools", "\nwrapped = wrap_tools"), names)
        agent = create_agent(names["model"], names["wrapped"])
        said = agent.invoke({"messages": [("user", "refund order 7")]})["messages"]
        assert said[2].status == "error"
        exec(scaled, names)  # opens nothing before its first use
        assert [(task.tool, task.state) for task in ax.tasks().tasks] == [("refund", "CONFIRMING")]
