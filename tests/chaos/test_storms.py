"""Workers, queue and database fail in turn, by a seed; effects counted from outside, record and answers agree."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ax_core.control import recover
from support import sabotage
from support.outside import World
from support.servers.databases import EVERY, FILE, POSTGRES
from support.servers.mariadb import MariaDB
from support.servers.postgres import Postgres
from support.servers.redis import Redis
from support.storm.plan import Blow, Call, Plan, plan
from support.storm.storm import Storm

SHORT = int(os.environ.get("AX_CHAOS_SEED") or 1)
SEED = int(os.environ.get("AX_CHAOS_SEED") or random.SystemRandom().randrange(1 << 32))
STORMS = int(os.environ.get("AX_CHAOS_STORMS") or 3)
CALLS = int(os.environ.get("AX_CHAOS_CALLS") or 2000)


class Coast:
    """Where storms are: servers of their own, which nobody else misses when they are gone."""

    def __init__(self, folder: Path, world: World, redis: Redis, kind: str, database: Any) -> None:
        self.folder, self.world, self.redis, self.kind, self.database = folder, world, redis, kind, database

    @contextmanager
    def storm(self, drawn: Plan, **env: str) -> Iterator[Storm]:
        """A storm that is over at the end of the block."""
        self.world.begin_anew(self.folder)
        url = f"sqlite:///{self.folder}/ax.db"
        if self.database is not None:
            name = self.database.fresh()
            url = self.database.url(name)
        print(f"storm seed {drawn.seed} on {self.kind}")
        with Storm(
            drawn, self.folder, url, self.redis.url, self.redis, self.world, self.database, **env
        ) as storm:
            yield storm


@pytest.fixture(params=EVERY)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def coast(kind: str, tmp_path: Path, world: World) -> Iterator[Coast]:
    """Servers that lose nothing they have committed when they are killed, though they would in a power cut."""
    with Redis() as redis:
        if kind == FILE:
            yield Coast(tmp_path, world, redis, kind, None)
            return
        made: Any = (
            Postgres(wal_writer_delay="1ms")
            if kind == POSTGRES
            else MariaDB(innodb_flush_log_at_trx_commit="2")
        )
        with made as database:
            yield Coast(tmp_path, world, redis, kind, database)


def play(coast: Coast, drawn: Plan) -> None:
    with coast.storm(drawn) as storm:
        storm.play()
        found = storm.judge()
        assert not found, "\n".join([f"seed {drawn.seed}; workers ended with {storm.crew.ends}", *found])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_short_storm(coast: Coast) -> None:
    """Every kind of blow once, within seconds."""
    servers = coast.database is not None
    play(coast, plan(SHORT, calls=60, seconds=12.0, blows=17 if servers else 12, servers=servers))


@pytest.mark.chaos
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("number", range(STORMS))
def test_a_long_storm(coast: Coast, number: int) -> None:
    """``AX_CHAOS_SEED`` plays them again; ``AX_CHAOS_STORMS`` per database, of ``AX_CHAOS_CALLS`` each."""
    seconds, servers = CALLS / 10, coast.database is not None
    play(coast, plan(SEED + number, calls=CALLS, seconds=seconds, blows=int(seconds / 3), servers=servers))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [FILE])
def test_a_storm_goes_red_where_workers_repeat_what_is_in_doubt(
    coast: Coast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judge sees the second effect, and the attempt after one that was lost in doubt."""
    calls = [
        Call(n / 8, "unsafe_here", f"r-{n}", {"subject": f"r-{n}", "dwell": 0.3}, n % 2 == 0)
        for n in range(24)
    ]
    kills = [Blow(1.0 + n, "kill", n % 2, 0.0) for n in range(3)]
    monkeypatch.setattr(recover, "decide", recover.decide)  # put back afterwards what is broken here
    sabotage.commit(["requeue what is in doubt"])
    with coast.storm(
        Plan(0, tuple(calls), tuple(kills), 2, 0.0), SHOP_SABOTAGE="requeue what is in doubt"
    ) as storm:
        storm.play()
        found = storm.judge()
    assert any("was lost in doubt, and another followed" in what for what in found)
    assert any("unsafe: 2 effects" in what for what in found)
