"""Typing `axd` commands in a test, and reading what they say."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ax_core.cli import main

COMMAND = "import sys; from ax_core.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Axd:
    """The command in this process, on one database."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.url, self._capsys = url, capsys

    def __call__(self, *words: str) -> Said:
        self._capsys.readouterr()
        code = main([*words, "--url", self.url])
        return Said(code, *self._capsys.readouterr())

    def typed(self, line: str, **instead: str) -> Said:
        """A line that a person was told to type; ``instead`` fills its placeholders."""
        words = [instead.get(word, word) for word in shlex.split(line)]
        assert words.pop(0) == "axd", line
        self._capsys.readouterr()
        code = main(words)
        return Said(code, *self._capsys.readouterr())

    def json(self, *words: str) -> Any:
        """The document of a command that succeeds."""
        said = self(*words, "--json")
        assert said.code == 0, said
        return said.json


def typed_elsewhere(*words: str, cwd: Path, **env: str) -> Said:
    """The command in a process of its own."""
    surroundings = {k: v for k, v in os.environ.items() if k not in ("AX_URL", "COLUMNS")}
    surroundings |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env}
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *words],
        cwd=cwd,
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return Said(done.returncode, done.stdout, done.stderr)
