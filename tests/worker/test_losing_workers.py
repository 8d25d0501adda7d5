"""Workers that are killed, stopped, cut off or told to go: what their callers and their tasks come to."""

from __future__ import annotations

import sqlite3
import subprocess
from datetime import UTC, datetime
from typing import Any

import pytest

from ax_core import OutcomeUnknown, RunState, State
from ax_core.store import queries
from ax_core.worker import FENCED
from support.ledger import until
from support.shops import calling


def test_an_unsafe_tool_whose_worker_was_killed_may_have_acted_and_the_caller_is_told_so(
    shop_on: Any,
) -> None:
    """One effect, no second try, and nobody waits for the dead."""
    worker = shop_on.worker()
    thread, said = calling(shop_on, "unsafe_here", after="the reply")
    shop_on.world.wait_for(kind="at the reply")
    worker.kill()
    shop_on.worker()
    thread.join(60)
    assert isinstance(said[0], OutcomeUnknown)
    assert len(shop_on.effects("a")) == 1


def test_all_that_tells_of_a_task_agrees_once_its_worker_was_killed(on_file: Any) -> None:
    """The record, the queue, the counts and the session: it is in doubt, nobody holds it, and others may go on."""
    worker = on_file.worker()
    with on_file.ax.run(session="s") as run:
        handle = on_file.ax.submit("unsafe_here", {"subject": "a", "after": "the reply"})
        on_file.world.wait_for(kind="at the reply")
        worker.kill()
        on_file.worker()
        assert until(lambda: on_file.ax.get(handle).reason == "outcome_unknown", seconds=30)
    health = on_file.ax._core.post.transport.health
    assert until(lambda: (health().waiting, health().fetched) == ({"default": 0}, {"default": 0}))
    assert on_file.ax._core.db.read(lambda tx: queries.counts(tx, "default")) == {"QUARANTINE": 1}
    assert [task.id for task in on_file.ax.inbox()] == [str(handle)]
    assert on_file.ax.tree(run.id).run.state is not RunState.OPEN
    with on_file.client().run(session="s"):
        on_file.ax.call("keyed_here", {"subject": "b"})


def test_the_time_of_a_tool_begins_at_its_claim_and_not_in_the_queue(on_file: Any) -> None:
    """However long it had to wait for a worker."""
    handle = on_file.ax.submit("brief", {"subject": "a"})
    task = on_file.ax.get(handle)
    assert until(lambda: (datetime.now(UTC) - task.created_at).total_seconds() > 1.2)
    on_file.worker()
    assert on_file.ax.wait_for_result(handle, timeout=30) > 0.5
    assert on_file.ax.get(handle).attempts == 1


@pytest.mark.parametrize("name", ["keyed_here", "idempotent_loop", "keyed_thread"])
def test_a_tool_that_may_be_repeated_is_run_by_another_worker(on_file: Any, name: str) -> None:
    """Under the same key; its caller waits on and gets the answer."""
    worker = on_file.worker()
    thread, said = calling(on_file, name, after="the reply")
    on_file.world.wait_for(kind="at the reply")
    on_file.world.open("the reply")  # for the next attempt
    worker.kill()
    on_file.worker()
    thread.join(60)
    assert isinstance(said[0], dict), said
    assert len({e.get("key") for e in on_file.effects("a")}) == 1


def test_what_the_queue_lost_is_found_in_the_database(shop_on: Any, redis_server: Any) -> None:
    """Redis forgets everything between the call and its worker: the call waits a little longer."""
    handle = shop_on.ax.submit("unsafe_here", {"subject": "a"})
    with redis_server.client() as client:
        assert until(lambda: client.keys(f"*{shop_on.queue.partition('prefix=')[2]}*"))
        client.flushall()
    shop_on.worker()
    shop_on.ax.wait_for_result(handle, timeout=30)
    assert len(shop_on.effects("a")) == 1


def test_a_call_that_could_not_be_sent_runs_all_the_same(tmp_path: Any, world: Any, on_file: Any) -> None:
    """The client cannot reach Redis at all; a worker that can looks in the database."""
    from support.workshop import shop

    with shop(on_file.url, "redis://127.0.0.1:9/0", world.port) as alone:
        handle = alone.submit("unsafe_here", {"subject": "a"})
        on_file.worker()
        alone.wait_for_result(handle, timeout=30)
    assert len(on_file.effects("a")) == 1


