"""``python -m tools.frameworks [package …] [--llama-index FOLDER] [--way plain|timeout] [--verbose]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from .run import ROOT, run, sources
from .suites import LLAMA_INDEX, SUITES, Suite


def fetched(asked: argparse.Namespace) -> Iterator[tuple[Suite, Path]]:
    """The suites that are wanted and can run, each with its sources."""
    asked.cache.mkdir(exist_ok=True)
    for suite in SUITES:
        if asked.packages and suite.package not in asked.packages:
            continue
        folder = sources(suite, asked.cache)
        if folder is None:
            print(f"{suite.needs or suite.package} is not installed: {' '.join(suite.paths)} left out")
        else:
            yield suite, folder


def compared(suite: Suite, folder: Path, asked: argparse.Namespace) -> int:
    """Run a suite bare and wrapped; how many tests newly fail."""
    bare = run(suite, folder, "bare", asked.processes)
    wrapped = run(suite, folder, asked.way, asked.processes)
    print(
        f"{folder.name}: bare {len(bare.passed)}/{len(bare.ends)}, "
        f"wrapped {len(wrapped.passed)}/{len(wrapped.ends)} ({wrapped.wrapped} tools)",
        flush=True,
    )
    new = 0
    for name in sorted(bare.passed - wrapped.passed):
        why = suite.may_fail.get(name)
        print(f"  {'differs, as meant' if why else 'NEWLY FAILING'}: {name}{f' ({why})' if why else ''}")
        new += why is None
    if asked.verbose:
        print(wrapped.output)
    return new


def main() -> int:
    """Run the suites; the number of tests that newly fail."""
    parser = argparse.ArgumentParser(prog="frameworks", description=__doc__)
    parser.add_argument("packages", nargs="*", help="only these")
    parser.add_argument("--way", choices=("plain", "timeout"), default="plain")
    parser.add_argument("--cache", type=Path, default=ROOT / ".frameworks")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print what pytest said of the wrapped run")
    parser.add_argument(
        "--llama-index", type=Path, metavar="FOLDER", help="only the tests of LlamaIndex in it"
    )
    asked = parser.parse_args()
    if asked.llama_index is not None:
        new = compared(LLAMA_INDEX, asked.llama_index.resolve(), asked)
    else:
        new = sum(compared(suite, folder, asked) for suite, folder in fetched(asked))
    print(f"{new} newly failing" if new else "nothing newly fails")
    return min(new, 1)


if __name__ == "__main__":
    sys.exit(main())
