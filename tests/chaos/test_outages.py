"""A database that is away for a minute while tools end: what they did is known once it is back, and is done once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ax_core import State
from support.agent_tools import FORMS
from support.ledger import until
from support.outside import World
from support.servers.databases import POSTGRES, SERVERS
from support.servers.mariadb import MariaDB
from support.servers.postgres import Postgres
from support.shops import Shop, calling

AWAY = 60.0


@pytest.fixture(params=SERVERS)
def database(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A server that nobody else misses, and that loses nothing when it is stopped."""
    made: Any = Postgres() if request.param == POSTGRES else MariaDB()
    with made as server:
        yield server


@pytest.fixture
def stall(
    tmp_path: Path, database: Any, redis_url: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Shop]:
    """A shop on it, with the leases that AX has by default."""
    monkeypatch.setenv("SHOP_LEASE", "30")
    monkeypatch.setenv("SHOP_HEARTBEAT", "5")
    world.begin_anew(tmp_path)
    with ExitStack() as ending:
        yield Shop(tmp_path, database.url(database.fresh()), redis_url, world, ending)


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_a_worker_that_is_told_to_go_in_an_outage_records_what_it_kept_within_its_drain(
    stall: Any, database: Any
) -> None:
    worker = stall.worker("--drain", "60")
    handle = stall.ax.submit("unsafe_here", {"subject": "s", "before": "the door"})
    stall.world.wait_for(1, kind="at the door")
    database.stop()
    stall.world.open("the door")
    assert until(lambda: "it is kept and written once the store takes it" in worker.said, 60), worker.said
    worker.terminate()
    assert until(lambda: f"task {handle} could not be run" in worker.said, 60), (
        worker.said
    )  # its slot is free
    assert worker.child.poll() is None, worker.said
    database.start()
    assert worker.wait() == 0
    assert stall.ax.get(handle).state is State.SUCCESS
    assert len(stall.effects("s")) == 1


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_ends_that_could_not_be_recorded_for_a_minute_are_recorded_and_nothing_is_run_again(
    stall: Any, database: Any
) -> None:
    """Unsafe tools of every form, in a worker; it outlives the outage, which is twice its lease, and has kept them."""
    worker = stall.worker()
    handles = {
        form: stall.ax.submit(f"unsafe_{form}", {"subject": form, "before": "the door"}) for form in FORMS
    }
    stall.world.wait_for(len(FORMS), kind="at the door")
    database.stop()
    stall.world.open("the door")
    assert until(lambda: all(stall.effects(form) for form in FORMS))
    time.sleep(AWAY)  # the length of the outage is what is tried
    assert worker.child.poll() is None, worker.said
    database.start()
    for form, handle in handles.items():
        assert until(lambda handle=handle: stall.ax.get(handle).state is State.SUCCESS, 30), worker.said
        assert len(stall.effects(form)) == 1
        assert stall.ax.verify(handle) is None
    thread, said = calling(stall, "unsafe_here", subject="after")
    thread.join(30)
    assert len(stall.effects("after")) == 1, said
