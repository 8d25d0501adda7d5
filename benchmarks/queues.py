"""One worker process, submit-then-wait of a tool that does nothing: AX with its truth in SQL, and queues without."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.queue_ax import AXD
from benchmarks.queue_party import Party, Turn, environment
from benchmarks.report import Findings, Line
from benchmarks.servers import PostgresServer, RedisServer, found

SLOTS = 16
WIDTH = 64
ONE, MANY = 400, 1_920
ROUNDS = 3
RIVALS = {"dramatiq": 2.5, "huey": 1.5, "taskiq": 6.0, "celery": 6.0, "rq": 6.0, "arq": 6.0}
"""How many times its throughput AX must reach."""
AX, POSTGRES = "AX, SQLite", "AX, PostgreSQL"


def among_queues(findings: Findings, folder: Path) -> None:
    """Every party takes its turns in one interleaved run."""
    if found(*RedisServer.programs) is None:
        findings.skipped["queues"] = "no redis-server is installed"
        return
    folder.chmod(0o755)  # a database server runs as a user of its own
    folder.parent.chmod(0o755)
    with ExitStack() as ending:
        redis = ending.enter_context(RedisServer(folder / "redis"))
        parties = dict(_parties(findings, folder, redis, ending))
        before = os.getloadavg()[0]
        turns = {name: _Turns(party) for name, party in parties.items()}
        for number in range(ROUNDS):
            for name in list(turns)[:: 1 if number % 2 == 0 else -1]:
                try:
                    turns[name].take()
                except RuntimeError as error:  # one that fails must not cost the others their numbers
                    findings.failed[name] = str(error)[-500:]
                    del turns[name]
        load = (before, os.getloadavg()[0])
        for name, share in RIVALS.items():
            if name in turns:
                _compare(findings, turns[AX], turns[name], share, load)
        if POSTGRES in turns and "dramatiq" in turns:
            _compare(findings, turns[POSTGRES], turns["dramatiq"], 1.5, load)


class _Turns:
    """What a party did in its turns: one call at a time, and many in flight."""

    def __init__(self, party: Party) -> None:
        self.name, self._party = party.name, party
        self.one: list[Turn] = []
        self.many: list[Turn] = []

    def take(self) -> None:
        self.one.append(self._party.turn(1, ONE))
        self.many.append(self._party.turn(WIDTH, MANY))

    @property
    def medians(self) -> list[float]:
        return [turn.median * 1e3 for turn in self.one]

    @property
    def rates(self) -> list[float]:
        return [turn.rate for turn in self.many]

    @property
    def cpus(self) -> list[float]:
        return [turn.cpu * 1e3 for turn in self.many]


def _compare(findings: Findings, ax: _Turns, other: _Turns, share: float, load: tuple[float, float]) -> None:
    dear = 0.4 if other.name == "dramatiq" and ax.name == AX else None
    asked: tuple[tuple[str, Callable[[_Turns], list[float]], str, str, float | None, bool], ...] = (
        ("median of one call, 1 in flight", lambda turns: turns.medians, ".2f", "ms", 1.0, False),
        (f"calls per second, {WIDTH} in flight", lambda turns: turns.rates, ",.0f", "/s", share, True),
        (f"CPU of client and worker per call, {WIDTH} in flight", lambda t: t.cpus, ".2f", "ms", dear, False),
    )
    for what, of, form, unit, limit, at_least in asked:
        ratios = tuple(a / b for a, b in zip(of(ax), of(other), strict=True))
        findings.lines.append(
            Line(
                what=what,
                ours=f"{ax.name}: {statistics.median(of(ax)):{form}} {unit}",
                theirs=f"{other.name}: {statistics.median(of(other)):{form}} {unit}",
                figure=statistics.median(ratios),
                unit="×",
                limit=limit,
                load=load,
                ratios=ratios,
                at_least=at_least,
            )
        )


def _parties(
    findings: Findings, folder: Path, redis: RedisServer, ending: ExitStack
) -> Iterator[tuple[str, Party]]:
    yield AX, ending.enter_context(ax_party(AX, folder / "ax", redis, f"sqlite:///{folder / 'ax.db'}"))
    if found(*PostgresServer.programs) is None or find_spec("psycopg") is None:
        findings.skipped["PostgreSQL"] = "no server, or no driver, is installed"
    else:
        server = ending.enter_context(PostgresServer(folder / "postgres"))
        migrated(server.url)
        # a claim that is synced, as that of a tool that acts: PostgreSQL need not sync a read's
        made = ax_party(POSTGRES, folder / "ax-pg", redis, server.url, effect="idempotent")
        yield POSTGRES, ending.enter_context(made)
    for name in RIVALS:
        module = f"benchmarks.rival_{name}"
        if lacking := [each for each in import_module(module).NEEDS if find_spec(each) is None]:
            findings.skipped[name] = f"pip install 'ax-adapters[bench]' (not found: {', '.join(lacking)})"
            continue
        given = {"AX_BENCH_REDIS": redis.url}
        try:
            party = Party(name, module, folder / name, SLOTS, given)
        except RuntimeError as error:  # one that cannot run must not cost the others their numbers
            findings.failed[name] = str(error)
            continue
        ending.callback(party.close)
        yield name, party


def migrated(url: str) -> None:
    """Make AX's tables."""
    asked = [sys.executable, "-c", AXD, "migrate"]
    subprocess.run(asked, env={**environment(), "AX_URL": url}, check=True, capture_output=True)


@contextmanager
def ax_party(
    name: str, folder: Path, redis: RedisServer, db: str, *, effect: str = "read", workers: int = 1
) -> Iterator[Party]:
    """AX on a database; each has queues of its own."""
    given = {
        "AX_BENCH_REDIS": f"{redis.url}?prefix={folder.name}",
        "AX_BENCH_DB": db,
        "AX_BENCH_EFFECT": effect,
    }
    party = Party(name, "benchmarks.queue_ax", folder, SLOTS, given, workers)
    try:
        yield party
    finally:
        party.close()
