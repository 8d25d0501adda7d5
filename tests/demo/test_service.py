"""The order service counts what it did before it says so, whatever happens to the reply."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("langchain_core")

from ax_adapters.demo.children import Service
from ax_adapters.demo.client import NoAnswer, OrderService, Refused

REFUND = {"order_id": "o-101", "amount": 10.0}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as running:
        yield running


@pytest.fixture
def client(service: Service) -> OrderService:
    return OrderService(service.url, timeout=10)


def kinds(service: Service) -> list[str]:
    return [effect["kind"] for effect in service.effects()["effects"]]


def test_every_act_is_counted_once(service: Service, client: OrderService) -> None:
    client.post("/refunds", REFUND)
    client.post("/mails", {"to": "ada@example.org", "text": "hello"})
    client.post("/stock", {"sku": "mug", "delta": -1})
    client.post("/orders/o-105/delete", {})
    assert kinds(service) == ["refund", "mail", "stock", "delete"]
    assert service.effects()["stock"]["mug"] == 99


def test_an_effect_is_counted_before_its_reply_is_sent(service: Service, client: OrderService) -> None:
    service.arm({"path": "/refunds", "kind": "delay", "seconds": 30})
    replies: list[dict[str, object]] = []
    caller = threading.Thread(target=lambda: replies.append(client.post("/refunds", REFUND)))
    caller.start()
    assert len(service.effects(subject="o-101", at_least=1, wait=10)["effects"]) == 1
    assert not replies
    service.release()
    caller.join(10)
    assert replies == [{"refund": 1, **REFUND}]


def test_a_dropped_reply_still_leaves_the_effect(service: Service, client: OrderService) -> None:
    service.arm({"path": "/refunds", "subject": "o-101", "kind": "drop"})
    with pytest.raises(NoAnswer):
        client.post("/refunds", REFUND)
    assert kinds(service) == ["refund"]
    client.post("/refunds", REFUND)
    assert kinds(service) == ["refund", "refund"]


def test_a_key_is_honoured_where_the_service_says_so(service: Service, client: OrderService) -> None:
    mail = {"to": "ada@example.org", "text": "hello"}
    assert client.post("/mails", mail, key="k-1")["sent"] == "now"
    assert client.post("/mails", mail, key="k-1")["sent"] == "already"
    assert client.post("/mails", mail, key="k-2")["sent"] == "now"
    assert kinds(service) == ["mail", "mail"]


def test_a_refusal_changes_nothing(service: Service, client: OrderService) -> None:
    with pytest.raises(Refused, match="no order 'o-999'"):
        client.post("/refunds", {"order_id": "o-999", "amount": 1})
    assert kinds(service) == []


def test_reads_are_seen_and_are_no_effects(service: Service, client: OrderService) -> None:
    assert client.get("/orders/o-101")["item"] == "blue mug"
    assert [order["id"] for order in client.get("/search", q="lamp")["orders"]] == ["o-102"]
    assert service.effects() == {
        "effects": [],
        "seen": {"GET /orders": 1, "GET /search": 1},
        "stock": {"chair": 100, "lamp": 100, "mug": 100},
    }


def test_the_books_are_append_only(service: Service, client: OrderService, tmp_path: Path) -> None:
    client.post("/refunds", REFUND)
    books = sqlite3.connect(tmp_path / "service.db", isolation_level=None)
    for wipe in ("DELETE FROM effects", "UPDATE effects SET kind = 'nothing'"):
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            books.execute(wipe)
    books.close()


def test_term_stops_it(tmp_path: Path) -> None:
    service = Service(tmp_path)
    assert service.stop() == 0
