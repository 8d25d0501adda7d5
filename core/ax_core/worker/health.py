"""How a worker is, over HTTP: for a supervisor that restarts what hangs."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import PolicyError
from .worker import Worker

SILENT_SECONDS = 15.0
"""A worker with room whose queue has not answered for so long is not well."""


class Health:
    """``GET /healthz`` on ``HOST:PORT`` for as long as the block lasts: 200, or 503; the body is JSON either way.

    Raises:
        PolicyError: no such address, or it is taken.
    """

    def __init__(self, worker: Worker, address: str) -> None:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise PolicyError(f"health={address!r} is no HOST:PORT, like 127.0.0.1:8081")
        try:
            self._server = ThreadingHTTPServer((host.strip("[]"), int(port)), _answering(worker))
        except (OSError, OverflowError) as error:
            raise PolicyError(f"health={address!r}: {error}") from error
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Health:
        threading.Thread(target=self._server.serve_forever, name="ax-health", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def state_of(worker: Worker) -> dict[str, Any]:
    """What is told: ``ok`` and why not, seconds since the queue answered, and how many tasks run."""
    polled = worker.seconds_since_poll
    why = None
    if polled is None:
        why = "the queue has not answered yet"
    elif polled > SILENT_SECONDS and worker.running < worker.concurrency:
        why = f"the queue has not answered for {polled:.0f} s"
    return {
        "ok": why is None,
        "why": why,
        "last_poll_seconds": None if polled is None else round(polled, 3),
        "running": worker.running,
        "concurrency": worker.concurrency,
        "queues": list(worker.queues),
        "in_line": worker.in_line,
        "leaked_threads": worker.leaked,
        "stopping": worker.stopping,
    }


def _answering(worker: Worker) -> type[BaseHTTPRequestHandler]:
    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path not in ("/", "/healthz"):
                self.send_error(404)
                return
            state = state_of(worker)
            body = json.dumps(state).encode()
            self.send_response(200 if state["ok"] else 503)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Answering
