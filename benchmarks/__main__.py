"""`make bench`: run every comparison, print the table, keep the numbers as JSON."""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

from rich.console import Console

from benchmarks.comparisons import COMPARISONS
from benchmarks.measure import machine
from benchmarks.report import Findings

NEEDS_LANGCHAIN = ("langgraph", "wrapping")
FILLS_A_FILE = ("million", "workers")


def main(argv: list[str] | None = None) -> int:
    """0 when every limit was kept."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    ask.add_argument("--only", nargs="+", choices=list(COMPARISONS), default=list(COMPARISONS))
    ask.add_argument(
        "--dir", type=Path, help="a folder on the disk to be measured (default: the temporary folder)"
    )
    ask.add_argument("--tasks", type=int, default=1_000_000, help="how many tasks the full file holds")
    ask.add_argument("--json", type=Path, default=Path("bench.json"), help="where the numbers go")
    said = ask.parse_args(argv)
    console, began = Console(), monotonic()
    if not console.is_terminal:
        console = Console(width=140)
    found = Findings(machine())
    with tempfile.TemporaryDirectory(prefix="ax-bench-", dir=said.dir) as folder:
        for name in said.only:
            console.print(f"{name} …", style="dim")
            if name in NEEDS_LANGCHAIN and find_spec("langgraph") is None:
                found.skipped[name] = "pip install 'ax-adapters[bench]'"
                continue
            own = Path(folder, name)
            own.mkdir()
            more = {"tasks": said.tasks} if name in FILLS_A_FILE else {}
            try:
                COMPARISONS[name](found, own, **more)
            except Exception as error:  # one that cannot run must not cost the others their numbers
                found.failed[name] = f"{type(error).__name__}: {error}"
                console.print_exception()
    found.seconds = monotonic() - began
    found.show(console)
    found.save(said.json)
    console.print(f"numbers: {said.json}")
    return 0 if found.met else 1


if __name__ == "__main__":
    sys.exit(main())
