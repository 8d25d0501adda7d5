"""Servers of the benchmark's own: on a free loopback port, in a folder that goes with them, ended by their pid."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

PLACES = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/bin", "/usr/local/bin", "/usr/sbin")
PATIENCE = 30.0


def found(*programs: str) -> str | None:
    """The path of the first of these programs that is installed."""
    folders = [folder for place in PLACES for folder in sorted(glob.glob(place), reverse=True)]
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])
    return next((at for name in programs if (at := shutil.which(name, path=path))), None)


class Served:
    """A server process that listens on ``port`` for as long as the block lasts.

    Args:
        user: who it runs as where we are root; None: as root.
    """

    def __init__(self, folder: Path, user: str | None = None) -> None:
        self.folder = folder
        self.user = user if os.geteuid() == 0 else None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def command(self) -> list[str]:
        """What starts it in the foreground."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True)
        if self.user is not None:
            shutil.chown(self.folder, self.user)
        self._log = (self.folder.with_suffix(".log")).open("w")
        self._process = subprocess.Popen(
            self.command(), cwd=self.folder, stdout=self._log, stderr=self._log, user=self.user
        )
        give_up = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up:
                self.__exit__()
                raise RuntimeError(f"{self.command()[0]} does not listen: see {self._log.name}")
            time.sleep(0.02)  # a server that starts tells nobody when it is ready
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


class RedisServer(Served):
    """Redis in memory, nothing saved: what the rivals like best, and AX needs no more of it."""

    programs = ("redis-server", "valkey-server")

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> list[str]:
        program = found(*self.programs)
        assert program is not None
        return [program, "--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]


class PostgresServer(Served):
    """PostgreSQL as it is shipped: every commit is synced unless the client says otherwise."""

    programs = ("postgres",)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "postgres")

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"postgresql+psycopg://bench@127.0.0.1:{self.port}/postgres"

    def command(self) -> list[str]:
        program = found(*self.programs)
        assert program is not None
        data = self.folder / "data"
        initdb = str(Path(os.path.realpath(program)).with_name("initdb"))
        subprocess.run(
            [initdb, "-D", str(data), "-U", "bench", "-A", "trust", "-E", "UTF8", "--locale=C"],
            check=True,
            capture_output=True,
            cwd=self.folder,
            user=self.user,
        )
        given = ("listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=")
        return [program, "-D", str(data), *(word for each in given for word in ("-c", each))]
