"""Purging: what is old is slimmed to what answers for it, and removed where nothing needs that any more."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from ax_core import AX, Effect, NotAllowed, NotApplied, ResultExpired, State, ToolFailed, UnknownTask
from ax_core.control import purge
from support.aside import outcome
from support.ledger import until
from support.probe import Probe
from support.skew import Skew

DAY = 86_400


def slimmed(ax: AX, days: float = 1, **more: Any) -> int:
    return ax.purge(days * DAY, **more).slimmed


def test_what_is_old_is_slimmed_and_a_repeat_is_told_that_it_was_done(ax: AX, clock: Skew) -> None:
    """The request answers; the tool is not run again to get a result back."""
    probe = Probe({"refund": 1})
    probe.tool(ax, effect=Effect.UNSAFE)
    ax.call("pay", request_id="r")
    assert slimmed(ax) == 0
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 1
    with pytest.raises(ResultExpired, match="not run again"):
        ax.call("pay", request_id="r")
    (task,) = ax.tasks().tasks
    assert (task.state, task.payload, task.result, task.purged) == (State.SUCCESS, None, None, True)
    assert probe.count == 1
    assert slimmed(ax) == 0


def test_a_key_goes_on_to_catch_its_repeats_within_its_window(ax: AX, clock: Skew) -> None:
    """Another request for the same intent, after the purge: merged, not run; after the window it is a new intent."""
    probe = Probe({"refund": 1})
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="session", window=7 * DAY)
    with ax.run(session="s"):
        ax.call("pay", request_id="r")
    clock.ahead(2 * DAY)
    assert ax.purge(DAY, forget_after=DAY) == type(ax.purge(DAY))(1, 0)
    with ax.run(session="s"), pytest.raises(ResultExpired):
        ax.call("pay", request_id="another")
    assert probe.count == 1
    clock.ahead(6 * DAY)
    with ax.run(session="s"):
        ax.call("pay", request_id="a third")
    assert probe.count == 2


def test_what_guards_no_key_any_more_is_removed(ax: AX, clock: Skew) -> None:
    """Once it is slim, and older than it is to be remembered; its request is then a new one."""
    probe = Probe(*["done"] * 9)
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="session", window=7 * DAY)
    probe.tool(ax, "look", effect=Effect.READ)
    with ax.run(session="s") as run:
        handle = ax.call("pay", request_id="r")
        ax.call("look", request_id="l")
    clock.ahead(8 * DAY)
    done = ax.purge(DAY, forget_after=timedelta(days=30))
    assert (done.slimmed, done.forgotten) == (2, 0)
    clock.ahead(30 * DAY)
    done = ax.purge(DAY, forget_after=timedelta(days=30))
    assert (done.slimmed, done.forgotten) == (0, 2)
    assert handle == "done"
    assert ax.tasks().tasks == ()
    for table in ("task", "run", "audit", "attempt", "approval", "request", "idempotency"):
        assert not ax._core.db.read(lambda tx, of=table: tx.all(f"SELECT 1 FROM ax_{of}")), table
    with pytest.raises(UnknownTask):
        ax.tree(run.id)
    ax.call("pay", request_id="r")
    assert probe.count == 3


def test_a_key_without_a_window_is_never_forgotten(ax: AX, clock: Skew) -> None:
    """However old: it has said for ever."""
    probe = Probe("done")
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="session")
    with ax.run(session="s"):
        ax.call("pay", request_id="r")
    clock.ahead(1000 * DAY)
    done = ax.purge(DAY, forget_after=DAY)
    assert (done.slimmed, done.forgotten) == (1, 0)
    with ax.run(session="s"), pytest.raises(ResultExpired):
        ax.call("pay", request_id="another")


def test_what_a_person_must_look_at_is_left_with_its_whole_run(ax: AX, clock: Skew) -> None:
    """In doubt, maybe applied, parked or waiting for an approval: nothing of that run is touched."""
    Probe(RuntimeError("?"), "done").tool(ax, effect=Effect.UNSAFE)
    Probe("done").tool(ax, "look", effect=Effect.READ)
    Probe("done").tool(ax, "ask", effect=Effect.UNSAFE, confirm=True, confirm_ttl=999 * DAY)
    with ax.run():
        ax.call("look")
        outcome(lambda: ax.call("pay", request_id="r"))  # FAILED, maybe applied
    with ax.run():
        ax.call("look")
        outcome(lambda: ax.call("ask"))
    with ax.run():
        ax.call("look")
        outcome(lambda: ax.call("look", {"nonsense": 1}))  # QUARANTINE
    clock.ahead(100 * DAY)
    assert slimmed(ax) == 0
    ax.resolve(ax.find_request("r").id, happened=True, by="ops")  # type: ignore[union-attr]
    assert slimmed(ax) == 0  # it was settled just now
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 2


def test_a_dead_letter_keeps_what_a_requeue_needs(ax: AX, clock: Skew) -> None:
    """However old it is; once it has run again it ages like everything else."""
    probe = Probe(ConnectionError("no"), ConnectionError("no"), "done")
    probe.tool(ax, effect=Effect.KEYED, retries=1, backoff=0)
    handle = ax.submit("pay", {"order": "8"})
    assert until(lambda: ax.get(handle).state is State.DEAD)
    clock.ahead(100 * DAY)
    assert slimmed(ax) == 0
    ax.requeue(handle, by="ops")
    with ax.serve() as serving:
        assert until(lambda: serving.round() or ax.get(handle).state is State.SUCCESS)
        assert until(lambda: ax.get(handle).state is State.SUCCESS)
    assert probe.seen[-1][3]["order"] == "8"
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 1


def test_an_open_run_is_left_alone_with_all_under_it(ax: AX, clock: Skew) -> None:
    Probe(*["done"] * 3).tool(ax)
    with ax.run():
        ax.call("pay")
        with ax.run():
            ax.call("pay", request_id="inner")
        clock.ahead(9 * DAY)
        assert slimmed(ax) == 0
    assert slimmed(ax) == 2


def test_a_failure_that_was_slimmed_may_be_tried_again_by_its_request(ax: AX, clock: Skew) -> None:
    """The request brings its arguments along; a person's requeue cannot."""
    probe = Probe(NotApplied("no"), "done")
    probe.tool(ax, effect=Effect.UNSAFE)
    with pytest.raises(ToolFailed):
        ax.call("pay", request_id="r")
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 1
    (task,) = ax.tasks().tasks
    with pytest.raises(NotAllowed, match="purged"):
        ax.requeue(task.id, by="ops")
    assert ax.call("pay", request_id="r") == "done"
    assert ax.get(task.id).payload["order"] == "7"
    assert ax.verify(task.id) is None


