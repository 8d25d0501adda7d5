"""A thread of a worker goes on with other tasks while the end of one is being committed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, StoreError
from ax_core.model import TaskRow
from ax_core.store.line import Exclusive
from ax_core.worker.running import Running
from support.ledger import until

NOBODY = "redis://127.0.0.1:1/0"


class Passing:
    """Deadlines that pass when the test says so."""

    def __init__(self) -> None:
        self.open: dict[object, Callable[[], None]] = {}
        self.removed: list[Callable[[], None]] = []

    def add(self, at: float, passed: Callable[[], None]) -> object:
        mark = object()
        self.open[mark] = passed
        return mark

    def remove(self, mark: object) -> None:
        if mark in self.open:
            self.removed.append(self.open.pop(mark))

    def stop(self) -> None:
        self.open.clear()


class Side:
    """A worker's side of an AX, with one thread of its own."""

    def __init__(self, ax: AX) -> None:
        ax._core.serving = True
        ax._core.wiring("default")
        self.ax, self.commits = ax, ax._core.db.commits  # type: ignore[attr-defined]
        self.running, self.deadlines = Running(ax._core), Passing()
        self.running._deadlines = self.deadlines  # type: ignore[assignment]
        self.over: list[str] = []
        self.held: list[Exclusive] = []
        ax.register(
            lambda x: x,
            name="look",
            schema={"properties": {"x": {}}},
            policy={"effect": "read", "where": "worker"},
        )

    def see(self, tool: str) -> str:
        """Run a task here as far as this thread goes; its id."""
        task_id = str(self.ax.submit(tool, {"x": 1}))
        self.running.see(
            self.running.claim(self.running.look([task_id], "default"), "default")[0], "default", self._end
        )
        return task_id

    def hold(self, x: int) -> int:
        """A body after which somebody else is at a commit, until the test releases it."""
        self.held.append(self.commits.exclusive())
        return x

    def _end(self, row: TaskRow | None, certain: bool) -> None:
        assert row is not None and certain
        self.over.append(row.state)


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    with AX(f"sqlite:///{tmp_path}/ax.db", queue=NOBODY) as ax:
        made = Side(ax)
        yield made
        made.running.close()


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_the_thread_is_free_while_another_leads_the_commit(side: Side, timeout: float | None) -> None:
    """It comes back from the body at once; the task is over when the commit is, and not before."""
    side.ax.register(side.hold, name="hold", policy={"effect": "read", "where": "worker", "timeout": timeout})
    task_id = side.see("hold")
    assert side.over == []
    assert side.ax.get(task_id).state == "RUNNING"
    side.held[0].release()
    assert until(lambda: side.over == ["SUCCESS"])
    assert side.ax.get(task_id).state == "SUCCESS"


def test_no_thread_waits_for_the_body_of_an_async_tool(side: Side) -> None:
    """A hundred that wait for their network cost one event loop."""
    go: list[Callable[[], None]] = []

    async def wait(x: int) -> int:
        going = asyncio.Event()
        go.append(partial(asyncio.get_running_loop().call_soon_threadsafe, going.set))
        await going.wait()
        return x

    side.ax.register(wait, name="wait", policy={"effect": "read", "where": "worker"})
    ids = [side.see("wait") for _ in range(100)]
    assert until(lambda: len(go) == 100)
    assert side.over == []
    for each in go:
        each()
    assert until(lambda: side.over == ["SUCCESS"] * 100)
    assert {side.ax.get(task_id).state for task_id in ids} == {"SUCCESS"}


def test_a_deadline_that_passes_while_the_end_is_committed_comes_too_late(side: Side) -> None:
    """The limit is the body's, and that had ended in time."""
    side.ax.register(
        side.hold, name="hold", policy={"effect": "idempotent", "where": "worker", "timeout": 30.0}
    )
    task_id = side.see("hold")
    assert side.deadlines.open == {}
    side.deadlines.removed[0]()
    side.held[0].release()
    assert until(lambda: side.over == ["SUCCESS"])
    assert [entry.verb for entry in side.ax.audit(task_id)][-1] == "returned"


def test_a_deadline_that_passes_before_the_body_ends_is_told_at_once_and_the_late_end_kept(
    side: Side,
) -> None:
    """By another thread: the body's own may be away for long."""
    timed_out = threading.Event()

    def body(x: int) -> int:
        for passed in tuple(side.deadlines.open.values()):
            passed()
        assert until(lambda: side.over)
        timed_out.set()
        return x

    side.ax.register(
        body, name="late", policy={"effect": "idempotent", "where": "worker", "timeout": 30.0, "retries": 0}
    )
    task_id = side.see("late")
    assert timed_out.is_set()
    assert side.over == ["TIMEOUT"]
    (attempt,) = side.ax.get(task_id).history
    assert (attempt.outcome, attempt.late_outcome, attempt.closed) == ("timeout", "returned", True)


def test_a_leader_that_was_interrupted_may_tell_twice_and_the_task_ends_once(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, went_on = list[Any](), list[Callable[[], None]]()

    def later(op: Any, name: str, durable: bool, tell: Callable[..., None]) -> None:
        told.append((tell, side.commits.run(op, name, durable)))

    monkeypatch.setattr(side.ax._core.db, "write_later", later)
    monkeypatch.setattr(side.running.relay, "add", went_on.append)
    side.see("look")
    assert side.over == []
    for tell, result in told * 2:
        tell(result, None)
    for go_on in went_on:
        go_on()
    assert side.over == ["SUCCESS"]


def test_what_the_store_refuses_is_kept_and_said(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by whoever leads, like any other answer."""

    def later(op: Any, name: str, durable: bool, tell: Callable[..., None]) -> None:
        tell(None, StoreError("away"))

    monkeypatch.setattr(side.ax._core.db, "write_later", later)
    side.see("look")
    assert side.over == ["RUNNING"]
    assert len(side.ax._core.live.unrecorded) == 1
