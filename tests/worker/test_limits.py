"""Limits of tools that all workers keep together, and the pace of one worker."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import AX, PolicyError, State
from ax_core.rates import Rate, rate_of
from ax_core.worker.pace import Pace
from support.ledger import until
from support.limited import EIGHT, TEN, TWO, most_at_once, most_within, waits


def submitted(shop: Any, tool: str, count: int, **arguments: Any) -> list[Any]:
    """So many tasks of a tool."""
    return [shop.ax.submit(tool, {"subject": f"{tool} {n}", **arguments}) for n in range(count)]


def finished(shop: Any, handles: list[Any]) -> list[dict[str, Any]]:
    """What the world saw, once all have succeeded."""
    for handle in handles:
        shop.ax.wait_for_result(handle, timeout=60)
    return shop.world.seen()


def test_three_workers_together_never_run_more_than_the_tool_allows(on_file: Any) -> None:
    """Counted by the outside world; and as many as it allows do run."""
    for _ in range(3):
        on_file.worker()
    seen = finished(on_file, submitted(on_file, "two_at_once", 15, dwell=0.2))
    assert most_at_once(seen) == TWO
    assert len({e["pid"] for e in seen}) > 1


def test_three_workers_together_begin_no_more_than_the_rate(on_file: Any) -> None:
    """Ten, and no eleventh before the second is over; what passes between count and first line can only delay it."""
    for _ in range(3):
        on_file.worker()
    seen = finished(on_file, submitted(on_file, "ten_a_second", 3 * TEN))
    began = [e["at"] for e in seen if e["kind"] == "in"]
    assert all(at - began[0] > n // TEN - 0.4 for n, at in enumerate(began))  # the first may be late itself
    assert began[-1] - began[0] < 12


def test_tasks_that_wait_for_their_turn_cost_no_slot(on_file: Any) -> None:
    """Ten stand in line, in a worker of three slots; what has no limit passes them."""
    worker = on_file.worker(concurrency=3)
    handles = submitted(on_file, "two_at_once", 12, gate="go")
    on_file.world.wait_for(2, kind="at go")
    assert until(lambda: worker.health()["in_line"] == 10), worker.health()
    assert on_file.ax.call("unlimited", {"subject": "quick"}) == "quick"
    assert until(lambda: worker.health()["running"] == 2)
    on_file.world.open("go")
    assert most_at_once(finished(on_file, handles)) <= TWO + 1  # with the quick one
    assert until(lambda: worker.health()["in_line"] == 0)


def test_both_limits_hold_together(on_file: Any) -> None:
    on_file.worker()
    seen = finished(on_file, submitted(on_file, "both", 6, dwell=0.05))
    assert most_at_once(seen) == 1


def test_the_places_of_a_killed_worker_lapse(on_file: Any, redis_server: Any) -> None:
    """Its tasks are run by another one as soon as they have."""
    worker = on_file.worker()
    handles = submitted(on_file, "two_at_once", 3, gate="go")
    on_file.world.wait_for(2, kind="at go")
    worker.kill()
    on_file.world.open("go")
    on_file.worker()
    finished(on_file, handles)
    with redis_server.client() as client:
        assert until(lambda: client.zcard(places(on_file, "two_at_once")) == 0)


def places(shop: Any, tool: str) -> str:
    """Where Redis keeps who runs a tool."""
    return "{" + shop.queue.partition("prefix=")[2] + "}:places:" + tool


def test_places_that_redis_forgot_are_taken_again_by_those_who_run(on_file: Any, redis_server: Any) -> None:
    on_file.worker()
    first = submitted(on_file, "two_at_once", 2, gate="go")
    on_file.world.wait_for(2, kind="at go")
    with redis_server.client() as client:
        client.flushall()
        assert until(lambda: client.zcard(places(on_file, "two_at_once")) == 2)
    third = on_file.ax.submit("two_at_once", {"subject": "third", "gate": "go"})
    assert on_file.ax.call("unlimited", {"subject": "quick"}) == "quick"
    assert on_file.ax.get(third).state is State.QUEUED
    on_file.world.open("go")
    assert most_at_once(finished(on_file, [*first, third])) <= TWO + 1


def test_while_the_queue_is_away_what_is_limited_waits_and_the_rest_goes_on(
    on_file: Any, redis_server: Any
) -> None:
    """A limit that nobody can ask about lets nothing pass; the tasks are in the database."""
    on_file.worker()
    redis_server.pause()
    try:
        limited = [*submitted(on_file, "ten_a_second", 1), *submitted(on_file, "two_at_once", 1)]
        free = on_file.ax.submit("unlimited", {"subject": "free"})
        assert until(lambda: on_file.ax.get(free).state is State.SUCCESS, 60)
        assert {on_file.ax.get(handle).state for handle in limited} == {State.QUEUED}
    finally:
        redis_server.resume()
    finished(on_file, limited)


def test_a_crowd_that_is_sent_away_comes_back_no_sooner_and_spread(on_file: Any) -> None:
    """Two workers, one tool with places for eight: all come back, after the time that they were told."""
    for _ in range(2):
        on_file.worker(concurrency=16)
    seen = finished(on_file, submitted(on_file, "sent_away", 60, retry_after=2.0))
    waited = waits(seen).values()
    assert len(waited) == 60
    assert min(waited) >= 2.0
    assert most_within(0.3, waited) < 60 * 0.6  # a second is what they are drawn from
    assert most_at_once(seen) <= EIGHT


def test_a_worker_that_drains_gives_back_what_stands_in_line(on_file: Any) -> None:
    """At once, to the next worker, which need not wait until it is missed."""
    worker = on_file.worker()
    handles = submitted(on_file, "two_at_once", 5, gate="go")
    on_file.world.wait_for(2, kind="at go")
    assert until(lambda: worker.health()["in_line"] == 3)
    other = on_file.worker()
    worker.terminate()
    assert until(lambda: other.health()["in_line"] == 3), other.health()
    on_file.world.open("go")
    assert worker.wait() == 0
    assert most_at_once(finished(on_file, handles)) == TWO


def test_a_worker_keeps_its_own_pace(on_file: Any) -> None:
    on_file.worker("--max-rate", "10", concurrency=8)
    seen = finished(on_file, submitted(on_file, "unlimited", 20))
    began = [e["at"] for e in seen if e["kind"] == "in"]
    assert all(at - began[0] > (n - 2) / 10 - 0.4 for n, at in enumerate(began))
    assert began[-1] - began[0] < 12


class Hand:
    """A clock that is moved by hand."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_a_pace_lets_so_many_pass_and_makes_up_for_little() -> None:
    clock = Hand()
    pace = Pace(10, clock)  # type: ignore[arg-type]
    begun = 0
    for _ in range(1000):
        clock.now += 0.01
        pace.spend(room := pace.room(5))
        begun += room
    assert 99 <= begun <= 101
    clock.now += 60
    assert pace.room(5) == 1
    pace.spend()
    assert pace.wait == pytest.approx(0.05)


