"""How a worker takes jobs off Redis: as seldom and as few as it can; what it will not run goes back."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core.ports import Job
from ax_core.testing.transport.bench import ids, jobs, take
from ax_core.transport import open_transport
from ax_core.transport.redis.intake import Intake
from support.aside import Aside
from support.ledger import until


def test_a_worker_that_keeps_up_asks_once_per_job(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It blocks at once where the last read left nothing behind; where much is there it looks, in order."""
    transport = open_transport(redis_url)
    source = transport.source("w", ["default"])
    asked: list[str] = []
    for name in ("_take", "_block"):
        was = getattr(Intake, name)

        def noting(self: Any, *given: Any, name: str = name, was: Any = was) -> list[Any]:
            asked.append(name)
            found: list[Any] = was(self, *given)
            return found

        monkeypatch.setattr(Intake, name, noting)
    first = Aside(lambda: source.fetch(8, 20.0))
    assert until(lambda: asked == ["_take", "_block"])
    assert transport.publish([Job("first", "default")])
    assert [each.job.task_id for each in first.result()] == ["first"]
    asked.clear()
    for number in range(3):
        assert transport.publish([Job(f"t{number}", "default")])
        assert [each.job.task_id for each in source.fetch(8, 5.0)] == [f"t{number}"]
    assert asked == ["_block", "_block", "_block"]
    asked.clear()
    assert transport.publish([Job(f"m{number}", "default") for number in range(20)])
    found: list[str] = []
    while len(found) < 20:
        found += [each.job.task_id for each in source.fetch(8, 5.0)]
    assert found == [f"m{number}" for number in range(20)]
    assert asked == ["_block", "_take", "_take", "_take"]
    transport.close()


def test_what_comes_too_much_at_the_moment_of_blocking_goes_back(redis_url: str) -> None:
    """Jobs of all priorities, between the look that found nothing and the read that waits, for one free slot."""
    transport = open_transport(redis_url)
    source = transport.source("w", ["default"])
    before_blocking(source, lambda: transport.publish([Job(f"{p}", "t", priority=p) for p in (0, 1, 2)]))
    (got,) = source.fetch(1, 5)
    health = transport.health()
    assert (health.fetched["default"], health.waiting["default"]) == (1, 2)
    assert sorted([got.job.task_id, *ids(take(source, 2))]) == ["0", "1", "2"]
    transport.close()


def test_what_comes_while_a_worker_closes_goes_back(redis_url: str) -> None:
    """It had asked for it, and will not run it any more."""
    transport = open_transport(redis_url)
    source, other = transport.source("w", ["default"]), transport.source("other", ["default"])

    def close() -> None:
        transport.publish(jobs("task"))
        source._closed.set()

    before_blocking(source, close)
    assert source.fetch(1, 5) == []
    assert ids(take(other, 1, seconds=1)) == ["task"]
    transport.close()


def before_blocking(source: Any, do: Any) -> None:
    """Do something right before the source's next read that waits."""
    intake, block = source._intake, source._intake._block

    def between(*given: Any) -> Any:
        intake._block = block
        do()
        return block(*given)

    intake._block = between
