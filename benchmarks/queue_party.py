"""One contender among the queues: its client and its worker as processes, still while it is not their turn."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

TICK = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Turn:
    """One block: seconds per call as the client saw them, calls per second, CPU seconds per call of both sides."""

    median: float
    rate: float
    cpu: float
    client_cpu: float


class Party:
    """A client and some workers of one module.

    Args:
        module: like ``benchmarks.rival_huey``.
        given: environment variables.
    """

    def __init__(
        self, name: str, module: str, folder: Path, slots: int, given: dict[str, str], workers: int = 1
    ) -> None:
        folder.mkdir(parents=True)
        self.name = name
        root = Path(__file__).parents[1]
        path = os.pathsep.join([str(root), str(root / "core"), os.environ.get("PYTHONPATH", "")])
        env = {**os.environ, "PYTHONPATH": path, "AX_BENCH_SLOTS": str(slots), **given}
        self._log = (folder / "log").open("w")
        before = {key: os.environ.get(key) for key in given}
        os.environ.update(given)  # a command may name what it is given
        try:
            command = import_module(module).worker(slots)
        finally:
            for key, value in before.items():
                os.environ.pop(key, None) if value is None else os.environ.update({key: value})
        run: Any = {"env": env, "stderr": self._log, "start_new_session": True}
        self._workers = [
            subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._log, cwd=folder, **run)
            for _ in range(workers)
        ]
        asked = [sys.executable, "-m", "benchmarks.queue_client", module]
        self._client = subprocess.Popen(
            asked, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, **run
        )
        self._said()  # its first calls were answered
        self._signal(signal.SIGSTOP)

    def turn(self, width: int, calls: int) -> Turn:
        """A block of calls with so many in flight; everybody else is still meanwhile."""
        self._signal(signal.SIGCONT)
        try:
            client, before = cpu([self._client.pid]), cpu(self.pids)
            said = self.ask(width, calls)
            both, own = cpu(self.pids) - before, cpu([self._client.pid]) - client
        finally:
            self._signal(signal.SIGSTOP)
        return Turn(
            said["median"], said["calls"] / said["seconds"], both / said["calls"], own / said["calls"]
        )

    def ask(self, width: int, calls: int) -> dict[str, Any]:
        """The same, where it runs already."""
        assert self._client.stdin is not None
        self._client.stdin.write(json.dumps({"width": width, "calls": calls}) + "\n")
        self._client.stdin.flush()
        return self._said()

    @property
    def workers(self) -> list[int]:
        """Its workers' processes."""
        return [pid for each in self._workers for pid in family(each.pid)]

    @property
    def pids(self) -> list[int]:
        """All its processes."""
        return [self._client.pid, *self.workers]

    def close(self) -> None:
        """End them."""
        self._signal(signal.SIGCONT)
        assert self._client.stdin is not None
        self._client.stdin.close()
        for each in (*self._workers, self._client):
            each.terminate()
        for each in (*self._workers, self._client):
            try:
                each.wait(5)
            except subprocess.TimeoutExpired:
                for pid in reversed(family(each.pid)):
                    os.kill(pid, signal.SIGKILL)
                each.wait()
        self._log.close()

    def _said(self) -> dict[str, Any]:
        assert self._client.stdout is not None
        row = self._client.stdout.readline()
        if not row:
            raise RuntimeError(f"{self.name} did not run: {Path(self._log.name).read_text()[-2000:]}")
        found: dict[str, Any] = json.loads(row)
        return found

    def _signal(self, number: signal.Signals) -> None:
        for pid in self.pids:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def family(pid: int) -> list[int]:
    """A process and what it started."""
    found = [pid]
    for each in found:
        try:
            tasks = list(Path(f"/proc/{each}/task").iterdir())
            found += [int(child) for task in tasks for child in (task / "children").read_text().split()]
        except OSError:
            pass
    return found


def cpu(pids: list[int]) -> float:
    """The CPU seconds that these processes have used, in user and system mode."""
    used = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        used += (int(fields[11]) + int(fields[12])) * TICK
    return used
