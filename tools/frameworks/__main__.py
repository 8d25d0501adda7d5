"""``python -m tools.frameworks [package …] [--way plain|timeout] [--verbose]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .run import ROOT, run, sources
from .suites import SUITES


def main() -> int:
    """Run the suites; the number of tests that newly fail."""
    parser = argparse.ArgumentParser(prog="frameworks", description=__doc__)
    parser.add_argument("packages", nargs="*", help="only these")
    parser.add_argument("--way", choices=("plain", "timeout"), default="plain")
    parser.add_argument("--cache", type=Path, default=ROOT / ".frameworks")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="print what pytest said of the wrapped run")
    asked = parser.parse_args()
    asked.cache.mkdir(exist_ok=True)
    new = 0
    for suite in SUITES:
        if asked.packages and suite.package not in asked.packages:
            continue
        folder = sources(suite, asked.cache)
        if folder is None:
            print(f"{suite.needs or suite.package} is not installed: {' '.join(suite.paths)} left out")
            continue
        bare = run(suite, folder, "bare", asked.processes)
        wrapped = run(suite, folder, asked.way, asked.processes)
        lost = sorted(bare.passed - wrapped.passed)
        print(
            f"{folder.name}: bare {len(bare.passed)}/{len(bare.ends)}, "
            f"wrapped {len(wrapped.passed)}/{len(wrapped.ends)} ({wrapped.wrapped} tools)",
            flush=True,
        )
        for name in lost:
            why = suite.may_fail.get(name)
            print(f"  {'differs, as meant' if why else 'NEWLY FAILING'}: {name}{f' ({why})' if why else ''}")
            new += why is None
        if asked.verbose:
            print(wrapped.output)
    print(f"{new} newly failing" if new else "nothing newly fails")
    return min(new, 1)


if __name__ == "__main__":
    sys.exit(main())
