"""Redis restarts, forgets, is cut off or brings things twice: the database is the truth, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ax_core import State
from ax_core.ports import Job
from support.children import Nursery
from support.ledger import until
from support.outside import World
from support.servers.redis import Redis
from support.shops import Shop
from support.workshop import shop


@pytest.fixture
def own_redis() -> Iterator[Redis]:
    """A server that a test may ill-treat."""
    with Redis() as server:
        yield server


@pytest.fixture
def rough(tmp_path: Path, world: World, own_redis: Redis, forking: Nursery | None) -> Iterator[Shop]:
    """A shop on it."""
    world.begin_anew(tmp_path)
    with ExitStack() as ending:
        yield Shop(tmp_path, f"sqlite:///{tmp_path}/ax.db", own_redis.url, world, ending, forking)


@pytest.mark.parametrize("data", [True, False])
def test_workers_go_on_after_redis_was_restarted(rough: Any, own_redis: Redis, data: bool) -> None:
    """With or without its data, killed in the middle of a task: what was submitted before, meanwhile and after runs."""
    rough.worker()
    before = rough.ax.submit("keyed_here", {"subject": "before", "before": "the door"})
    rough.world.wait_for(kind="at the door")
    own_redis.kill()
    meanwhile = rough.ax.submit("keyed_here", {"subject": "meanwhile"})
    rough.world.open("the door")
    own_redis.restart(data=data) if own_redis._process else own_redis.start()
    after = rough.ax.submit("keyed_here", {"subject": "after"})
    for handle, subject in ((before, "before"), (meanwhile, "meanwhile"), (after, "after")):
        rough.ax.wait_for_result(handle, timeout=60)
        assert len(rough.effects(subject)) == 1


def test_a_retry_that_is_due_after_a_restart_is_made_in_time(rough: Any, own_redis: Redis) -> None:
    """The queue that forgot everything is not what remembers when a task is due."""
    rough.worker()
    handle = rough.ax.submit("later", {"subject": "a", "raises": 1})
    assert until(lambda: rough.ax.get(handle).state is State.RETRY_WAIT)
    own_redis.restart(data=False, killed=True)
    rough.ax.wait_for_result(handle, timeout=30)
    assert [e["attempt"] for e in rough.effects("a")] == [1, 2]


def test_the_same_request_again_while_redis_is_away_is_the_same_task(rough: Any, own_redis: Redis) -> None:
    """It was accepted: a caller that asks again is not refused, and it runs once when Redis is back."""
    own_redis.stop()
    first = rough.ax.submit("unsafe_here", {"subject": "a"}, request_id="r")
    again = rough.ax.submit("unsafe_here", {"subject": "a"}, request_id="r")
    assert first == again
    own_redis.start()
    rough.worker()
    rough.ax.wait_for_result(first, timeout=30)
    assert len(rough.effects("a")) == 1


def test_a_job_without_a_task_is_let_go(on_file: Any) -> None:
    """Rolled back, purged, of another database: it is no reason to stop, and no poison."""
    worker = on_file.worker()
    on_file.ax.tasks()
    on_file.ax._core.post.transport.publish([Job("01a00000-0000-7000-8000-000000000000", "default")])
    on_file.ax.call("keyed_here", {"subject": "a"})
    assert until(lambda: on_file.ax._core.post.transport.health().fetched == {"default": 0})
    assert worker.health()["ok"] is True


def test_a_job_that_comes_many_times_is_run_once(on_file: Any) -> None:
    """And is off the queue as often as it came."""
    on_file.worker()
    on_file.worker()
    handle = on_file.ax.submit("unsafe_here", {"subject": "a", "dwell": 0.2})
    on_file.ax._core.post.transport.publish([Job(str(handle), "default")] * 20)
    on_file.ax.wait_for_result(handle, timeout=30)
    health = on_file.ax._core.post.transport.health
    assert until(lambda: (health().waiting, health().fetched) == ({"default": 0}, {"default": 0}))
    assert len(on_file.effects("a")) == 1


def test_a_success_whose_entry_could_not_be_taken_off_stays_a_success(rough: Any, own_redis: Redis) -> None:
    """The entry is handed out again, and found to be over."""
    rough.worker()
    handle = rough.ax.submit("unsafe_here", {"subject": "a", "after": "the door"})
    rough.world.wait_for(kind="at the door")
    own_redis.pause()
    rough.world.open("the door")
    assert until(lambda: rough.ax.get(handle).state is State.SUCCESS)
    own_redis.resume()
    rough.worker()
    rough.ax.call("keyed_here", {"subject": "b"})
    assert until(lambda: rough.ax._core.post.transport.health().fetched == {"default": 0})
    task = rough.ax.get(handle)
    assert (task.state, task.attempts) == (State.SUCCESS, 1)
    assert len(rough.effects("a")) == 1


def test_everything_that_four_clients_submit_at_once_is_run_once(shop_on: Any) -> None:
    """Spread over two workers; each result goes to the caller that asked for it."""
    shop_on.worker(concurrency=8)
    shop_on.worker(concurrency=8)
    clients = [shop_on.ax, *(shop(shop_on.url, shop_on.queue, shop_on.world.port) for _ in range(3))]
    answers: dict[str, Any] = {}

    def ask(number: int) -> None:
        for n in range(10):
            subject = f"{number}-{n}"
            answers[subject] = clients[number].call("unsafe_here", {"subject": subject})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(90)
    for client in clients[1:]:
        client.close()
    assert len(answers) == 40
    for subject, answer in answers.items():
        (effect,) = shop_on.effects(subject)
        assert answer == {"receipt": effect["seq"]}
