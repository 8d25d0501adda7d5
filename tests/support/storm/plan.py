"""What happens in a storm and when, drawn from a seed: the calls that clients make, and the blows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from support.agent_tools import FORMS, KINDS
from support.workshop import LEASE

WORKERS = ("kill", "kill", "term", "stop", "stop long")
REDIS = (
    "redis killed",
    "redis restarted",
    "redis emptied",
    "redis flushed",
    "redis cut",
    "redis slow",
    "redis silent",
)
DATABASE = ("db killed", "db restarted", "db cut", "db slow", "db silent")


@dataclass(frozen=True)
class Call:
    """One call of a client.

    Attributes:
        at: seconds after the beginning.
        waits: with ``ax.call``; else it is submitted and then waited for.
    """

    at: float
    tool: str
    request: str
    args: dict[str, Any]
    waits: bool


@dataclass(frozen=True)
class Blow:
    """Something bad.

    Attributes:
        who: the number of the worker, where it hits one.
        lasts: seconds until it is over; 0: at once.
    """

    at: float
    kind: str
    who: int
    lasts: float


@dataclass(frozen=True)
class Plan:
    """A storm.

    Attributes:
        skew: seconds by which the clock of the last worker is wrong.
    """

    seed: int
    calls: tuple[Call, ...]
    blows: tuple[Blow, ...]
    workers: int
    skew: float


def plan(seed: int, *, calls: int, seconds: float, blows: int, servers: bool, workers: int = 3) -> Plan:
    """Draw a storm of so many calls and blows within ``seconds``; ``servers``: the database is one that can go away."""
    dice = random.Random(seed)
    asked = sorted((_call(dice, f"r-{n}", seconds) for n in range(calls)), key=lambda call: call.at)
    struck = _blows(dice, blows, seconds, workers, servers)
    skew = dice.choice((-600.0, 600.0)) if servers else 0.0  # a file has no clock but that of its one machine
    return Plan(seed, tuple(asked), struck, workers, skew)


def _call(dice: random.Random, request: str, seconds: float) -> Call:
    kind, form = dice.choice(KINDS), dice.choice(FORMS)
    args: dict[str, Any] = {"subject": request}
    chance = dice.random()
    if kind.startswith("undeclared"):
        chance = 1.0  # its failure is an answer, and to ask again is a new attempt, as without AX
    if chance < 0.15:
        args["refuses"] = 1
    elif chance < 0.25 and not kind.startswith("unsafe"):
        args["raises"] = 1
    if dice.random() < 0.5:
        args["dwell"] = round(dice.uniform(0.01, 0.4), 3)
    return Call(dice.uniform(0, seconds), f"{kind}_{form}", request, args, dice.random() < 0.5)


def _blows(dice: random.Random, count: int, seconds: float, workers: int, servers: bool) -> tuple[Blow, ...]:
    kinds = [*WORKERS, *REDIS, *(DATABASE if servers else ())]
    drawn: list[str] = []
    while len(drawn) < count:  # each kind comes about as often as the others
        dice.shuffle(kinds)
        drawn += kinds
    free: dict[str, float] = {}
    found: list[Blow] = []
    for n, kind in enumerate(drawn[:count]):
        who, lasts = dice.randrange(workers), _lasts(dice, kind)
        target = kind.split()[0] if kind.startswith(("redis", "db")) else f"worker {who}"
        at = max(seconds * (n + dice.random()) / count, free.get(target, 0.0))
        free[target] = at + lasts + 0.2  # one thing at a time is wrong with each of them
        found.append(Blow(at, kind, who, lasts))
    return tuple(sorted(found, key=lambda blow: blow.at))


def _lasts(dice: random.Random, kind: str) -> float:
    if kind == "stop long":
        return dice.uniform(LEASE, LEASE + 2.0)
    if kind in ("kill", "term", "redis flushed", "redis cut", "db cut"):
        return 0.0
    return dice.uniform(0.1, 2.0)
