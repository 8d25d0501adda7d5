"""Nothing blocks the event loop: agents run under blockbuster, which watches every call that could."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
import time
from pathlib import Path
from typing import Any

from blockbuster import blockbuster_ctx
from llama_index.core.tools import FunctionTool
from llama_index.core.utils import get_tokenizer

from ax_adapters.llama_index import ApprovalRequired, AXControlToolSpec, AXToolSpec, wrap_tools
from ax_core import AX, Policy
from support import script
from support.fresh import fresh
from support.llama import agent
from support.llama_tools import AADD, ADD, QUERY


def test_no_blocking_call_on_the_loop(tmp_path: Path) -> None:
    """Wrapped tools of each kind, an approval, a refusal, the registered tools and an agent's own verbs, on a file."""

    def nap(n: int) -> int:
        """Nap."""
        time.sleep(0.01)
        return n

    async def main(ax: AX) -> list[Any]:
        tools = wrap_tools(
            [ADD, AADD, QUERY, nap],
            ax,
            policies={"aadd": Policy("unsafe", confirm=True), "nap": Policy(timeout=5)},
        )
        tools += [*AXToolSpec(ax).to_tool_list(), *AXControlToolSpec(ax).to_tool_list()]
        script = [
            [
                ("add", {"a": 1}, "a"),
                ("aadd", {"a": 2}, "b"),
                ("query", {"input": "x"}, "c"),
                ("nap", {"n": 1}, "d"),
            ],
            [
                ("aadd", {"a": "x"}, "e"),
                ("square", {"n": 3}, "f"),
                ("ax_pending", {}, "g"),
                ("ax_cancel", {}, "h"),
            ],
        ]
        with blockbuster_ctx():
            handler = agent(tools, *script, "done").run("go")
            found = []
            async for event in handler.stream_events():
                if isinstance(event, ApprovalRequired):
                    handler.ctx.send_event(event.answer("approve"))
                if type(event).__name__ == "ToolCallResult":
                    found.append((event.tool_name, event.tool_output.is_error))
            await handler
        return found

    get_tokenizer()  # LlamaIndex reads a file for its memory at the first use, on the loop
    with fresh(path=tmp_path / "ax.db") as ax:

        @ax.tool(effect="read")
        def square(n: int) -> int:
            """Square."""
            return n * n

        answers = asyncio.run(main(ax))
    assert sorted(answers) == sorted(
        [
            ("add", False),
            ("aadd", False),
            ("query", False),
            ("nap", False),
            ("aadd", True),
            ("square", False),
            ("ax_pending", False),
            ("ax_cancel", False),
        ]
    )


def test_not_even_the_first_use_blocks_it(tmp_path: Path) -> None:
    """A process that has just started: the store is opened and migrated while the loop goes on."""
    code = f"""
import asyncio
import os
from blockbuster import blockbuster_ctx
from llama_index.core.utils import get_tokenizer
from ax_adapters.llama_index import wrap_tools
from ax_core import AX
from support.llama import agent, told, outputs
from support.llama_tools import ADD

get_tokenizer()  # LlamaIndex reads a file for its memory at the first use, on the loop

async def main():
    with blockbuster_ctx():
        (add,) = wrap_tools([ADD], AX("sqlite:///{tmp_path}/ax.db"))
        print([each.content for each in await outputs(agent([add], [("add", {{"a": 1}})], "done"))])

asyncio.run(main())
"""

    assert script.run(code, tmp_path, PYTHONWARNINGS="ignore") == "['4']"


def test_sixty_four_parallel_calls_overlap(ax: AX) -> None:
    """As many workers as the workflow has, none of them held up by the record."""

    async def nap(n: int) -> int:
        """Nap."""
        await asyncio.sleep(0.05)
        return n

    (tool,) = wrap_tools([FunctionTool.from_defaults(async_fn=nap)], ax, default_effect="read")

    async def main() -> float:
        begun = time.monotonic()
        answers = await asyncio.gather(*(tool.acall(n=n) for n in range(64)))
        assert [answer.raw_output for answer in answers] == list(range(64))
        return time.monotonic() - begun

    assert asyncio.run(main()) < 1.6  # 3.2 s one after the other
