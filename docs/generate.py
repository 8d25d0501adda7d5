"""Write the generated parts of the docs from the code, or check that they are up to date (--check).

A generated part stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``; everything around it is
written by hand.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from ax_core.states import FINAL, TRANSITIONS, WAY_OUT, State

DOCS = Path(__file__).parent


def state_diagram() -> str:
    """The transition table as a mermaid state diagram, in the order of the states' definition."""
    lines = ["```mermaid", "stateDiagram-v2"]
    order = list(State)
    for source, targets in TRANSITIONS.items():
        lines += [f"    {source or '[*]'} --> {target}" for target in sorted(targets, key=order.index)]
    lines += [f"    {state} --> [*]" for state in order if not TRANSITIONS[state]]
    lines.append("    classDef parked stroke-width:3px")
    lines += [f"    class {state} parked" for state in order if state in FINAL]
    return "\n".join([*lines, "```"])


def ways_out() -> str:
    """One row per state: what may come next and by whom."""
    order = list(State)
    rows = ["| state | its way out | may become |", "|---|---|---|"]
    for state in order:
        targets = ", ".join(sorted(TRANSITIONS[state], key=order.index)) or "nothing"
        rows.append(f"| {state} | {WAY_OUT[state]} | {targets} |")
    return "\n".join(rows)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "architecture.md": {"states": state_diagram},
    "semantics.md": {"ways-out": ways_out},
}


def filled(text: str, parts: dict[str, Callable[[], str]], page: str) -> str:
    """``text`` with every part between its markers written anew."""
    for name, make in parts.items():
        begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            sys.exit(f"docs/{page}: there is no {begin} … {end}")
        text = f"{head}{begin}\n{make()}\n{end}{tail}"
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a part is out of date")
    check = parser.parse_args().check
    stale = []
    for page, parts in PARTS.items():
        path = DOCS / page
        before = path.read_text(encoding="utf-8")
        after = filled(before, parts, page)
        if after != before:
            stale.append(f"docs/{page}")
            if not check:
                path.write_text(after, encoding="utf-8")
    if check and stale:
        print(f"out of date: {', '.join(stale)}; run `make docs`", file=sys.stderr)
        return 1
    print("docs are up to date" if not stale else f"wrote {', '.join(stale)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
