"""DBOS, a workflow with one step on SQLite: in a process of its own, with an SQLite new enough."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NEEDED = ("dbos", "pysqlite3")


def missing() -> list[str]:
    """What this Python lacks to run DBOS."""
    return [name for name in NEEDED if find_spec(name) is None]


class Dbos:
    """DBOS as shipped (rollback journal, FULL), or tuned to WAL and NORMAL."""

    def __init__(self, folder: Path, *, tuned: bool) -> None:
        folder.mkdir()
        self._errors = (folder / "stderr").open("w")
        self._child = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "benchmarks.rival_dbos_child",
                str(folder),
                "tuned" if tuned else "shipped",
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.about = self._row()

    def block(self, calls: int) -> float:
        """That many workflows; the child times them, the pipe is not counted."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{calls}\n")
        self._child.stdin.flush()
        return float(str(self._row()["seconds"]))

    def close(self) -> None:
        """End of input ends the child."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        try:
            self._child.wait(10)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()
        self._errors.close()

    def _row(self) -> dict[str, object]:
        assert self._child.stdout is not None
        row = self._child.stdout.readline()
        if not row:
            raise RuntimeError(f"DBOS did not run: see {self._errors.name}")
        found: dict[str, object] = json.loads(row)
        return found
