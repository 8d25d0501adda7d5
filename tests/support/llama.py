"""LlamaIndex agents whose model says what the test says, and calls of tools sync or async."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms.function_calling import FunctionCallingLLM
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.tools import BaseTool, ToolOutput, calling
from llama_index.core.tools.function_tool import sync_to_async
from llama_index.core.tools.utils import create_schema_from_function
from llama_index.core.workflow import Context, JsonPickleSerializer

SCHEMA_SKIPS_KWARGS = "VAR_KEYWORD" in inspect.getsource(create_schema_from_function)
CALLS_ONCE = "_function_tool_accepts_kwargs" in vars(calling)
THREADS_HAVE_CONTEXT = "copy_context" in inspect.getsource(sync_to_async)
"""What older versions of LlamaIndex do not do, wrapped or bare."""

Wrap = Callable[..., BaseTool]
"""A fixture that puts a tool under AX."""
Asked = tuple[Any, ...]
"""One tool call: (name, args), or (name, args, id)."""


@dataclass(frozen=True)
class Call:
    """How a test calls a tool: ``call``, or ``acall`` on a loop of its own."""

    mode: str

    @property
    def is_async(self) -> bool:
        """Whether it is ``acall``."""
        return self.mode == "async"

    def __call__(self, tool: BaseTool, *args: Any, **kwargs: Any) -> ToolOutput:
        """Call, and return or raise what comes of it."""
        if self.is_async:
            return asyncio.run(tool.acall(*args, **kwargs))
        return tool.call(*args, **kwargs)


class Script:
    """Its k-th step answers a turn that holds k messages of the model's own: the same history, the same answer.

    One that ends in a message of its own was cut off right after it, and gets that message again. The last step ends a
    turn: whether the agent remembers those before depends on the version of LlamaIndex.

    Attributes:
        heard: the conversations it was shown.
    """

    def __init__(self, steps: list[str | list[Asked]]) -> None:
        self.steps, self.heard = steps, []

    def __call__(self, messages: list[ChatMessage], **_: Any) -> ChatMessage:
        own = [message.content for message in messages[:-1] if message.role.value == "assistant"]
        turn = len(own)
        if self.steps[-1] in own:
            turn = own[::-1].index(self.steps[-1])
        self.heard.append(list(messages))
        return self._said(self.steps[min(turn, len(self.steps) - 1)], turn)

    def _said(self, step: str | list[Asked], turn: int) -> ChatMessage:
        if isinstance(step, str):
            return ChatMessage(role="assistant", content=step)
        calls = [
            ToolSelection(
                tool_name=name, tool_kwargs=args, tool_id=given[0] if given else f"call_{turn}_{place}"
            )
            for place, (name, args, *given) in enumerate(step)
        ]
        return ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})


class Plan(Script):
    """The next step is the first with a call that was not answered yet, however often the others were.

    So a model goes on that looks at what it is shown: LlamaIndex may answer a call twice after a resume.
    """

    def __call__(self, messages: list[ChatMessage], **_: Any) -> ChatMessage:
        answered = {message.additional_kwargs.get("tool_call_id") for message in messages}
        left = (step for step in self.steps if isinstance(step, str) or {call[2] for call in step} - answered)
        return self._said(next(left), 0)


class Model(FunctionCallingLLM):
    """A function calling model that looks at its tools before it answers, as those of providers do."""

    response_generator: Any

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_function_calling_model=True)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        said = self.response_generator(list(messages))
        return ChatResponse(message=said, delta=said.content)

    async def achat(self, messages: Any, **more: Any) -> ChatResponse:
        return self.chat(messages, **more)

    def stream_chat(self, messages: Any, **more: Any) -> Any:
        yield self.chat(messages, **more)

    async def astream_chat(self, messages: Any, **more: Any) -> Any:
        async def stream() -> Any:
            yield self.chat(messages, **more)

        return stream()

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    acomplete = stream_complete = astream_complete = complete  # type: ignore[assignment]

    def _prepare_chat_with_tools(
        self, tools: Any, user_msg: Any = None, chat_history: Any = None, **_: Any
    ) -> Any:
        for tool in tools:
            tool.metadata.to_openai_tool()
        return {"messages": [*(chat_history or ()), *([user_msg] if user_msg else ())]}

    def get_tool_calls_from_response(self, response: Any, *_: Any, **__: Any) -> list[ToolSelection]:
        return list(response.message.additional_kwargs.get("tool_calls", ()))


def model(*steps: str | list[Asked]) -> Model:
    """A model that says this."""
    return Model(response_generator=Script(list(steps)))


def agent(tools: Any, *steps: str | list[Asked], **more: Any) -> FunctionAgent:
    """An agent with these tools, whose model says this."""
    return FunctionAgent(tools=list(tools), llm=model(*steps), **more)


def ask(tool: BaseTool, args: dict[str, Any], **more: Any) -> FunctionAgent:
    """An agent that calls one tool once, and is done."""
    return agent([tool], [(tool.metadata.name, args)], "done", **more)


async def outputs(made: Any, ctx: Any = None, said: str = "go", **more: Any) -> list[ToolOutput]:
    """Run a turn to its end; what the tools answered, in the order in which they did."""
    handler = made.run(said, ctx=ctx, **more) if said else made.run(ctx=ctx, **more)
    found = [
        event.tool_output async for event in handler.stream_events() if isinstance(event, ToolCallResult)
    ]
    await handler
    return found


def told(made: Any, **more: Any) -> list[str]:
    """What the tools of a turn told the model."""
    return [output.content for output in asyncio.run(outputs(made, **more))]


class Saved:
    """A workflow's context as its host keeps it: text, from which another process goes on."""

    serializer = JsonPickleSerializer()

    @classmethod
    def of(cls, ctx: Any) -> dict[str, Any]:
        """The context as it is now."""
        return ctx.to_dict(serializer=cls.serializer)

    @classmethod
    def again(cls, made: Any, saved: dict[str, Any]) -> Context:
        """A context that goes on from there."""
        return Context.from_dict(made, saved, serializer=cls.serializer)
