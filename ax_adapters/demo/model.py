"""Who decides: a scripted chat model, or any model the user names in AX_DEMO_MODEL."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from ax_adapters.demo.scenario import Scenario, Step

MODEL_VARIABLE = "AX_DEMO_MODEL"


class ScriptedModel(BaseChatModel):
    """Says its k-th step when the conversation holds k messages of its own: same history, same answer."""

    script: list[Step]
    forever: bool = False

    @property
    def _llm_type(self) -> str:
        return "ax-demo-scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """It knows its tools already."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        turn = sum(isinstance(each, AIMessage) for each in messages)
        step = self.script[turn % len(self.script) if self.forever else min(turn, len(self.script) - 1)]
        return ChatResult(generations=[ChatGeneration(message=_say(step, turn, messages))])


def _say(step: Step, turn: int, messages: list[BaseMessage]) -> AIMessage:
    if isinstance(step, str):
        heard = [each.text for each in messages if isinstance(each, ToolMessage)]
        return AIMessage(step.format(heard=heard[-1] if heard else ""))
    return AIMessage(
        "",
        tool_calls=[
            ToolCall(name=name, args=dict(args), id=f"call_{turn}_{place}")
            for place, (name, args) in enumerate(step)
        ],
    )


def named_model() -> str | None:
    """The model the user asked for, if any."""
    return os.environ.get(MODEL_VARIABLE) or None


def model_for(scenario: Scenario) -> BaseChatModel:
    """The scripted model, unless the user named a real one."""
    name = named_model()
    if name is None:
        return ScriptedModel(script=list(scenario.script), forever=scenario.forever)
    from langchain.chat_models import init_chat_model

    model: BaseChatModel = init_chat_model(name)
    return model
