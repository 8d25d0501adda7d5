"""Write the generated parts of the docs from the code, or check that they are up to date (--check).

A generated part stands between ``<!-- name:begin -->`` and ``<!-- name:end -->``; everything around it is
written by hand.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ax_core import errors
from ax_core.hooks import NAMES
from ax_core.keys import forms
from ax_core.policy import Effect, Policy
from ax_core.schema import coerce
from ax_core.settings import Settings
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
    rows = []
    for state in order:
        targets = ", ".join(sorted(TRANSITIONS[state], key=order.index)) or "nothing"
        rows.append((state, WAY_OUT[state], targets))
    return table(("state", "its way out", "may become"), rows)


def policy_fields() -> str:
    """The fields of a policy, with the words of its own docstring."""
    said = arguments(Policy) | {
        "effect": ", ".join(f"`{effect.value}`" for effect in Effect if effect is not Effect.UNDECLARED)
    }
    fields = [
        (f"`{f.name}`", f"`{shown(f.default)}`", said.get(f.name, "")) for f in dataclasses.fields(Policy)
    ]
    return table(("field", "default", "meaning"), [row for row in fields if row[2]])


def settings() -> str:
    """The settings, with their variables."""
    said = arguments(Settings)
    rows = [
        (f"`{f.name}`", f"`AX_{f.name.upper()}`", f"`{shown(f.default)}`", said[f.name])
        for f in dataclasses.fields(Settings)
    ]
    return table(("setting", "variable", "default", "meaning"), rows)


def error_tree() -> str:
    """The errors, each with its code and whether the same call may be issued again."""
    rows = []
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, errors.AXError) and kind is not errors.AXError:
            repeat = "yes" if kind.safe_to_repeat else "no"
            if kind is errors.ToolFailed:
                repeat = "unless `maybe_applied`"
            rows.append((f"`{kind.__name__}`", f"`{kind.code}`", repeat, first_sentence(kind)))
    return table(("error", "code", "safe to repeat", "meaning"), rows)


def event_names() -> str:
    """The names that ``@ax.on`` takes."""
    return ", ".join(f"`{name}`" for name in NAMES)


PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "architecture.md": {"states": state_diagram},
    "arguments.md": {"coercions": coerce.table_markdown, "canonical": forms.table_markdown},
    "reference.md": {
        "policy": policy_fields,
        "settings": settings,
        "errors": error_tree,
        "events": event_names,
    },
    "semantics.md": {"ways-out": ways_out},
}


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A markdown table."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def arguments(kind: type) -> dict[str, str]:
    """What the ``Args:`` of a class's docstring say about each name, as markdown on one line."""
    _, _, part = inspect.cleandoc(kind.__doc__ or "").partition("Args:\n")
    block = re.split(r"\n\n?\S", part, maxsplit=1)[0]
    found = re.findall(r"^    (\w+): (.*(?:\n        .*)*)", block, flags=re.MULTILINE)
    return {name: markdown(text) for name, text in found}


def first_sentence(kind: type) -> str:
    """The first line of a class's docstring, as markdown."""
    return markdown(inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0])


def markdown(text: str) -> str:
    """Docstring text as markdown on one line."""
    text = " ".join(text.split())
    return re.sub(r":\w+:`(\w+)`", r"`\1`", text).replace("``", "`")


def shown(value: Any) -> str:
    """A default as a user would write it."""
    return value.value if isinstance(value, Effect) else repr(value)


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
