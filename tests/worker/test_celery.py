"""A fleet of Celery workers runs the tasks of an AX: the promises are those of its own workers."""

from __future__ import annotations

import os

import pytest

from ax_core import AX, OutcomeUnknown, State
from support.ledger import until
from support.servers.redis import Redis
from support.workshop import shop

pytest.importorskip("celery")
from support import celery_shop
from support.fleets import Fleet

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("pool", [("-P", "solo"), ("-P", "threads", "-c", "4"), ("-P", "prefork", "-c", "2")])
def test_calls_run_in_the_fleet_and_come_back(fleet: Fleet, pool: tuple[str, ...]) -> None:
    """Sync and async tools, in every kind of pool, retries included."""
    fleet.celery(*pool)
    fleet.ax.call("unsafe_here", {"subject": "a"})
    fleet.ax.call("keyed_loop", {"subject": "b", "raises": 1})
    assert len(fleet.effects("a")) == 1
    assert [e["attempt"] for e in fleet.effects("b")] == [1, 2]
    assert len({e["key"] for e in fleet.effects("b")}) == 1
    assert all(e["pid"] != os.getpid() for e in fleet.effects("a"))


def test_an_unsafe_tool_whose_celery_worker_was_killed_is_in_doubt_and_not_run_again(fleet: Fleet) -> None:
    """Celery hands the job out again; the claim refuses it."""
    first = fleet.celery("-P", "solo")
    handle = fleet.ax.submit("unsafe_here", {"subject": "a", "after": "the reply"})
    fleet.world.wait_for(kind="at the reply")
    first.kill()
    first.wait()
    fleet.celery("-P", "solo")
    with pytest.raises(OutcomeUnknown):
        fleet.ax.wait_for_result(handle, timeout=60)
    fleet.ax.call("keyed_here", {"subject": "b"})
    assert len(fleet.effects("a")) == 1


def test_the_scheduler_sends_again_what_the_broker_lost(fleet: Fleet, redis_server: Redis) -> None:
    handle = fleet.ax.submit("unsafe_here", {"subject": "a"})
    with redis_server.client() as client:
        assert until(lambda: client.keys("*"))
        client.flushall()
    fleet.celery("-P", "solo")
    assert fleet.ax.get(handle).state is State.QUEUED
    child = fleet.scheduler()
    try:
        fleet.ax.wait_for_result(handle, timeout=60)
    finally:
        child.terminate()
        assert child.wait(30) == 0
    assert len(fleet.effects("a")) == 1


def test_a_caller_is_woken_and_does_not_look(fleet: Fleet) -> None:
    """Where the broker is Redis the word goes through it."""
    fleet.celery("-P", "solo")
    fleet.ax.call("read_here", {"subject": "warm"})
    ax: AX = shop(fleet.url, celery_shop.QUEUE, fleet.world.port)
    woken: list[str] = []
    with ax:
        ax.tasks()
        post = ax._core.post
        assert post is not None
        moved = post._moved
        post._moved = lambda task_ids: (woken.extend(task_ids), moved(task_ids))[1]
        ax.call("read_here", {"subject": "a"})
        assert until(lambda: bool(woken))


def test_a_tool_goes_by_celerys_queue_of_the_name_it_gives(fleet: Fleet) -> None:
    """Retries too: only workers of that queue are there."""
    fleet.celery("-P", "solo", "-Q", "mail")
    handle = fleet.ax.submit("mail", {"subject": "fails once"})
    fleet.ax.wait_for_result(handle, timeout=60)
    assert fleet.ax.get(handle).attempts == 2
