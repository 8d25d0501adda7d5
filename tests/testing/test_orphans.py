"""Servers that tests have started end with them, also where the tests are killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from support.ledger import until
from support.servers.mariadb import MariaDB
from support.servers.postgres import Postgres
from support.servers.process import Server, find
from support.servers.redis import Redis
from support.surroundings import SURROUNDINGS

PROGRAM = """
import time
from {module} import {kind}
with {kind}() as server:
    print(server.port, server.folder, flush=True)
    time.sleep(60)
"""


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("kind", [Redis, Postgres, MariaDB])
def test_a_server_ends_when_the_tests_are_killed(kind: type[Server]) -> None:
    """kill -9, which no test can do anything about; it ends within seconds, and frees its port."""
    find(kind.programs, kind.places)
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(module=kind.__module__, kind=kind.__name__)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **SURROUNDINGS},
    )
    assert child.stdout is not None
    port, folder = child.stdout.readline().split()
    assert listens(int(port))
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert until(lambda: not listens(int(port)), seconds=20)
    shutil.rmtree(folder, ignore_errors=True)
    Path(folder).with_suffix(".log").unlink(missing_ok=True)