def test_a_worker_that_is_told_to_stop_lets_what_runs_end_and_takes_nothing_more(on_file: Any) -> None:
    worker = on_file.worker()
    thread, said = calling(on_file, "unsafe_here", after="the reply")
    on_file.world.wait_for(kind="at the reply")
    worker.terminate()
    assert until(lambda: "no more" in worker.said)
    with pytest.raises(subprocess.TimeoutExpired):
        worker.wait(4)  # longer than it takes to end for whoever waits for nothing
    later = on_file.ax.submit("unsafe_here", {"subject": "b"})
    on_file.world.open("the reply")
    thread.join(60)
    assert isinstance(said[0], dict), said
    assert worker.wait() == 0
    assert on_file.ax.get(later).state is State.QUEUED
    on_file.worker()
    on_file.ax.wait_for_result(later, timeout=30)


def test_a_task_waits_for_a_worker_that_knows_its_tool(on_file: Any) -> None:
    """A deploy that is half done: the old worker says what it does not know and leaves it; the new one runs it."""
    old = on_file.worker(SHOP_TOOLS="read_here")
    handle = on_file.ax.submit("unsafe_here", {"subject": "a"})
    assert until(lambda: "'unsafe_here' is not known here" in old.said)
    assert on_file.ax.get(handle).state is State.QUEUED
    on_file.worker()
    on_file.ax.wait_for_result(handle, timeout=30)
    assert len(on_file.effects("a")) == 1


def test_a_worker_that_stood_still_beyond_its_lease_writes_nothing_over(on_file: Any) -> None:
    """SIGSTOP, take-over, SIGCONT: the end of the zombie is kept as evidence, and the task says what is true."""
    zombie = on_file.worker()
    thread, said = calling(on_file, "keyed_here", after="the reply")
    on_file.world.wait_for(kind="at the reply")
    zombie.pause()
    on_file.worker()
    on_file.world.wait_for(2, seconds=60, kind="at the reply")
    on_file.world.open("the reply")
    thread.join(60)
    assert isinstance(said[0], dict), said
    zombie.resume()
    (task,) = {e["task"] for e in on_file.effects("a")}
    assert until(
        lambda: any(a.late_outcome for a in on_file.ax.get(task).history) or zombie.child.poll() is not None
    )
    assert on_file.ax.get(task).state is State.SUCCESS
    assert on_file.ax.get(task).attempts == 2


def test_a_worker_that_cannot_renew_its_leases_ends_before_they_expire(on_file: Any) -> None:
    """Nobody must go on acting under a claim that others are about to take."""
    worker = on_file.worker()
    thread, said = calling(on_file, "keyed_here", before="it acts")
    on_file.world.wait_for(kind="at it acts")
    raw = sqlite3.connect(on_file.url.removeprefix("sqlite:///"), isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")  # nobody can write: no renewal either
    assert worker.wait() == FENCED
    assert "could not renew its leases" in worker.said
    raw.execute("ROLLBACK")
    raw.close()
    on_file.world.open("it acts")
    on_file.worker()
    thread.join(60)
    assert isinstance(said[0], dict), said
    assert len(on_file.effects("a")) == 1


def test_the_health_of_a_worker_is_that_of_its_queue(on_file: Any, redis_server: Any) -> None:
    """Well while the queue answers; a worker with room that hears nothing for long says so."""
    worker = on_file.worker()
    assert worker.health()["ok"] is True
    redis_server.pause()
    try:
        assert until(lambda: worker.health()["ok"] is False, seconds=40)
        assert "has not answered" in worker.health()["why"]
    finally:
        redis_server.resume()
    assert until(lambda: worker.health()["ok"] is True)


def test_a_retry_is_not_lost_with_the_worker_that_made_the_first_attempt(on_file: Any) -> None:
    worker = on_file.worker()
    handle = on_file.ax.submit("keyed_here", {"subject": "a", "raises": 1, "after": "the end"})
    on_file.world.wait_for(kind="at the end")
    on_file.world.open("the end")
    assert until(lambda: on_file.ax.get(handle).attempts >= 1)
    worker.kill()
    on_file.worker()
    on_file.ax.wait_for_result(handle, timeout=60)
    assert len({e["key"] for e in on_file.effects("a")}) == 1
