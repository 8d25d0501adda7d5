"""The fake clock: it stands still, and two runs of a test see the same."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ax_core.testing import FakeClock


def drawn(clock: FakeClock) -> tuple[list[str], list[float]]:
    return [clock.new_id() for _ in range(20)], [clock.random() for _ in range(20)]


def test_the_same_seed_gives_the_same_ids_and_chances_and_another_seed_others() -> None:
    assert drawn(FakeClock(seed=7)) == drawn(FakeClock(seed=7))
    ids, chances = drawn(FakeClock(seed=8))
    assert not set(ids) & set(drawn(FakeClock(seed=7))[0])
    assert all(0 <= chance < 1 for chance in chances)


def test_ids_sort_by_creation_within_a_moment_and_over_time() -> None:
    clock, ids = FakeClock(), []
    for step in range(6000):
        ids.append(clock.new_id())
        if step % 1000 == 999:
            clock.advance(0.001)
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert {len(id) for id in ids} == {36}


def test_it_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(datetime(2030, 5, 1, tzinfo=UTC))
    before = clock.now(), clock.monotonic()
    assert (clock.now(), clock.monotonic()) == before
    clock.advance(90)
    assert clock.now() - before[0] == 90_000_000
    assert clock.monotonic() - before[1] == 90
    assert clock.at == datetime(2030, 5, 1, 0, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_time_does_not_go_backwards(seconds: float) -> None:
    with pytest.raises(ValueError, match="backwards"):
        FakeClock().advance(seconds)


def test_a_start_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        FakeClock(datetime(2026, 1, 1))


def test_without_jumps_only_advance_moves_it() -> None:
    clock = FakeClock(jumps=False)
    assert not clock.skip(5)
    assert clock.monotonic() == 0
    assert FakeClock().skip(5)
