"""Processes that are killed, that fork, and a server that is: the record is true, and nothing happens twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ax_core import AX, OutcomeUnknown, State
from support.aside import outcome, together
from support.children import Nursery
from support.servers import mortal
from support.servers.databases import SERVERS
from support.servers.home import Home
from support.servers.mariadb import MariaDB
from support.servers.postgres import Postgres

ANY = {"properties": {"n": {}}}
BEFORE = ["admit.before_commit", "admit.after_commit", "effect.before"]
AFTER = ["effect.after", "record.before_commit"]


@pytest.fixture
def effects(tmp_path: Path) -> Path:
    return tmp_path / "effects"


def happened(effects: Path) -> list[int]:
    return sorted(map(int, effects.read_text().split())) if effects.exists() else []


@pytest.mark.parametrize("effect", ["unsafe", "idempotent"])
@pytest.mark.parametrize("fault", [*BEFORE, *AFTER, "record.after_commit"])
def test_whoever_comes_after_a_killed_process_finds_what_is_true(
    home: Home, nursery: Nursery, tmp_path: Path, effects: Path, fault: str, effect: str
) -> None:
    spec = {"url": home.url, "effects": str(effects), "effect": effect, "fault": f"{fault}=kill"}
    child = nursery.start("support.servers.mortal", spec, tmp_path / "log")
    child.wait()
    assert not child.ended
    with AX(home.url) as ax:
        mortal.register(ax, str(effects))
        said = outcome(lambda: ax.call(effect, {"n": 1}, request_id="r"))
        task = ax.find_request("r")
        assert task is not None
        assert ax.verify(task.id) is None
    if fault == "record.after_commit" or fault == "admit.before_commit":
        assert (said, happened(effects), task.attempts) == (1, [1], 1)
    elif effect == "idempotent":
        assert (said, task.attempts) == (1, 2)
        assert happened(effects) == ([1, 1] if fault in AFTER else [1])
    else:
        assert isinstance(said, OutcomeUnknown)
        assert task.state == State.QUARANTINE
        assert happened(effects) == ([1] if fault in AFTER else [])


def test_a_forked_child_makes_connections_of_its_own(
    home: Home, nursery: Nursery, tmp_path: Path, effects: Path
) -> None:
    spec = {"url": home.url, "effects": str(effects), "forks": 4}
    child = nursery.start("support.servers.mortal", spec, tmp_path / "log")
    heard = child.wait()
    assert child.ended, child.complaint()
    assert heard[0] == {"codes": [0, 0, 0, 0]}
    assert happened(effects) == [0, 1, 2, 3, 100, 101, 102, 103]
    with AX(home.url) as ax:
        assert {(task.state, task.attempts) for task in ax.tasks().tasks} == {("SUCCESS", 1)}


@pytest.fixture(params=SERVERS)
def own(request: pytest.FixtureRequest) -> Iterator[Postgres | MariaDB]:
    """A server of this test alone, that keeps what it has committed."""
    made = (
        Postgres(fsync="on") if request.param == "postgresql" else MariaDB(innodb_flush_log_at_trx_commit="1")
    )
    with made as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["kill", "term"])
def test_a_server_that_is_restarted_under_load_loses_nothing(own: Postgres | MariaDB, killed: bool) -> None:
    """Callers wait until it is back; what is told as done is done, once."""
    acted: list[int] = []
    half = threading.Event()

    def act(n: int) -> int:
        acted.append(n)
        if len(acted) == 20:
            half.set()
        return n

    with AX(own.url(own.fresh())) as ax:
        ax.register(act, policy={"effect": "unsafe"})
        ax.tasks()

        def restart() -> None:
            assert half.wait(60)
            own.restart(killed=killed)

        def some(first: int) -> list[object]:
            return [
                outcome(lambda n=n: ax.call("act", {"n": n}, request_id=f"r{n}")) for n in range(first, 60, 6)
            ]

        *said, _ = together([*[lambda first=first: some(first) for first in range(6)], restart])
        assert said == [list(range(first, 60, 6)) for first in range(6)]
        assert sorted(acted) == list(range(60))
        tasks = ax.tasks(limit=100).tasks
        assert {(task.state, task.attempts) for task in tasks} == {("SUCCESS", 1)}
        assert [ax.verify(task.id) for task in tasks] == [None] * 60
