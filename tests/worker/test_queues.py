"""Queues: a tool may go by one of its own, and a worker serves those it names, in the order it names them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ax_core import AX, Policy, PolicyError, State
from ax_core.ports import Job
from support.ledger import until


def order(shop: Any) -> list[str]:
    """What was sent first."""
    return ["".join(c for c in e["subject"] if c.isalpha()) for e in shop.world.seen() if e["kind"] == "sent"]


def test_a_tool_goes_by_the_queue_that_it_names(on_file: Any) -> None:
    """Only a worker that serves it runs its tasks."""
    rest, post = on_file.worker(), on_file.worker("--queues", "mail")
    for n in range(5):
        assert on_file.ax.call("mail", {"subject": f"m{n}"}) == post.child.pid
        assert on_file.ax.call("file", {"subject": f"f{n}"}) == rest.child.pid


def test_the_queue_that_is_named_first_goes_first(on_file: Any) -> None:
    """Whatever was submitted before; now and then one of the others, so that they come to an end."""
    for n in range(20):
        on_file.ax.submit("file", {"subject": f"file{n}"})
    handles = [on_file.ax.submit("mail", {"subject": f"mail{n}"}) for n in range(20)]
    assert until(
        lambda: sum(on_file.ax._core.post.transport.health(("mail", "default")).waiting.values()) == 40
    )
    on_file.worker("--queues", "mail,default", concurrency=1)
    for handle in handles:
        on_file.ax.wait_for_result(handle, timeout=30)
    sent = order(on_file)
    last = max(at for at, what in enumerate(sent) if what == "mail")
    assert 1 <= sent[:last].count("file") <= 6


def test_a_task_whose_queue_nobody_serves_waits_for_a_worker_that_does(
    on_file: Any, redis_server: Any
) -> None:
    """Idle workers look for what the queue forgot, but not for that."""
    on_file.worker()
    handle = on_file.ax.submit("mail", {"subject": "m"})
    forgotten = on_file.ax.submit("file", {"subject": "f"})
    assert until(lambda: on_file.ax._core.post.transport.health(("mail",)).waiting == {"mail": 1})
    with redis_server.client() as client:
        client.flushall()
    on_file.ax.wait_for_result(forgotten, timeout=30)
    assert on_file.ax.get(handle).state is State.QUEUED
    on_file.worker("--queues", "mail")
    on_file.ax.wait_for_result(handle, timeout=30)


def test_a_job_that_came_by_the_wrong_queue_is_left_to_the_right_workers(on_file: Any) -> None:
    """Sent by a process that does not know the tool: the worker says so once, and does not run it."""
    worker = on_file.worker()
    handle = on_file.ax.submit("mail", {"subject": "m"})
    on_file.ax._core.post.transport.publish([Job(str(handle), "default")])
    assert until(lambda: "'mail' goes by the queue 'mail', which is not served here" in worker.said)
    assert on_file.ax.get(handle).state is State.QUEUED
    post = on_file.worker("--queues", "mail")
    assert on_file.ax.wait_for_result(handle, timeout=30) == post.child.pid


def test_a_retry_comes_back_by_the_queue_of_its_tool(on_file: Any) -> None:
    """Nothing of it is sent to another, where nobody may be."""
    on_file.worker("--queues", "mail", SHOP_LEASE="30", SHOP_HEARTBEAT="5")
    handle = on_file.ax.submit("mail", {"subject": "fails once"})
    on_file.ax.wait_for_result(handle, timeout=30)
    assert on_file.ax.get(handle).attempts == 2
    assert on_file.ax._core.post.transport.health(("default",)).waiting == {"default": 0}


def test_a_queue_must_be_named_so_that_it_can_be_one() -> None:
    """At registration, with the reason."""
    for name, where in itertools.product(["x"], ["worker:", "worker:a b", "worker:ü", "workers", "mail"]):
        with pytest.raises(PolicyError, match="letters, digits|did you mean|one of"):
            AX("sqlite://", queue="redis://127.0.0.1:9/0").register(
                lambda: None, name=name, policy=Policy(where=where)
            )
    with pytest.raises(PolicyError, match="where='worker:mail' needs workers"):
        AX("sqlite://").register(lambda: None, name="x", policy=Policy(where="worker:mail"))
