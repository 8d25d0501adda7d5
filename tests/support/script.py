"""A few lines of Python in an interpreter of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from support.surroundings import SURROUNDINGS


def run(code: str, folder: Path, *arguments: object, seconds: float = 60.0, **environment: str) -> str:
    """What the script prints; it must end by itself, well, and within ``seconds``."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **SURROUNDINGS, **environment},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
