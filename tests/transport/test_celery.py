"""Celery as a transport: it carries ids, its own workers run what comes, and a killed one's job runs elsewhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ax_core.errors import NoSource, TransportError
from ax_core.ports import NORMAL, URGENT, Job, Transport
from ax_core.testing.transport import TransportContract
from ax_core.testing.transport.bench import Ear, eventually, jobs
from ax_core.transport import open_transport
from support.servers.process import free_port
from support.servers.redis import Redis
from support.surroundings import SURROUNDINGS

pytest.importorskip("celery")
from support import celery_app


@pytest.fixture
def broker(redis_server: Redis) -> str:
    redis_server.client().flushall()
    return redis_server.url


class TestCelery(TransportContract):
    """What the contract says of workers is skipped: they are Celery's."""

    opener = "support.celery_app:opened"

    @pytest.fixture
    def where(self, broker: str) -> str:
        return broker

    @pytest.fixture
    def forgets(self, redis_server: Redis) -> Callable[[], None]:
        return lambda: redis_server.client().flushall()


class Fleet:
    """Celery workers on one broker."""

    def __init__(self, broker: str, folder: Path) -> None:
        self.folder = folder
        self._environment = {
            **os.environ,
            **SURROUNDINGS,
            "AX_TEST_BROKER": broker,
            "AX_TEST_FOLDER": str(folder),
        }
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """One more worker."""
        command = [sys.executable, "-m", "celery", "-A", "support.celery_app", "worker", "-P", "solo"]
        with (self.folder / "celery.log").open("ab") as log:
            worker = subprocess.Popen(
                [*command, "-n", f"w{len(self.workers)}@test", "--without-gossip", "--without-mingle"],
                env=self._environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.workers.append(worker)
        return worker

    def ran(self) -> list[list[Any]]:
        """The jobs that were run, each with the pid of its worker."""
        try:
            return [json.loads(line) for line in (self.folder / "ran.jsonl").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def end(self) -> None:
        """kill -9."""
        for worker in self.workers:
            worker.kill()
            worker.wait()


@pytest.fixture
def fleet(broker: str, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(broker, tmp_path)
    yield fleet
    fleet.end()


@pytest.fixture
def transport(broker: str) -> Iterator[Transport]:
    transport = celery_app.opened(broker)
    yield transport
    transport.close()


@pytest.mark.slow
def test_jobs_run_in_celery_s_workers_and_their_client_is_woken(transport: Transport, fleet: Fleet) -> None:
    """With nothing but ids on the way."""
    ear = Ear()
    transport.listen("client", ear)
    sent = [Job(f"task-{i}", "tenant", "default", p, "client") for i, p in enumerate((URGENT, NORMAL))]
    assert transport.publish(sent)
    assert transport.health().waiting == {"default": 2}
    fleet.start()
    ear.wait("task-0", "task-1")
    assert sorted(job[:-1] for job in fleet.ran()) == sorted(list(job) for job in sent)
    assert transport.health().waiting == {"default": 0}


@pytest.mark.slow
def test_a_killed_celery_worker_s_job_runs_elsewhere(transport: Transport, fleet: Fleet) -> None:
    """It is acknowledged after it ran, not before."""
    hold = fleet.folder / "hold-task"
    hold.touch()
    first = fleet.start()
    assert transport.publish(jobs("task"))
    eventually(fleet.ran, seconds=40)
    first.send_signal(signal.SIGKILL)
    first.wait()
    hold.unlink()
    second = fleet.start()
    eventually(lambda: len(fleet.ran()) > 1, seconds=60)
    assert [job[-1] for job in fleet.ran()] == [first.pid, second.pid]


def test_a_broker_that_is_away_does_not_hold_callers_up() -> None:
    """Celery by itself would try for ever."""
    transport = celery_app.opened(f"redis://127.0.0.1:{free_port()}/0")
    began = time.monotonic()
    assert [transport.publish(jobs("task")) for _ in range(50)] == [False] * 50
    assert transport.health().ok is False
    with pytest.raises(TransportError, match="is away"):
        transport.check()
    assert time.monotonic() - began < 10
    transport.close()


def test_a_broker_that_comes_back_is_used_again() -> None:
    """Without a restart of the client."""
    with Redis() as server:
        transport = celery_app.opened(server.url)
        assert transport.publish(jobs("before"))
        server.stop()
        assert transport.publish(jobs("lost")) is False
        server.start()
        eventually(lambda: transport.publish(jobs("after")))
        transport.close()


def test_another_broker_wakes_nobody_and_says_so_at_start() -> None:
    """Waiters look again by themselves."""
    transport = celery_app.opened("memory://")
    (warning,) = transport.check()
    assert "within a second" in warning
    assert transport.publish(jobs("task", queue="mail"))
    assert transport.health(["mail", "nobody-declared-it"]).waiting == {"mail": 1, "nobody-declared-it": 0}
    assert transport.wake("client", ["task"]) is False
    assert transport.hold("ns", "s", "token", 1) is None
    with pytest.raises(TransportError, match="no events"):
        transport.events(None, 0)
    with pytest.raises(NoSource):
        transport.source("w", ["default"])
    transport.close()


def test_over_amqp_a_message_counts_as_sent_once_the_broker_has_confirmed_it() -> None:
    """Else what is sent to one that is gone is taken for sent; and one that stands still must not hold callers up."""
    transport: Any = celery_app.opened(f"amqp://127.0.0.1:{free_port()}//")
    with transport._connect() as connection:
        asked = connection.transport_options
    assert asked["confirm_publish"] is True
    assert 0 < asked["read_timeout"] <= 2
    assert 0 < asked["write_timeout"] <= 2
    transport.close()


@pytest.mark.parametrize("url", ["celery://no_such_module:app", "celery://json:app", "celery://"])
def test_an_app_that_is_not_there_is_refused_at_once(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(TransportError, match="no Celery app"):
        open_transport(url)
