"""Worker processes of the tests' own: the real command, signalled by pid."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, Self

from support import command
from support.children import Nursery
from support.servers.process import free_port
from support.surroundings import SURROUNDINGS

PATIENCE = 60.0
WORKSHOP = "support.workshop:make"


class WorkerProcess:
    """``axd worker`` as a process, by default of the workshop; leaving the block kills it.

    Args:
        nursery: what it is forked from; None: it is started anew.
    """

    def __init__(
        self,
        folder: Path,
        url: str,
        queue: str,
        world: int,
        *options: str,
        concurrency: int = 4,
        target: str = WORKSHOP,
        nursery: Nursery | None = None,
        **env: str,
    ) -> None:
        self.health_port = free_port()
        self.log = folder / f"worker-{self.health_port}.log"
        factory = ["--factory"] if target == WORKSHOP else []
        words = ["worker", target, *factory, "--concurrency", str(concurrency), *options]
        words += ["--health", f"127.0.0.1:{self.health_port}"]
        shop = {"SHOP_URL": url, "SHOP_QUEUE": queue, "SHOP_WORLD": str(world)}
        surroundings = {**os.environ, **SURROUNDINGS, **shop, **env}
        with self.log.open("ab") as log:
            self.child = command.start(words, env=surroundings, out=log, err=log, nursery=nursery)

    def __enter__(self) -> Self:
        give_up, pause = time.monotonic() + PATIENCE, 0.005
        while not self.health().get("ok"):
            assert self.child.poll() is None, f"the worker ended\n{self.said}"
            assert time.monotonic() < give_up, f"the worker is not ready: {self.health()}\n{self.said}"
            time.sleep(pause)  # a process that starts tells nobody when it is ready
            pause = min(1.5 * pause, 0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def said(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace")

    def health(self) -> dict[str, Any]:
        """What it tells of itself; empty while it does not listen."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/healthz", timeout=5) as said:
                return dict(json.loads(said.read()))
        except urllib.error.HTTPError as refused:
            return dict(json.loads(refused.read()))
        except OSError:
            return {}

    def kill(self) -> None:
        """kill -9."""
        self.child.kill()
        self.child.wait()

    def terminate(self) -> None:
        """SIGTERM."""
        self.child.terminate()

    def wait(self, seconds: float = PATIENCE) -> int:
        """Its exit code."""
        return self.child.wait(seconds)

    def pause(self) -> None:
        """SIGSTOP."""
        self.child.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self.child.send_signal(signal.SIGCONT)
