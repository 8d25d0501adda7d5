"""A wrapped tool under a new name: its policy says what it was called before."""

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from llama_index.core.tools import FunctionTool

from ax_adapters import langchain, llama_index
from support.fresh import fresh


def _langchain(body: Any, name: str) -> Any:
    return StructuredTool.from_function(body, name=name, description="Pays.")


def _llama_index(body: Any, name: str) -> Any:
    return FunctionTool.from_defaults(body, name=name, description="Pays.")


@pytest.mark.parametrize(
    ("make", "wrap", "call"),
    [
        (_langchain, langchain.wrap_tool, lambda tool, n: tool.invoke({"n": n})),
        (_llama_index, llama_index.wrap_tool, lambda tool, n: tool.call(n=n).raw_output),
    ],
    ids=["langchain", "llama_index"],
)
def test_a_call_under_the_new_name_merges_into_what_was_done_under_the_old_one(
    make: Any, wrap: Any, call: Any, tmp_path: Path
) -> None:
    done: list[int] = []

    def pay(n: int) -> str:
        done.append(n)
        return f"paid {n}"

    policy = {"effect": "unsafe", "dedupe": "session"}
    with fresh(path=tmp_path / "ax.db") as ax, ax.run(session="s"):
        assert call(wrap(make(pay, "pay"), ax, policy=policy), 1) == "paid 1"
    with fresh(path=tmp_path / "ax.db") as ax, ax.run(session="s"):
        renamed = wrap(make(pay, "billing_pay"), ax, policy={**policy, "aliases": ["pay"]})
        assert [call(renamed, n) for n in (1, 2)] == ["paid 1", "paid 2"]
    assert done == [1, 2]
