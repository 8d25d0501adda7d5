"""A process that has imported everything and forks ready-made child processes, each in milliseconds.

It never opens a store or starts a thread, so a child is as fresh as one that was started by hand. It takes one
JSON line per child over a Unix socket, with the child's standard input and output as file descriptors, and
replies with its pid. Children that are still there when the socket closes are killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from importlib import import_module

from ax_core import AX
from support import agent_tools
from support.outside import Outside

READY_MADE = (
    "alembic.command",
    "alembic.config",
    "asyncio",
    "ax_core.app.core",
    "ax_core.app.serve",
    "ax_core.control",
    "ax_core.dispatch.aloop",
    "ax_core.registry.signature",
    "ax_core.store.migrate",
    "ax_core.store.tables",
    "jsonschema",
    "sqlalchemy.dialects.sqlite",
    "support.agent_process",
)


def main() -> None:
    """Fork until the socket closes."""
    for name in READY_MADE:
        import_module(name)
    home = socket.socket(fileno=int(sys.argv[1]))
    children: set[int] = set()

    def reap(*_: object) -> None:
        # Until it is reaped a pid cannot be used again: what is in the set is ours to kill.
        try:
            while (dead := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                children.discard(dead)
        except ChildProcessError:
            pass

    signal.signal(signal.SIGCHLD, reap)
    # What registering a tool imports and compiles, too; nothing is opened by it.
    agent_tools.register(AX("sqlite://"), Outside(0), ["unsafe_here", "unsafe_loop"])
    home.sendall(b"ready\n")
    while True:
        asked, files, _, _ = socket.recv_fds(home, 1 << 16, 2)
        if not asked:
            break
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        pid = os.fork()
        if pid == 0:
            _become(json.loads(asked), files, home)
        children.add(pid)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for file in files:
            os.close(file)
        home.sendall(f"{pid}\n".encode())
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    for pid in children:
        os.kill(pid, signal.SIGKILL)


def _become(asked: dict[str, str], files: list[int], home: socket.socket) -> None:
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        home.close()
        for target, file in enumerate(files):
            os.dup2(file, target)
            os.close(file)
        log = os.open(asked["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 2)
        os.close(log)
        sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode, 1) for n, mode in enumerate("rww"))
        import_module(asked["module"]).main(asked["spec"])
        code = 0
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
