"""Hundreds of seeded random kills: effects counted from outside, the record, and what callers heard, always agree."""

from __future__ import annotations

import os
import random

import pytest

from support.chaos import LEASE, Chaos
from support.processes import Stage

SEED = int(os.environ.get("AX_CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
ROUNDS = int(os.environ.get("AX_CHAOS_ROUNDS") or 16)


def play(stage: Stage, seed: int, **more: int) -> Chaos:
    print(f"chaos seed {seed}")
    chaos = Chaos(stage, seed, **more)
    chaos.play()
    assert stage.judge(lease=LEASE) == [], f"seed {seed}"
    return chaos


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_few_random_kills(stage: Stage, seed: int) -> None:
    assert play(stage, seed, kills=6, stops=0).killed >= 6


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", range(ROUNDS))
def test_twenty_random_kills_of_three_hundred(stage: Stage, number: int) -> None:
    """``AX_CHAOS_SEED`` plays a run again; ``AX_CHAOS_ROUNDS`` of 20 kills each."""
    chaos = play(stage, SEED + number, kills=20, stops=1)
    assert chaos.killed >= 20


@pytest.mark.chaos
@pytest.mark.timeout(900)
@pytest.mark.parametrize("broken", ["requeue what is in doubt", "fresh keys", "everybody is gone"])
def test_the_same_chaos_goes_red_where_ax_is_broken(stage: Stage, broken: str) -> None:
    Chaos(stage, SEED, kills=40, stops=0, sabotage=(broken,)).play()
    assert stage.judge(lease=LEASE) != []
