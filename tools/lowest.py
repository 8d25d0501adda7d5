"""The lowest allowed versions, for a virtual environment that has them.

``python tools/lowest.py EXTRA …``: constraints that pin the direct dependencies, and those of these extras.
``python tools/lowest.py --tools``: what the tests need beside them, at any version.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text())["project"]
_LOWEST = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?>=(?P<version>[^,;\s]+)")


def pins(extras: list[str]) -> list[str]:
    """``name==version`` for each direct dependency that names a lowest version."""
    extra = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *(each for name in extras for each in extra[name])]
    found = filter(None, map(_LOWEST.match, asked))
    return sorted({f"{each['name']}=={each['version']}" for each in found})


def tools() -> list[str]:
    """The names of what the tests are run with."""
    asked = PROJECT["optional-dependencies"]["test"]
    return [re.split(r"[\[<>=!;\s]", each)[0] for each in asked if not each.startswith("ax-adapters")]


if __name__ == "__main__":
    print("\n".join(tools() if sys.argv[1:] == ["--tools"] else pins(sys.argv[1:])))
