"""Tasks that are ready and not for whoever looks hide nothing, however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from ax_core import AX, Policy, State
from ax_core.worker import Scheduler, scheduler
from support.ledger import until
from support.workshop import shop

NOWHERE = "redis://127.0.0.1:9/0"


@pytest.fixture
def alone(on_file: Any) -> Iterator[AX]:
    """A client whose jobs reach no queue."""
    with shop(on_file.url, NOWHERE, on_file.world.port) as made:
        yield made


def theirs(ax: AX, count: int) -> None:
    """Tasks of a tool that nobody knows who looks."""
    ax.register(
        lambda n: n, name="theirs", schema={"properties": {"n": {}}}, policy=Policy("read", where="worker")
    )
    for n in range(count):
        ax.submit("theirs", {"n": n})


def test_serving_goes_on_behind_what_is_not_its_own(on_file: Any, alone: AX) -> None:
    """More of those than it looks at at a time."""
    theirs(alone, 450)
    handle = alone.submit("read_here", {"subject": "last"})
    with shop(on_file.url, None, on_file.world.port) as inline, inline.serve(concurrency=2):
        alone.wait_for_result(handle, timeout=20)


def test_serving_takes_the_oldest_first(on_file: Any, alone: AX) -> None:
    """Also after it has passed over others; and one whose retry is due before those that came after it."""
    theirs(alone, 250)
    handles = [alone.submit("keyed_here", {"subject": f"s{n}", "raises": 1}) for n in range(2)]
    with shop(on_file.url, None, on_file.world.port) as inline:
        serving = inline.serve(concurrency=1)
        for attempt in (1, 2):
            first, second = (alone.get(handle) for handle in handles)
            assert until(lambda due=first.due_at: due is None or due < datetime.now(UTC))
            assert until(lambda: serving.round() == 1)
            settled = State.RETRY_WAIT if attempt == 1 else State.SUCCESS
            assert until(lambda state=settled: alone.get(handles[0]).state is state)
            assert second.state is State.QUEUED


def test_the_scheduler_goes_on_behind_the_tasks_of_callers(
    on_file: Any, alone: AX, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those whose tools run where they are called are not sent, and stand in nobody's way."""
    monkeypatch.setattr(scheduler, "MOST", 10)
    theirs(alone, 35)
    handle = alone.submit("read_here", {"subject": "last"})
    on_file.ax.register(
        lambda n: n, name="theirs", schema={"properties": {"n": {}}}, policy=Policy("read", where="here")
    )
    monkeypatch.setattr(scheduler, "PATIENCE", 0.0)
    made = Scheduler(on_file.ax)
    assert [made.round() for _ in range(4)] == [0, 0, 0, 1]
    on_file.worker()
    alone.wait_for_result(handle, timeout=20)


def test_the_scheduler_sends_a_task_again_only_after_a_while(
    on_file: Any, alone: AX, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it needs several rounds to see them all."""
    monkeypatch.setattr(scheduler, "MOST", 10)
    monkeypatch.setattr(scheduler, "PATIENCE", 30.0)
    for n in range(25):
        alone.submit("keyed_here", {"subject": f"s{n}"})
    made = Scheduler(on_file.ax)
    assert sum(made.round() for _ in range(6)) == 0
    monkeypatch.setattr(scheduler, "_left", lambda *_: 0.0)
    made = Scheduler(on_file.ax)
    assert sum(made.round() for _ in range(6)) == 25
