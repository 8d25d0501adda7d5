"""A server as a process of the test's own: a free loopback port, a temporary folder, signalled by pid only.

It ends with the tests, also where those are killed and cannot end it.
"""

from __future__ import annotations

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import pytest

from ax_core.worker.warden import Warden

PATIENCE = 60.0
GRACE = 20.0


class Server:
    """One server; a kind of server says its ``programs``, its ``command`` and how it ``answers``.

    Attributes:
        programs: names it may be installed under, the best first.
        places: folders to look in beside PATH; may hold ``*``.
        user: who it runs as where the tests run as root; None: as root. The folder then belongs to that user.
        goodbye: the signal that ends it in an orderly way.
    """

    programs: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    user: str | None = None
    goodbye = signal.SIGTERM

    def __init__(self) -> None:
        self.program = find(self.programs, self.places)
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.programs[0]}-"))
        self.port = free_port()
        self._log = self.folder.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None
        self._warden = Warden()

    # -- what a kind of server says ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Put into the empty folder what the server needs before its first start."""

    def command(self) -> list[str]:
        """What starts it in the foreground, with ``self.port`` and ``self.folder``."""
        raise NotImplementedError

    def answers(self) -> bool:
        """Whether it answers a query now; may raise whatever its client raises."""
        raise NotImplementedError

    # -- its life ------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self._make_folder()
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._warden.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._log.unlink(missing_ok=True)

    @property
    def log(self) -> str:
        """The end of what it wrote to its output and error streams."""
        return self._log.read_text(errors="replace")[-4000:] if self._log.exists() else ""

    def start(self) -> None:
        """Start it, and wait until it answers a query.

        Raises:
            AssertionError: it ended, or did not answer within a minute; with the end of its log.
        """
        assert self._process is None, "it runs"
        self._launch()
        give_up = time.monotonic() + PATIENCE
        problem: Exception | None = None
        while True:
            assert self._process.poll() is None, f"{self.program} ended\n{self.log}"
            try:
                if self.answers():
                    return
            except Exception as error:
                problem = error
            assert time.monotonic() < give_up, f"{self.program} does not answer: {problem}\n{self.log}"
            time.sleep(0.02)  # a server that starts tells nobody when it is ready

    def stop(self) -> None:
        """End it: its goodbye signal, wait, KILL."""
        if self._process is None:
            return
        self.resume()
        self._process.send_signal(self.goodbye)
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.kill()
        self._gone()

    def kill(self) -> None:
        """kill -9, with the processes it started."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            self._process.wait()
            self._gone()

    def restart(self, *, data: bool = True, killed: bool = False) -> None:
        """End it and start it on the same port; without its ``data`` in an empty folder."""
        (self.kill if killed else self.stop)()
        (self.start if data else self.begin_anew)()

    def begin_anew(self) -> None:
        """Start it in an empty folder."""
        shutil.rmtree(self.folder)
        self.folder.mkdir(mode=0o700)
        self._make_folder()
        self.start()

    def pause(self) -> None:
        """SIGSTOP: its connections stay open and nothing answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        self._signal(signal.SIGCONT)

    # -- how it is done ------------------------------------------------------------------------------------------

    def _make_folder(self) -> None:
        if self._as() is not None:
            shutil.chown(self.folder, self._as())
        self.prepare()

    def _launch(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in the terminal is for the tests alone
                user=self._as(),
                group=self._as(),
                extra_groups=[] if self._as() else None,
            )
        self._warden.watch(self._process.pid)

    def _gone(self) -> None:
        if self._process is not None:
            self._warden.forget(self._process.pid)
            self._process = None

    def run(self, *command: str) -> None:
        """Run a program to its end as the server's user, in its folder.

        Raises:
            AssertionError: it failed; with what it said.
        """
        done = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            user=self._as(),
            group=self._as(),
        )
        assert done.returncode == 0, f"{command} failed\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    def _as(self) -> str | None:
        return self.user if self.user is not None and os.geteuid() == 0 else None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "it does not run"
        for pid in family(self._process.pid):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass


def find(programs: tuple[str, ...], places: tuple[str, ...] = ()) -> str:
    """The path of the first of these programs; where there is none the test is skipped, and fails under CI."""
    folders = [folder for place in places for folder in sorted(glob.glob(place), reverse=True)]
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), *folders, "/usr/sbin", "/usr/local/sbin"])
    for program in programs:
        if found := shutil.which(program, path=path):
            return found
    reason = f"none of {', '.join(programs)} is installed"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def free_port() -> int:
    """A loopback port nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def family(pid: int) -> list[int]:
    """A process and what it started, itself first (where there is no /proc: itself alone)."""
    found = [pid]
    for each in found:
        try:
            found += map(int, Path(f"/proc/{each}/task/{each}/children").read_text().split())
        except OSError:
            pass
    return found
