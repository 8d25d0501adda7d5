"""Agents killed at random moments and resumed from what their framework saved: no effect twice, and each turn ends."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.llama_life import LlamaLife
from support.outside import World
from support.resuming import Life

SEED = int(os.environ.get("AX_CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
TIMES = 10

pytestmark = [pytest.mark.xdist_group("resuming"), pytest.mark.guarantee]

UNSAFE = {"pay": "unsafe"}
ASKED = {"pay": {"effect": "unsafe", "confirm": True}}
ONE = [[["pay", {"n": 1}, "p1"]]]
IN_TURN = [[["pay", {"n": n}, f"p{n}"]] for n in (1, 2, 3)]
AT_ONCE = [[["pay", {"n": n}, f"p{n}"] for n in (1, 2, 3)]]


def scenario(of: type, script: Any, moments: int, **spec: Any) -> Any:
    """A kind of conversation; ``moments`` is about how many it passes."""
    kind = {"tools": ["pay"], "script": [*script, "done"], "policies": UNSAFE, **spec}
    return lambda folder, world: of(folder, *([world] if of is LlamaLife else []), **kind), moments


SCENARIOS: dict[str, tuple[Callable[[Path, World], Life], int]] = {
    "langchain": scenario(Life, IN_TURN, 34),
    "langchain async": scenario(Life, IN_TURN, 34, is_async=True),
    "langchain middleware": scenario(Life, IN_TURN, 72, middleware=True),
    "langchain at once": scenario(Life, AT_ONCE, 34),
    "langchain approval": scenario(Life, ONE, 18, policies=ASKED),
    "llama_index": scenario(LlamaLife, IN_TURN, 66),
    "llama_index at once": scenario(LlamaLife, AT_ONCE, 52),
    "llama_index approval": scenario(LlamaLife, ONE, 34, policies=ASKED),
}


@pytest.fixture
def world(tmp_path: Path) -> Any:
    with World(tmp_path) as running:
        yield running


def play(name: str, seed: int, folder: Path, world: World) -> None:
    """Kill it once, resume it, and see what became of it."""
    make, moments = SCENARIOS[name]
    life = make(folder, world)
    asks = life.spec["policies"] is ASKED
    if asks:
        assert life.effects == [] and len((life.run() or {})["asked"]) == 1
    at = random.Random(f"{name} {seed}").randrange(1 if asks else 3, moments)
    print(f"seed {seed}: {name}, killed at moment {at}")
    end = _resumed(life, asks, kill_at=at)
    for _ in range(3):
        if end is not None and end["last"] == "done":
            break
        end = _resumed(life, asks)
    assert end is not None and end["last"] == "done"
    assert len(set(life.effects)) == len(life.effects), life.effects
    for n, told in _told(end).items():
        known = told.split("\n[")[0] == f"pay {n} done"
        assert known or "UNKNOWN OUTCOME" in told, told
        assert not known or f"pay:{n}" in life.effects, f"{told}, but {life.effects}"


def _resumed(life: Life, asks: bool, **kill: Any) -> dict[str, Any] | None:
    first = bool(kill) and not asks
    if isinstance(life, LlamaLife):
        return life.run(**kill, **({"answer": "approve"} if asks else {}))
    end = life.run(start="go" if first else None, resume="approve" if asks and kill else None, **kill)
    return life.run(resume="approve") if end is not None and end["asked"] else end


def _told(end: dict[str, Any]) -> dict[int, str]:
    """The last answer to each payment."""
    if isinstance(end["told"], dict):
        return {int(id[1:]): answers[-1] for id, answers in end["told"].items()}
    return dict(enumerate(end["told"], 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_killed_once(name: str, tmp_path: Path, world: World) -> None:
    play(name, 1, tmp_path, world)


@pytest.mark.chaos
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("time", range(TIMES))
def test_killed_at_ten_random_moments(name: str, time: int, tmp_path: Path, world: World) -> None:
    """``AX_CHAOS_SEED`` plays it again."""
    play(name, SEED + time, tmp_path, world)
