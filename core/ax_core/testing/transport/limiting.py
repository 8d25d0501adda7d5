"""The part of the contract about limits that hold across workers; passed over where a transport keeps none."""

from __future__ import annotations

import time

import pytest

from ...ports import Limiter
from ...rates import Rate
from .bench import Bench, Fixtures, eventually

LAPSE = 0.4


def limiter_of(bench: Bench) -> Limiter:
    """The limits, as another worker sees them each time."""
    limiter = bench.transport().limiter()
    if limiter is None:
        pytest.skip("this transport keeps no limits")
    return limiter


class Limiting(Fixtures):
    """Places and rates, by name."""

    def test_there_are_no_more_places_than_asked_for(self, bench: Bench) -> None:
        """Whoever has one may ask again; one that is given back is for others."""
        one, other = limiter_of(bench), limiter_of(bench)
        assert one.take_place("tool", 2, "a", 60)
        assert other.take_place("tool", 2, "b", 60)
        assert other.take_place("tool", 2, "b", 60)
        assert not one.take_place("tool", 2, "c", 60)
        assert one.take_place("other tool", 1, "c", 60)
        assert other.give_place("tool", "b")
        assert one.take_place("tool", 2, "c", 60)

    def test_a_place_that_is_not_kept_lapses(self, bench: Bench) -> None:
        """Those of a worker that lives do not, however long it takes."""
        limiter = limiter_of(bench)
        assert limiter.take_place("tool", 2, "lives", LAPSE)
        assert limiter.take_place("tool", 2, "dies", LAPSE)
        until = time.monotonic() + 3 * LAPSE
        while time.monotonic() < until:
            assert limiter.keep_places([("tool", "lives")], LAPSE)
            time.sleep(LAPSE / 10)
        assert limiter.take_place("tool", 2, "next", 60)
        assert not limiter.take_place("tool", 2, "and one more", 60)

    def test_a_place_that_was_lost_is_taken_again_by_whoever_keeps_it(self, bench: Bench) -> None:
        """For it runs, whatever the queue remembers."""
        limiter = limiter_of(bench)
        assert limiter.keep_places([("tool", "runs")], 60)
        assert not limiter.take_place("tool", 1, "waits", 60)

    def test_no_more_are_counted_than_the_rate_allows(self, bench: Bench) -> None:
        """By whichever worker; the answer says when to ask again."""
        one, other = limiter_of(bench), limiter_of(bench)
        rate = Rate(3, 1)
        assert [one.count("tool", rate), other.count("tool", rate), one.count("tool", rate)] == [0, 0, 0]
        wait = other.count("tool", rate)
        assert 0 < wait <= 1
        assert one.count("other tool", rate) == 0
        assert eventually(lambda: other.count("tool", rate) == 0)
