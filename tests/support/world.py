"""The outside world: a process of its own that counts effects, and writes down every request before it replies.

One JSON request per line over TCP on loopback, one JSON reply per line. The books are an append-only file,
forced to disk entry by entry. Requests, by their ``do``:

``unsafe``       acts, every time it is asked
``keyed``        acts once per idempotency key; a repeat gets the first receipt
``idempotent``   sets a subject to a value
``read``         tells that value
``note``         writes down what somebody says: ``begin`` and ``end`` of a tool's body, and with a ``begin`` the
                 attempts of the same task whose body is open in a process that lives
``gate``         writes down ``at <name>`` and replies once the gate ``name`` is open
``open``         opens a gate
``seen``         replies with the books, once they hold ``count`` entries like ``where`` or ``seconds`` have passed
``begin anew``   a new world with empty books in the file ``books``
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socketserver
import sys
import threading
import time
from pathlib import Path
from typing import Any

from support.pids import Life, life

Row = dict[str, Any]
ACTS = ("unsafe", "keyed", "idempotent", "read")


class Books:
    """Everything the world ever saw, in order."""

    def __init__(self, path: Path) -> None:
        self._moved = threading.Condition()
        self._begin(path)

    def _begin(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._open: set[str] = set()
        self._receipts: dict[str, int] = {}
        self._values: dict[str, Any] = {}
        self._bodies: dict[str | None, dict[int, Life]] = {}
        self.entries: list[Row] = []

    def answer(self, asked: Row) -> Row:
        """Do what is asked; on disk before the reply."""
        do = asked.pop("do")
        with self._moved:
            if do in ACTS:
                return self._act(do, asked)
            if do == "note":
                return self._note(asked)
            if do == "open":
                self._open.add(asked["gate"])
                self._moved.notify_all()
                return {}
            if do == "gate":
                gate = asked.pop("gate")
                self._write({"kind": f"at {gate}", **asked})
                self._moved.wait_for(lambda: gate in self._open)
                return {}
            if do == "begin anew":
                self._file.close()
                self._begin(Path(asked["books"]))
                return {}
            assert do == "seen", do
            self._moved.wait_for(lambda: self._like(asked["where"]) >= asked["count"], asked["seconds"])
            return {"entries": self.entries}

    def _act(self, do: str, asked: Row) -> Row:
        entry = {"kind": do, **asked}
        if do == "keyed":
            entry["new"] = asked["key"] not in self._receipts
        entry = self._write(entry)
        if do == "keyed":
            return {"receipt": self._receipts.setdefault(asked["key"], entry["seq"])}
        if do == "idempotent":
            self._values[asked["subject"]] = asked["value"]
        if do == "unsafe":
            return {"receipt": entry["seq"]}
        return {"value": self._values.get(asked["subject"])}

    def _note(self, asked: Row) -> Row:
        bodies = self._bodies.setdefault(asked.get("task"), {})
        if asked["kind"] == "begin":
            asked["beside"] = [number for number, owner in bodies.items() if owner.status is not None]
            bodies[asked["attempt"]] = life(asked["pid"])
        elif asked["kind"] == "end":
            bodies.pop(asked["attempt"], None)
        return self._write(asked)

    def _write(self, entry: Row) -> Row:
        entry = {"seq": len(self.entries) + 1, "at": time.monotonic(), **entry}
        self._file.write(json.dumps(entry).encode() + b"\n")
        os.fsync(self._file.fileno())
        self.entries.append(entry)
        self._moved.notify_all()
        return entry

    def _like(self, where: Row) -> int:
        return sum(all(entry.get(name) == value for name, value in where.items()) for entry in self.entries)


class Desk(socketserver.StreamRequestHandler):
    """One client's connection."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Reply line by line until the client goes, or dies."""
        try:
            for line in self.rfile:
                reply = self.server.books.answer(json.loads(line))  # type: ignore[attr-defined]
                self.wfile.write(json.dumps(reply).encode() + b"\n")
        except OSError:  # killed while it waited for its reply: what it did is on the books
            pass


class Server(socketserver.ThreadingTCPServer):
    """The books behind a free loopback port."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.books = Books(path)


def main() -> None:
    """Serve until TERM, or until whoever holds our stdin is gone; the port goes to stdout."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("books", type=Path)
    server = Server(ask.parse_args().books)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    while os.read(sys.stdin.fileno(), 4096):
        pass


if __name__ == "__main__":
    main()
