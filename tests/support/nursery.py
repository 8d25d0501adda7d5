"""A process that has imported everything and forks ready-made child processes, each in milliseconds.

It never opens a store or starts a thread, so a child is as fresh as one that was started by hand. It takes one
JSON line per child over a Unix socket, with the child's standard input, output and error as file descriptors, and
perhaps a fourth, to which the exit code is written once the child is over. It replies with the child's pid.
Children that are still there when the socket closes are killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from ax_core.cli.axd import made
from support import known_gates, workshop

READY_MADE = (
    "alembic.command",
    "alembic.config",
    "asyncio",
    "ax_core.app.core",
    "ax_core.app.serve",
    "ax_core.cli.worker",
    "ax_core.control",
    "ax_core.dispatch.aloop",
    "ax_core.registry.signature",
    "ax_core.store.migrate",
    "ax_core.store.servers.server",
    "ax_core.store.tables",
    "ax_core.worker.worker",
    "jsonschema",
    "sqlalchemy.dialects.sqlite",
    "support.agent_process",
    "support.command",
    "support.workshop",
)
WHERE_INSTALLED = (
    "redis",
    "sqlalchemy.dialects.mysql.pymysql",
    "sqlalchemy.dialects.postgresql.psycopg",
    "psycopg",
    "pymysql",
)


def main() -> None:
    """Fork until the socket closes."""
    for name in READY_MADE:
        import_module(name)
    for name in WHERE_INSTALLED:
        with suppress(ImportError):
            import_module(name)
    home = socket.socket(fileno=int(sys.argv[1]))
    children: dict[int, int | None] = {}

    def reap(*_: object) -> None:
        # Until it is reaped a pid cannot be used again: what is in the dict is ours to kill.
        try:
            while (dead := os.waitpid(-1, os.WNOHANG))[0] != 0:
                _tell(children.pop(dead[0], None), os.waitstatus_to_exitcode(dead[1]))
        except ChildProcessError:
            pass

    signal.signal(signal.SIGCHLD, reap)
    # What reading a command and registering a tool imports and compiles, too; nothing is opened by it.
    if sys.argv[2]:
        known_gates.remember()
    made().parse_args(["worker", "workshop:ax"], exit_on_error=False)
    workshop.shop("sqlite://", "redis://127.0.0.1:1/0", 0)
    home.sendall(b"ready\n")
    while True:
        asked, files, _, _ = socket.recv_fds(home, 1 << 16, 4)
        if not asked:
            break
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            for ear in children.values():
                if ear is not None:
                    os.close(ear)
            _become(json.loads(asked), files, home)
        children[pid] = files.pop() if len(files) == 4 else None
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for file in files:
            os.close(file)
        home.sendall(f"{pid}\n".encode())
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _tell(ear: int | None, code: int) -> None:
    if ear is not None:
        with suppress(OSError):  # nobody listens any more
            os.write(ear, f"{code}\n".encode())
        os.close(ear)


def _become(asked: dict[str, Any], files: list[int], home: socket.socket) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        home.close()
        for target, file in enumerate(files):
            if target < 3:
                os.dup2(file, target)
            os.close(file)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, 1) for n, mode in enumerate("rww"))
        code = import_module(asked["module"]).main(asked["spec"]) or 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
        finally:
            # As at the end of any interpreter: what daemon threads still do is cut off.
            os._exit(code)


if __name__ == "__main__":
    main()
