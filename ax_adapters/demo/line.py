"""The line between the story and an agent process: one JSON object per row, both ways."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO


class Line:
    """The agent's end: say what happened, wait for a word. Stray prints go to stderr, never onto the line."""

    def __init__(self) -> None:
        self._out: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)

    def say(self, event: str, **data: Any) -> None:
        """Tell the story that something happened."""
        self._out.write(json.dumps({"event": event, **data}, default=str) + "\n")
        self._out.flush()

    def wait(self) -> str:
        """Wait until the story answers; the end of the line ends this process."""
        heard = sys.stdin.readline()
        if not heard:
            raise SystemExit("the story is gone")
        return heard.strip()