def test_a_run_that_was_slimmed_can_not_be_rolled_back(ax: AX, clock: Skew) -> None:
    """What there was to undo is gone, and it says so."""
    Probe("done").tool(ax, effect=Effect.KEYED, compensate=lambda args, result: None)
    with ax.run() as run:
        ax.call("pay")
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 1
    with pytest.raises(NotAllowed, match="purged"):
        ax.rollback(run.id, by="ops")


def test_the_trail_of_a_slim_task_is_one_entry_that_vouches_for_the_rest(ax: AX, clock: Skew) -> None:
    """Nobody can put another in its place unseen, and what is added later is chained to it."""
    Probe(RuntimeError("once"), "done").tool(ax, effect=Effect.IDEMPOTENT, retries=1, backoff=0)
    ax.call("pay", request_id="r")
    (task,) = ax.tasks().tasks
    last = ax.audit(task.id)[-1]
    clock.ahead(2 * DAY)
    assert slimmed(ax, by="ops") == 1
    (stub,) = ax.audit(task.id)
    assert (stub.verb, stub.by, stub.seq, stub.detail["head"]) == ("purged", "ops", last.seq + 1, last.hash)
    assert ax.verify(task.id) is None
    outcome(lambda: ax.call("pay", request_id="r"))
    assert [e.verb for e in ax.audit(task.id)] == ["purged", "replayed"]
    assert ax.verify(task.id) is None
    ax._core.db.write(
        lambda tx: tx.run(
            "UPDATE ax_audit SET actor = 'mallory' WHERE task_id = :id AND verb = 'purged'", id=task.id
        )
    )
    assert ax.verify(task.id) == stub.seq


def test_no_transaction_is_large(ax: AX, clock: Skew, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for many small runs nor for a large one."""
    monkeypatch.setattr(purge, "AT_ONCE", 10)
    Probe(*["done"] * 60).tool(ax, effect=Effect.READ)
    with ax.run():
        for _ in range(35):
            ax.call("pay")
    for _ in range(25):
        ax.call("pay")
    clock.ahead(2 * DAY)
    sizes: list[int] = []
    drop = purge.retention.drop_trail
    commits = ax._core.db.write

    def write(op: Any, *more: Any) -> Any:
        sizes.append(0)
        return commits(op, *more)

    def dropping(tx: Any, row: Any) -> None:
        sizes[-1] += 1
        drop(tx, row)

    monkeypatch.setattr(purge.retention, "drop_trail", dropping)
    monkeypatch.setattr(ax._core.db, "write", write)
    assert slimmed(ax) == 60
    assert sum(sizes) == 60
    assert max(sizes) <= 10


def test_another_tenant_is_not_touched(ax: AX, clock: Skew) -> None:
    Probe("done", "done").tool(ax)
    ax.for_namespace("acme").call("pay")
    clock.ahead(2 * DAY)
    assert slimmed(ax) == 0
    assert asyncio.run(ax.for_namespace("acme").apurge(DAY)).slimmed == 1


@pytest.mark.parametrize(("older", "forget"), [(-1, None), (2, 1), (float("nan"), None)])
def test_ages_that_make_no_sense_are_refused(ax: AX, older: float, forget: float | None) -> None:
    with pytest.raises(ValueError, match="must"):
        ax.purge(older, forget_after=forget)
