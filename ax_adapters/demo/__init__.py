"""The demo: one conversation, run bare and run under AX, judged by an outside process that counts effects."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

NEEDED = ("langchain", "langgraph", "langgraph.checkpoint.sqlite")
HINT = "the demo drives a real LangChain agent; install it with:  pip install 'ax-adapters[demo]'"


def missing() -> list[str]:
    """The packages the demo needs and this Python does not have."""
    return [name for name in NEEDED if not _present(name)]


def _present(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo: 0 when every promise was kept, 1 when one was broken, 2 when it cannot run here."""
    absent = missing()
    if absent:
        sys.stderr.write(f"{HINT}\n(not found: {', '.join(absent)})\n")
        return 2
    from ax_adapters.demo.story import main as tell

    return tell(argv)
