"""A queue with slots of its own: what is slow leaves the others' slots alone, and they leave it its own."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import PolicyError, State
from ax_core.worker.crew import manned
from support.ledger import until
from support.limited import most_at_once

OWN = ("--queues", "default,slow:2")


def submitted(shop: Any, tool: str, count: int, **arguments: Any) -> list[Any]:
    return [shop.ax.submit(tool, {"subject": f"{tool} {n}", **arguments}) for n in range(count)]


def test_a_slow_tool_takes_no_more_than_the_slots_of_its_queue(on_file: Any) -> None:
    """Six are waiting, two run, and all slots of the rest are free for what is quick."""
    worker = on_file.worker(*OWN, concurrency=3)
    slow = submitted(on_file, "slow", 6, gate="go")
    on_file.world.wait_for(2, kind="at go")
    quick = submitted(on_file, "unlimited", 12)
    for handle in quick:
        on_file.ax.wait_for_result(handle, timeout=30)
    assert until(lambda: worker.health()["running"] == 2), worker.health()
    assert [on_file.ax.get(handle).state for handle in slow].count(State.QUEUED) == 4
    on_file.world.open("go")
    for handle in slow:
        on_file.ax.wait_for_result(handle, timeout=30)
    assert most_at_once([e for e in on_file.world.seen() if "slow" in e["subject"]]) == 2


def test_a_queue_keeps_its_slots_while_all_others_are_taken(on_file: Any) -> None:
    worker = on_file.worker(*OWN, concurrency=1)
    submitted(on_file, "unlimited", 5, gate="go")
    on_file.world.wait_for(1, kind="at go")
    assert on_file.ax.call("slow", {"subject": "in time"}) == "in time"
    assert (worker.health()["concurrency"], worker.health()["queues"]) == (3, ["default", "slow"])
    on_file.world.open("go")


def test_what_the_queue_forgot_is_found_by_its_own_slots(on_file: Any, redis_server: Any) -> None:
    handles = submitted(on_file, "slow", 3) + submitted(on_file, "unlimited", 3)
    with redis_server.client() as client:
        client.flushall()
    on_file.worker(*OWN)
    for handle in handles:
        on_file.ax.wait_for_result(handle, timeout=30)


def test_a_worker_that_is_told_to_go_lets_all_its_slots_end(on_file: Any) -> None:
    worker = on_file.worker(*OWN)
    handles = submitted(on_file, "slow", 1, gate="go") + submitted(on_file, "unlimited", 1, gate="go")
    left = submitted(on_file, "slow", 4, gate="go")
    on_file.world.wait_for(3, kind="at go")
    worker.terminate()
    assert until(lambda: "no more is fetched, 3 still run" in worker.said), worker.said
    on_file.world.open("go")
    assert worker.wait() == 0
    assert {on_file.ax.get(handle).state for handle in handles} == {State.SUCCESS}
    on_file.worker(*OWN)
    for handle in left:
        on_file.ax.wait_for_result(handle, timeout=30)


@pytest.mark.parametrize(
    "queues,crews",
    [
        (["default"], [(("default",), 8)]),
        (["mail", "default"], [(("mail", "default"), 8)]),
        (["slow:2", "mail", "default"], [(("mail", "default"), 8), (("slow",), 2)]),
        (["slow:2", "big:1"], [(("slow",), 2), (("big",), 1)]),
    ],
)
def test_queues_without_a_number_share_the_slots(queues: list[str], crews: list[Any]) -> None:
    assert manned(queues, 8) == crews


@pytest.mark.parametrize(
    "queues,why",
    [
        (["slow:"], "how many slots"),
        (["slow:0"], "how many slots"),
        (["slow:-1"], "how many slots"),
        (["slow:many"], "how many slots"),
        (["a b"], "letters, digits"),
        ([""], "letters, digits"),
        (["mail", "mail:2"], "names mail twice"),
        (["mail", "mail"], "names mail twice"),
        ([], "at least one queue"),
    ],
)
def test_queues_that_say_nothing_clear_are_refused(queues: list[str], why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        manned(queues, 8)


def test_a_worker_without_slots_is_refused() -> None:
    with pytest.raises(PolicyError, match="concurrency=0 must be at least 1"):
        manned(["default"], 0)
