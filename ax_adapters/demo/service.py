"""The order service: a process of its own, real HTTP on loopback, that counts an effect before it replies."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ax_adapters.demo.trouble import Knob, Trouble
from ax_adapters.demo.world import Refusal, Row, World


class OrderServer(ThreadingHTTPServer):
    """One world and one fault knob behind a loopback port."""

    daemon_threads = True

    def __init__(self, world: World) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.world, self.knob = world, Knob()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to report: its effect is already counted."""


class Handler(BaseHTTPRequestHandler):
    """GET /orders/<id> /search /effects; POST /refunds /mails /stock /orders/<id>/delete /faults."""

    server: OrderServer

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the effects table is the log."""

    def do_GET(self) -> None:
        """Reads: they are counted as seen, and change nothing."""
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        world = self.server.world
        try:
            if url.path == "/effects":
                return self._reply(
                    200,
                    world.effects(
                        subject=query.get("subject"),
                        wait=float(query.get("wait", 0)),
                        at_least=int(query.get("at_least", 0)),
                    ),
                )
            world.saw(f"GET /{url.path.split('/')[1]}")
            if url.path == "/search":
                return self._reply(200, {"orders": world.search(query.get("q", ""))})
            if url.path.startswith("/orders/"):
                return self._reply(200, world.order(unquote(url.path.removeprefix("/orders/"))))
            raise Refusal(404, f"no such page {url.path}")
        except Refusal as no:
            self._reply(no.status, {"error": str(no)})

    def do_POST(self) -> None:
        """Acts: commit first, then (perhaps) reply."""
        path = urlsplit(self.path).path
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        try:
            if path == "/faults":
                self.server.knob.arm(Trouble(**body))
                return self._reply(200, {"armed": body})
            if path == "/faults/release":
                self.server.knob.release()
                return self._reply(200, {"released": True})
            subject, answer = self._act(path, body)
        except (Refusal, ValueError, TypeError) as no:
            return self._reply(getattr(no, "status", 422), {"error": str(no)})
        route = "/orders/delete" if path.startswith("/orders/") else path
        trouble = self.server.knob.take(route, subject)
        if trouble is not None and trouble.kind == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if trouble is not None:
            self.server.knob.hold(trouble)
        self._reply(200, answer)

    def _act(self, path: str, body: Row) -> tuple[str, Row]:
        world = self.server.world
        if path == "/refunds":
            order = world.order(str(body.get("order_id")))
            amount = order["total"] if body.get("amount") is None else body["amount"]
            number, _ = world.act("refund", order["id"], {"amount": amount})
            return order["id"], {"refund": number, "order_id": order["id"], "amount": amount}
        if path == "/mails":
            key = self.headers.get("Idempotency-Key")
            number, new = world.act("mail", str(body["to"]), {"text": str(body.get("text", ""))}, key=key)
            return str(body["to"]), {"mail": number, "sent": "now" if new else "already"}
        if path == "/stock":
            sku, delta = str(body["sku"]), body.get("delta")
            move = ("UPDATE stock SET qty = qty + ? WHERE sku = ?", (delta, sku))
            number, _ = world.act("stock", sku, {"delta": delta}, change=move)
            return sku, {"movement": number, "sku": sku, "delta": delta}
        if path.startswith("/orders/") and path.endswith("/delete"):
            order = world.order(unquote(path.split("/")[2]))
            gone = ("DELETE FROM orders WHERE id = ?", (order["id"],))
            number, _ = world.act("delete", order["id"], {}, change=gone)
            return order["id"], {"deleted": order["id"], "receipt": number}
        raise Refusal(404, f"no such page {path}")

    def _reply(self, status: int, body: Row) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _stop_when_stdin_closes(server: OrderServer) -> None:
    while os.read(0, 4096):  # not sys.stdin: a buffer's lock held at exit is a fatal error
        pass
    server.shutdown()


def main(argv: list[str] | None = None) -> int:
    """Serve until TERM, or until whoever holds our stdin is gone; the port goes to stdout and --port-file."""
    ask = argparse.ArgumentParser(prog="order-service", description=__doc__)
    ask.add_argument("--db", required=True, help="the service's own SQLite file")
    ask.add_argument("--port-file", help="write the port here once it is bound")
    ask.add_argument("--tied", action="store_true", help="stop when stdin closes")
    said = ask.parse_args(argv)
    server = OrderServer(World(said.db))
    port = server.server_address[1]
    if said.port_file:
        with open(f"{said.port_file}.new", "w", encoding="utf-8") as out:
            out.write(str(port))
        os.replace(f"{said.port_file}.new", said.port_file)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
    if said.tied:
        threading.Thread(target=_stop_when_stdin_closes, args=(server,), daemon=True).start()
    server.serve_forever(poll_interval=0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main())
