"""What comes together in a worker is done together, and each task still stands for itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, ConfirmationPending
from ax_core.clock import SystemClock
from ax_core.dispatch.waiters import told
from ax_core.ports import Delivery, Job
from ax_core.store import tasks
from ax_core.worker import running, slots
from ax_core.worker.acks import Acks
from ax_core.worker.deadlines import PassingDeadlines
from ax_core.worker.running import Running
from ax_core.worker.slots import Slots
from support.ledger import until

PATIENCE = 20.0
NOBODY = "redis://127.0.0.1:1/0"


class SlowSource:
    """Remembers what was taken off in one go; the first time only when it may."""

    def __init__(self) -> None:
        self.gone: list[list[str]] = []
        self.entered, self.may = threading.Event(), threading.Event()

    def done(self, deliveries: list[Delivery]) -> bool:
        self.gone.append([delivery.job.task_id for delivery in deliveries])
        self.entered.set()
        assert self.may.wait(PATIENCE)
        return True


def test_what_ends_while_others_are_taken_off_goes_in_the_next_round_trip() -> None:
    """Together, by the thread that is at it; nobody is left behind."""
    source = SlowSource()
    acks = Acks(source)  # type: ignore[arg-type]
    first = threading.Thread(target=acks.done, args=(_delivery("a"),))
    first.start()
    assert source.entered.wait(PATIENCE)
    for name in "bcd":
        acks.done(_delivery(name))
    source.may.set()
    first.join(PATIENCE)
    assert source.gone == [["a"], ["b", "c", "d"]]


def test_the_next_tasks_are_begun_together_once_the_last_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """As soon as every slot is free; but nobody waits for a slot whose task goes on and on."""
    monkeypatch.setattr(slots, "MOMENT", 60.0)
    busy = Slots(4)
    for name in "abc":
        assert busy.take(name, None)
    counted: list[int] = []
    waiting = threading.Thread(target=lambda: counted.append(busy.wait_more(120.0)), daemon=True)
    waiting.start()
    for name in "abc":
        assert counted == []
        busy.give(name)
    waiting.join(PATIENCE)
    assert counted == [4]
    monkeypatch.setattr(slots, "MOMENT", 0.01)
    assert busy.take("long", None)
    began = time.monotonic()
    assert busy.wait_more(60.0) == 3
    assert time.monotonic() - began < 30


def test_tasks_that_end_together_are_read_together_by_whoever_hears_of_it(tmp_path: Path) -> None:
    """Once for all who wait here; one that is not over only wakes its waiter, and nobody reads for nobody."""
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        ax.register(lambda n: n, name="echo", schema={"properties": {"n": {}}}, policy={"confirm": False})
        ax.register(lambda: 1, name="asked", policy={"confirm": True})
        for n in range(5):
            ax.call("echo", {"n": n})
        with pytest.raises(ConfirmationPending):
            ax.call("asked")
        waiters, db, reads = ax._core.waiters, ax._core.db, list[Any]()
        rows = db.read(lambda tx: tasks.several(tx, [task.id for task in ax.tasks().tasks]))
        waiting = [waiters.of(row.id) for row in rows[1:]]

        class Counting:
            def read(self, op: Any) -> Any:
                reads.append(op)
                return db.read(op)

        for waiter in waiting:
            waiter.__enter__()
        told(waiters, Counting(), [row.id for row in rows])  # type: ignore[arg-type]
        assert len(reads) == 1
        assert [waiter.found for waiter in waiting] == [
            row if row.state == "SUCCESS" else None for row in rows[1:]
        ]
        assert [waiter._bell.qsize() for waiter in waiting] == [1] * len(waiting)
        for waiter in waiting:
            waiter.__exit__()
        told(waiters, Counting(), [row.id for row in rows])  # type: ignore[arg-type]
        assert len(reads) == 1


def test_a_deadline_that_passes_is_told_and_one_that_was_removed_is_not() -> None:
    """Also one that is added while a later one is waited for."""
    clock = SystemClock()
    deadlines = PassingDeadlines(clock)
    thread = threading.Thread(target=deadlines.run, daemon=True)
    thread.start()
    passed, never = threading.Event(), threading.Event()
    now = clock.monotonic()
    deadlines.add(now + 3600, never.set)
    deadlines.remove(deadlines.add(now + 0.01, never.set))
    deadlines.add(now + 0.02, passed.set)
    assert passed.wait(PATIENCE)
    assert not never.is_set()
    deadlines.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_deadlines_of_bodies_that_are_soon_over_wake_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is waited for even when it is removed, so that those after it need not ring."""
    deadlines, rings = PassingDeadlines(SystemClock()), list[float]()
    waits = threading.Semaphore(0)
    wait, notify = deadlines._bell.wait, deadlines._bell.notify
    monkeypatch.setattr(deadlines._bell, "wait", lambda seconds: waits.release() or wait(seconds))
    monkeypatch.setattr(deadlines._bell, "notify", lambda: rings.append(time.monotonic()) or notify())
    thread = threading.Thread(target=deadlines.run, daemon=True)
    thread.start()
    assert waits.acquire(timeout=PATIENCE)
    for later in range(20):
        deadlines.remove(deadlines.add(time.monotonic() + 3600 + later, lambda: None))
        if later == 0:
            assert waits.acquire(timeout=PATIENCE)
    assert len(rings) == 1
    deadlines.stop()
    thread.join(PATIENCE)


