"""Rollbacks that were begun where no tool is: workers end them."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import AX, RunState, State
from ax_core.worker.rollbacks import Rollbacks
from support.ledger import until


def booked(ax: AX, *subjects: str, gate: str = "") -> str:
    """A run that booked these; its id."""
    with ax.run(intent="a trip") as run:
        for subject in subjects:
            ax.call("book", {"subject": subject, "gate": gate})
    return run.id


def begun(shop: Any, run_id: str, ns: str = "default") -> None:
    """An operator's process, which knows no tools, begins the rollback and leaves."""
    with AX(shop.url).for_namespace(ns) as operator:
        verdict = operator.rollback(run_id, by="ops")
    assert not verdict.done
    assert "a worker that knows book" in verdict.message


def over(ax: AX, run_id: str) -> bool:
    run = ax.tree(run_id).run
    return run.state is RunState.ROLLED_BACK and run.reason is None


def undone(shop: Any) -> list[str]:
    return [e["subject"] for e in shop.world.seen() if e["kind"] == "undone"]


def test_a_rollback_that_was_begun_elsewhere_is_ended_by_the_workers(shop_on: Any) -> None:
    """The last first, each once, however many workers there are; and the record says so."""
    for _ in range(2):
        shop_on.worker()
    run_id = booked(shop_on.ax, "flight", "hotel", "car")
    begun(shop_on, run_id)
    assert until(lambda: over(shop_on.ax, run_id), seconds=30)
    assert undone(shop_on) == ["car", "hotel", "flight"]
    tree = shop_on.ax.tree(run_id)
    assert [t.state for t in tree.tasks if t.tool == "book"] == [State.COMPENSATED] * 3
    assert [t.attempts for t in tree.tasks if t.tool == "book.undo"] == [1] * 3


def test_a_tenants_rollback_is_ended_too(on_file: Any) -> None:
    """Workers look after every namespace, also one that no job of theirs was of."""
    first = on_file.worker()
    tenant = on_file.ax.for_namespace("acme")
    run_id = booked(tenant, "flight")
    first.terminate()
    assert first.wait() == 0
    on_file.worker()
    begun(on_file, run_id, "acme")
    assert until(lambda: over(tenant, run_id), seconds=30)
    assert undone(on_file) == ["flight"]


def test_a_rollback_whose_worker_was_killed_is_ended_by_another(on_file: Any) -> None:
    """In the middle of a compensation: it is repeated under its own key, and the rest follows."""
    first = on_file.worker()
    run_id = booked(on_file.ax, "flight", "hotel", gate="undo")
    begun(on_file, run_id)
    on_file.world.wait_for(kind="at undo")
    first.kill()
    on_file.world.open("undo")
    on_file.worker()
    assert until(lambda: over(on_file.ax, run_id), seconds=30)
    assert undone(on_file) == ["hotel", "flight"]
    hotel, flight = [t for t in on_file.ax.tree(run_id).tasks if t.tool == "book.undo"]
    assert (hotel.attempts, flight.attempts) == (2, 1)


def test_two_that_go_on_with_one_run_undo_nothing_twice(
    on_file: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The queue may forget who is at it; the claim of each compensation does not."""
    on_file.worker()
    clients = [on_file.client(), on_file.client()]
    run_id = booked(on_file.ax, "flight", "hotel", gate="undo")
    begun(on_file, run_id)
    for client in clients:
        client.tasks()
        monkeypatch.setattr(client._core.post.transport, "hold", lambda *_: None)
        assert Rollbacks(client._core).round() == 1
    on_file.world.wait_for(kind="at undo")
    on_file.world.open("undo")
    assert until(lambda: over(on_file.ax, run_id), seconds=30)
    assert undone(on_file) == ["hotel", "flight"]


def test_one_goes_on_with_a_run_at_a_time(on_file: Any) -> None:
    """As far as the queue can tell; the others look again, and take over from one that is gone."""
    clients = [on_file.client(), on_file.client()]
    for client in clients:
        client.tasks()
    first, second = (Rollbacks(client._core) for client in clients)
    on_file.worker()
    run_id = booked(on_file.ax, "flight", gate="undo")
    begun(on_file, run_id)
    on_file.world.wait_for(kind="at undo")
    assert (first.round(), second.round()) == (0, 0)
    on_file.world.open("undo")
    assert until(lambda: over(on_file.ax, run_id), seconds=30)


def test_a_rollback_that_needs_a_verdict_waits_for_it_and_goes_on_by_itself(on_file: Any) -> None:
    """A doubt stops it; once somebody has said what happened, the rest is undone."""
    worker = on_file.worker()
    with on_file.ax.run() as run:
        on_file.ax.call("book", {"subject": "flight"})
        handle = on_file.ax.submit("unsafe_here", {"subject": "a", "after": "the reply"})
        on_file.world.wait_for(kind="at the reply")
        worker.kill()
        worker = on_file.worker()
        assert until(lambda: on_file.ax.get(handle).reason == "outcome_unknown", seconds=30)
    with AX(on_file.url) as operator:
        assert "resolve" in operator.rollback(run.id, by="ops").message
        assert until(lambda: "stopped for a verdict" in worker.said, seconds=30)
        operator.resolve(handle, happened=False, by="ops")
    assert until(lambda: over(on_file.ax, run.id), seconds=60)
    assert undone(on_file) == ["flight"]
