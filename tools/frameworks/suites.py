"""Which test files of which package concern tools, and what may differ when they are wrapped."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """The tool-related tests in the source distribution of a package.

    Attributes:
        needs: a package without which the tests cannot run.
        paths: test files and folders, from the root of the distribution; one that is missing is left out.
        may_fail: tests that fail wrapped, each with why that is what AX promises.
        framework: whose tools are wrapped.
    """

    package: str
    paths: tuple[str, ...]
    may_fail: dict[str, str] = field(default_factory=dict)
    needs: str | None = None
    framework: str = "langchain"


SUITES = (
    Suite(
        "langchain-core",
        ("tests/unit_tests/test_tools.py", "tests/unit_tests/test_tools_postponed_annotations.py"),
    ),
    Suite(
        "langgraph-prebuilt",
        ("tests",),
        {
            "tests/test_react_agent.py::test_react_agent_parallel_tool_calls[memory-v1]": (
                "it asserts that resuming a ToolNode runs a finished sibling again, which is what AX prevents"
            ),
        },
    ),
    Suite("langchain", ("tests/unit_tests/agents", "tests/unit_tests/tools")),
    # fastmcp and langchain-mcp-adapters want different releases of mcp: this one needs an environment of its own.
    Suite("langchain", ("tests/unit_tests/mcp",), needs="fastmcp"),
    Suite("langchain-classic", ("tests/unit_tests/agents", "tests/unit_tests/tools")),
    Suite(
        "langchain-mcp-adapters",
        ("tests/test_tools.py", "tests/test_interceptors.py", "tests/test_callbacks.py"),
    ),
)

LLAMA_INDEX = Suite("llama-index-core", (".",), framework="llama_index")
"""Its source distribution carries no tests: they are in a folder that is given."""