def test_a_pace_without_a_limit_never_waits() -> None:
    pace = Pace(None, Hand())  # type: ignore[arg-type]
    pace.spend(1000)
    assert (pace.room(7), pace.wait) == (7, 0.0)


@pytest.mark.parametrize("most", [0, -1.0, float("nan")])
def test_a_pace_of_nothing_is_refused(most: float) -> None:
    with pytest.raises(PolicyError, match="above zero"):
        Pace(most, Hand())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text, rate",
    [
        ("20/second", Rate(20, 1)),
        ("20/s", Rate(20, 1)),
        ("100 per 5 minutes", Rate(100, 300)),
        ("3 / 2 hours", Rate(3, 7200)),
        (" 1/DAY ", Rate(1, 86_400)),
        ("5/min", Rate(5, 60)),
    ],
)
def test_rates_are_read_as_people_write_them(text: str, rate: Rate) -> None:
    assert rate_of(text) == rate


@pytest.mark.parametrize(
    "limits, says",
    [
        ({"rate": "fast"}, "is no rate, like '20/second'"),
        ({"rate": "20"}, "is no rate"),
        ({"rate": "20/fortnight"}, "is no rate"),
        ({"rate": "0/second"}, "let nothing pass"),
        ({"rate": "5/0 seconds"}, "let nothing pass"),
        ({"rate": 20}, "is no rate"),
        ({"rate": ""}, "is no rate"),
        ({"concurrency": 0}, "one or more"),
        ({"concurrency": True}, "one or more"),
        ({"concurrency": "3"}, "one or more"),
        ({"rate": "20/second", "where": "here"}, "rate= is enforced by workers only"),
        ({"concurrency": 3}, "concurrency= is enforced by workers only"),
    ],
    ids=str,
)
def test_a_limit_that_makes_no_sense_or_that_nothing_keeps_is_refused(
    limits: dict[str, Any], says: str
) -> None:
    with AX("sqlite://") as ax, pytest.raises(PolicyError, match=says):
        ax.register(lambda: 1, name="other", schema={}, policy=limits)


def test_celery_s_workers_keep_no_limits_of_ours() -> None:
    with AX("sqlite://", queue="celery://shop:app") as ax, pytest.raises(PolicyError, match="are Celery's"):
        ax.register(lambda: 1, name="other", schema={}, policy={"rate": "1/s", "where": "worker"})
