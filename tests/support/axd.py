"""Typing `axd` commands in a test, and reading what they say."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import pytest

from ax_core.cli import main
from support import command
from support.children import Nursery


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


def typed_elsewhere(*words: str, cwd: Path, nursery: Nursery | None = None, **env: str) -> Said:
    """The command in a process of its own; started anew, unless there is a nursery to fork it from."""
    surroundings = {k: v for k, v in os.environ.items() if k not in ("AX_URL", "COLUMNS")}
    surroundings |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env}
    with TemporaryFile() as out, TemporaryFile() as err:
        ran = command.start(list(words), env=surroundings, cwd=cwd, out=out, err=err, nursery=nursery)
        try:
            code = ran.wait(60)
        finally:
            ran.kill()
            ran.wait()
        return Said(code, *(_text(file) for file in (out, err)))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