@pytest.fixture
def queued(tmp_path: Path) -> Iterator[tuple[Running, AX, list[str]]]:
    """A worker's side, its AX and three tasks that wait for it."""
    url = f"sqlite:///{tmp_path}/ax.db"
    with _ax(url) as client:
        ids = [str(client.submit("nothing", {"x": number})) for number in range(3)]
        with _ax(url) as worker:
            worker._core.serving = True
            worker._core.wiring("default")
            yield Running(worker._core), worker, ids


def test_tasks_that_were_fetched_together_are_claimed_in_one_commit(
    queued: tuple[Running, AX, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by its own guarded move: whoever comes second gets none of them."""
    side, ax, ids = queued
    writes: list[str] = []
    commits = ax._core.db.commits  # type: ignore[attr-defined]
    run = commits.run
    monkeypatch.setattr(
        commits, "run", lambda op, name, durable: writes.append(name) or run(op, name, durable)
    )
    begun = side.claim(side.look(ids, "default"), "default")
    assert [b.row.id for b in begun if b.row] == ids
    assert all(b.seat is not None and b.seat.claimed for b in begun)
    assert writes == ["claim"]
    again = side.claim(side.look(ids, "default"), "default")
    assert not any(b.seat is not None and b.seat.claimed for b in again)


def test_a_claim_that_fails_takes_no_other_with_it(
    queued: tuple[Running, AX, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of the shared commit is stored, and each task is then seen on its own."""
    side, ax, ids = queued
    real = running.claim_seen

    def odd(tx: Any, seen: Any, *rest: Any) -> Any:
        found = real(tx, seen, *rest)
        if ids[1] in [row.id for row, _, _ in seen]:
            raise RuntimeError("this one only")
        return found

    monkeypatch.setattr(running, "claim_seen", odd)
    begun = side.claim(side.look(ids, "default"), "default")
    assert [ax.get(task_id).state for task_id in ids] == ["QUEUED"] * 3
    ended: list[str] = []
    for each in begun:
        side.see(each, "default", lambda row, certain: ended.append(row.state))  # type: ignore[union-attr]
    assert until(lambda: ended == ["SUCCESS"] * 3)
    side.close()


def _delivery(name: str) -> Delivery:
    return Delivery(Job(name, "default"), 1, ("stream", name))


def _ax(url: str) -> AX:
    ax = AX(url, queue=NOBODY)

    @ax.tool(effect="read", where="worker")
    def nothing(x: int) -> int:
        """Do nothing."""
        return x

    return ax
