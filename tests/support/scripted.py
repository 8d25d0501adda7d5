"""A chat model that says what the test says: real agents, no model."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

Asked = tuple[Any, ...]
"""One tool call: (name, args), or (name, args, id)."""
Step = str | list[Asked] | Callable[[list[BaseMessage]], Any]

_fresh = itertools.count()


class Scripted(BaseChatModel):
    """Its k-th step answers a conversation that holds k messages of its own: the same history, the same answer.

    Attributes:
        script: a text ends the turn, a list asks for tools, a function of the messages returns either.
        fresh_ids: every call gets an id that was never used, as when a model is asked again.
        heard: the conversations it was shown.
    """

    script: list[Any]
    fresh_ids: bool = False
    heard: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        turn = sum(isinstance(each, AIMessage) for each in messages)
        self.heard.append(list(messages))
        step = self.script[min(turn, len(self.script) - 1)]
        if callable(step):
            step = step(messages)
        made = AIMessage(step) if isinstance(step, str) else asks(*step, turn=turn, fresh=self.fresh_ids)
        return ChatResult(generations=[ChatGeneration(message=made)])


def asks(*calls: Asked, turn: int = 0, fresh: bool = False) -> AIMessage:
    """A message of the model that asks for these tool calls."""
    made = []
    for place, (name, args, *given) in enumerate(calls):
        call_id = given[0] if given else f"call_{turn}_{place}"
        if fresh:
            call_id = f"{call_id}_{next(_fresh)}"
        made.append({"type": "tool_call", "name": name, "args": args, "id": call_id})
    return AIMessage("", tool_calls=made)


def told(result: dict[str, Any]) -> list[str]:
    """What the tools answered, in order."""
    return [message.text for message in answers(result)]


def answers(result: dict[str, Any]) -> list[ToolMessage]:
    """The tools' messages of a conversation."""
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def said(text: str = "go") -> dict[str, Any]:
    """What a user starts a turn with."""
    return {"messages": [("user", text)]}


def thread(name: str = "T", **more: Any) -> dict[str, Any]:
    """The config of a conversation."""
    return {"configurable": {"thread_id": name, **more}}
