"""Every transition of every process can be followed, in order, from a position on."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest

from ax_core import AX, PolicyError
from ax_core.hooks import Event
from support.axd import typed_elsewhere
from support.ledger import until


def names(shop: Any, after: str = "0") -> list[tuple[str, str]]:
    """What is kept."""
    return [(e.name, e.state) for e in shop.ax.events(after, wait=0.5)]


def test_the_life_of_a_task_is_told_whoever_moves_it(shop_on: Any) -> None:
    """Submitted here, claimed and ended there, in the order in which it happened."""
    shop_on.worker()
    shop_on.ax.call("keyed_here", {"subject": "a"})
    assert names(shop_on) == [("queued", "QUEUED"), ("started", "RUNNING"), ("succeeded", "SUCCESS")]


def test_whoever_comes_back_goes_on_where_he_was(on_file: Any) -> None:
    on_file.worker()
    on_file.ax.call("keyed_here", {"subject": "a"})
    seen = list(on_file.ax.events("0", wait=0.5))
    on_file.ax.call("keyed_here", {"subject": "b"})
    later = list(on_file.ax.events(seen[-1].position, wait=0.5))
    assert [e.name for e in later] == ["queued", "started", "succeeded"]
    assert {e.task_id for e in later}.isdisjoint({e.task_id for e in seen})


async def test_coroutines_follow_without_blocking_their_loop(on_file: Any) -> None:
    """While nothing happens either: the loop goes on with everything else."""
    on_file.worker()
    await on_file.ax.acall("keyed_loop", {"subject": "a"})
    turns = 0

    async def turning() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    beside = asyncio.create_task(turning())
    assert [e.name async for e in on_file.ax.aevents("0", wait=1.0)] == ["queued", "started", "succeeded"]
    beside.cancel()
    assert turns > 10


def test_what_the_queue_forgot_is_told_as_a_gap(on_file: Any, redis_server: Any) -> None:
    on_file.worker()
    on_file.ax.call("keyed_here", {"subject": "a"})
    (*_, last) = on_file.ax.events("0", wait=0.5)
    with redis_server.client() as client:
        client.flushall()
    on_file.ax.call("keyed_here", {"subject": "b"})
    first, *_ = on_file.ax.events(last.position, wait=0.5)
    assert first.name == "gap"


def test_namespaces_do_not_see_each_other(on_file: Any) -> None:
    on_file.worker()
    other = on_file.ax.for_namespace("acme")
    other.call("keyed_here", {"subject": "a"})
    assert names(on_file) == []
    assert [e.name for e in other.events("0", wait=0.5)] == ["queued", "started", "succeeded"]


def test_no_argument_and_no_result_is_in_an_event(on_file: Any, redis_server: Any) -> None:
    on_file.worker()
    on_file.ax.call("keyed_here", {"subject": "hush"})
    assert len(names(on_file)) == 3
    with redis_server.client(encoding_errors="replace") as client:  # other tests put garbage there
        for key in client.keys("*"):
            if client.type(key) == "stream":
                assert "hush" not in json.dumps(client.xrange(key))


def test_a_handler_hears_what_other_processes_do_if_it_wants_to(on_file: Any) -> None:
    """A web backend approves; the process that holds the agent is told, with what it takes to wake it."""
    on_file.worker()
    here: list[Event] = []
    everywhere: list[Event] = []
    heard = threading.Event()

    @on_file.ax.on("succeeded")
    def near(event: Event) -> None:
        here.append(event)

    @on_file.ax.on("succeeded", everywhere=True)
    def far(event: Event) -> None:
        everywhere.append(event)
        heard.set()

    assert near is not far
    deadline = 30
    while not heard.wait(0.3) and deadline:  # it is heard from when the follower stands, which tells nobody
        deadline -= 1
        on_file.ax.call("keyed_here", {"subject": "a"}, dedupe="call")
    assert here == []
    assert everywhere[0].elsewhere is True
    assert everywhere[0].tool == "keyed_here"


def test_a_handler_hears_what_its_own_process_does_once(on_file: Any) -> None:
    """Not a second time by way of the queue."""
    heard: list[str] = []
    other = on_file.client()
    listening = threading.Event()

    @on_file.ax.on("cancelled", everywhere=True)
    def far(event: Event) -> None:
        heard.append(event.task_id)
        listening.set()

    assert far
    deadline = 30
    while (
        not listening.wait(0.3) and deadline
    ):  # it is heard from when the follower stands, which tells nobody
        deadline -= 1
        other.cancel(other.submit("keyed_here", {"subject": "a"}, dedupe="call"), by="ops")
    heard.clear()
    mine = on_file.ax.submit("keyed_here", {"subject": "b"})
    on_file.ax.cancel(mine, by="ops")
    told = ("cancelled", str(mine))
    assert until(lambda: told in [(e.name, e.task_id) for e in on_file.ax.events("0", wait=0.2)])
    last = other.submit("keyed_here", {"subject": "c"})
    other.cancel(last, by="ops")
    assert until(lambda: str(last) in heard)
    assert heard.count(str(mine)) == 1


def test_without_a_queue_nothing_is_heard_of_others() -> None:
    with AX("sqlite://") as ax:
        with pytest.raises(PolicyError, match="has none"):
            next(ax.events())
        with pytest.raises(PolicyError, match="has none"):
            ax.on("succeeded", everywhere=True)


def test_axd_watch_prints_a_line_per_change(shop_on: Any) -> None:
    shop_on.worker()
    shop_on.ax.call("keyed_here", {"subject": "a"})
    words = ("watch", "--after", "0", "--quiet", "0.5", "--url", shop_on.url)
    there = {"cwd": shop_on.folder, "nursery": shop_on.nursery}
    said = typed_elsewhere(*words, **there, AX_QUEUE=shop_on.queue)
    assert said.code == 0, said
    lines = said.out.strip().splitlines()
    assert len(lines) == 3
    assert "SUCCESS" in lines[-1]
    assert "keyed_here" in lines[-1]
    rows = typed_elsewhere(*words, "--json", "--queue", shop_on.queue, **there)
    assert [json.loads(line)["name"] for line in rows.out.splitlines()] == ["queued", "started", "succeeded"]


def test_axd_watch_without_a_queue_says_what_it_needs(on_file: Any) -> None:
    words = ("watch", "--url", on_file.url)
    said = typed_elsewhere(*words, cwd=on_file.folder, nursery=on_file.nursery, AX_QUEUE="")
    assert said.code == 2
    assert "--queue" in said.err
