"""One conversation of a real LangChain agent, from the first word or from its last checkpoint."""

from __future__ import annotations

import json
from typing import Any, Literal

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from ax_adapters.demo.line import Line
from ax_adapters.demo.model import model_for
from ax_adapters.demo.scenario import Scenario
from ax_adapters.demo.side import Side

PROMPT = (
    "You are the support agent of a small shop. Use the tools; when a tool says that something is unknown, "
    "pending or refused, do not try again: say so and stop."
)
GO_ON = "It was decided. Please go on."
STEPS = 60  # LangGraph's recursion limit for every conversation: about 30 rounds

Phase = Literal["start", "resume"]


class Watch(BaseCallbackHandler):
    """Tells the story when a tool has answered, and waits there to be killed."""

    def __init__(self, line: Line, scenario: Scenario) -> None:
        self._line, self._scenario = line, scenario
        self._tools: dict[Any, str] = {}

    def on_tool_start(
        self, serialized: dict[str, Any] | None, input_str: str, *, run_id: Any, **kwargs: Any
    ) -> None:
        """Remember which tool this is."""
        self._tools[run_id] = str((serialized or {}).get("name"))

    def on_tool_end(self, output: Any, *, run_id: Any, **kwargs: Any) -> None:
        """The effect is done and the tool has returned; no checkpoint says so yet."""
        if self._tools.pop(run_id, None) == self._scenario.kind:
            self._line.say("tool_done", scenario=self._scenario.name)
            self._line.wait()


def converse(
    scenario: Scenario, side: Side, saver: BaseCheckpointSaver[Any], line: Line, phase: Phase
) -> None:
    """Lead the conversation to its end and put everything that was said on the line."""
    agent: Any = create_agent(model_for(scenario), side.tools, system_prompt=PROMPT, checkpointer=saver)
    config: RunnableConfig = {"configurable": {"thread_id": scenario.session}, "recursion_limit": STEPS}
    if scenario.kill == "after" and phase == "start":
        config["callbacks"] = [Watch(line, scenario)]
    line.say("started", scenario=scenario.name, phase=phase)
    ended = "an answer"
    try:
        with side.enter(scenario):
            asked = {"messages": [("user", scenario.ask)]} if phase == "start" else None
            state = agent.invoke(asked, config, durability="sync")
        if waiting := side.confirming(scenario):
            line.say("confirming", scenario=scenario.name, tasks=waiting)
            line.wait()
            with side.enter(scenario):
                paused = state.get("__interrupt__")
                agent.invoke(Command(resume=True) if paused else {"messages": [("user", GO_ON)]}, config)
    except GraphRecursionError:
        ended = "LangGraph's recursion limit"
    except Exception as error:  # whatever ends an agent's run is what the table must show
        ended = f"{type(error).__name__}: {error}"
    messages = agent.get_state(config).values.get("messages", [])
    line.say(
        "finished", scenario=scenario.name, ended=ended, calls=_calls(messages), answer=_answer(messages)
    )


def _calls(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    told = {each.tool_call_id: each for each in messages if isinstance(each, ToolMessage)}
    return [
        {
            "tool": call["name"],
            "args": call["args"],
            "id": call["id"],
            "told": _short(told[call["id"] or ""]) if call["id"] in told else None,
            "status": told[call["id"] or ""].status if call["id"] in told else "no answer",
        }
        for each in messages
        if isinstance(each, AIMessage)
        for call in each.tool_calls
    ]


def _short(message: ToolMessage, most: int = 4000) -> str:
    text = message.text if isinstance(message.content, str) else json.dumps(message.content, default=str)
    return text if len(text) <= most else text[:most] + " …"


def _answer(messages: list[BaseMessage]) -> str | None:
    last = messages[-1] if messages else None
    return last.text if isinstance(last, AIMessage) and not last.tool_calls else None
