"""A storm with a seed: clients call tools that run in workers, while everything they depend on fails in turn."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from sqlalchemy import make_url

from support import record
from support.agent_tools import BUSINESS
from support.oracle import RESTING
from support.outside import Row, World
from support.servers.redis import Redis
from support.storm.clients import Clients
from support.storm.crew import Crew
from support.storm.judge import judge
from support.storm.plan import Plan
from support.storm.proxy import Proxy
from support.storm.weather import Weather
from support.workers import WorkerProcess
from support.workshop import shop

LOOK = 0.05
CALM = 60.0
"""Seconds after which what has not come to rest never will."""


class Storm:
    """One seeded run; use as a context manager.

    Args:
        url: the record; ``database``: its server, or None for a file.
        queue: the URL on ``redis``.
        env: more of the workers' environment.
    """

    def __init__(
        self,
        plan: Plan,
        folder: Path,
        url: str,
        queue: str,
        redis: Redis,
        world: World,
        database: Any = None,
        **env: str,
    ) -> None:
        self.plan, self._folder, self._world, self._env = plan, folder, world, env
        self._url, self._queue, self._redis, self._database = url, queue, redis, database
        self._through, self._queue_through = url, queue
        self._ending = ExitStack()
        self.told: list[Row] = []
        self.unanswered: list[str] = []
        self.calm_since = 0.0

    def __enter__(self) -> Self:
        enter = self._ending.enter_context
        to_redis, to_database = enter(Proxy(self._redis.port)), None
        self._queue_through = self._queue.replace(f":{self._redis.port}/", f":{to_redis.port}/")
        if self._database is not None:
            to_database = enter(Proxy(self._database.port))
            through = make_url(self._url).set(port=to_database.port)
            self._through = through.render_as_string(hide_password=False)
        self.ax = shop(self._through, self._queue_through, self._world.port)
        self._ending.callback(self.ax.close, drain=0)
        self.ax.tasks(limit=1)  # from here on the tables are there
        record.run(self._url, BUSINESS)
        self.crew = enter(Crew(self.plan.workers, self._worker))
        self._weather = Weather(self.crew, self._redis, to_redis, self._database, to_database)
        return self

    def __exit__(self, *error: Any) -> None:
        self._ending.__exit__(*error)

    def play(self) -> None:
        """The blows in their order, each until it is over; then wait until everything is at rest."""
        began = time.monotonic()
        clients = Clients(self.ax, self.plan.calls, lambda: time.monotonic() - began)
        self._ending.callback(clients.close)
        number = itertools.count()  # of two at the same moment
        due: list[tuple[float, int, Any]] = [(blow.at, next(number), blow) for blow in self.plan.blows]
        heapq.heapify(due)
        while due:
            at, _, what = heapq.heappop(due)
            self._until(lambda at=at: time.monotonic() - began >= at)  # type: ignore[misc]
            if callable(what):
                what()
            else:  # in the plan's own order, however long it takes to carry out
                heapq.heappush(due, (at + what.lasts, next(number), self._weather.strike(what)))
        self.calm_since = time.time()
        self._until(lambda: not clients.waiting, CALM + self.plan.calls[-1].at)
        self._until(lambda: not self.restless(), CALM)
        print(f"at rest {time.time() - self.calm_since:.1f} s after the last blow was over")
        self.told, self.unanswered, self.asked_last = clients.told, clients.waiting, clients.asked_last

    def restless(self) -> list[tuple[Any, ...]]:
        """What has not come to rest: (request, state)."""
        states = ", ".join(f"'{state}'" for state in RESTING)
        return record.rows(self._url, f"SELECT request_id, state FROM ax_task WHERE state NOT IN ({states})")

    def judge(self) -> list[str]:
        """Everything that is wrong afterwards, in words."""
        found = [f"{request}: nobody ever got an answer" for request in self.unanswered]
        kept, rows = record.read(self._url), record.business(self._url)
        found += judge(self.plan, self._world.seen(), kept, rows, self.told, self.asked_last, self.calm_since)
        return found + self._left_in_the_queue()

    def _left_in_the_queue(self) -> list[str]:
        """Entries of tasks that are at rest do not stay on the streams."""
        with self._redis.client() as client:

            def left() -> dict[str, int]:
                return {key: n for key in client.keys("*:queue:*") if (n := client.xlen(key))}

            self._until(lambda: not left(), 10.0)
            return [f"{count} entries stayed on {key}" for key, count in left().items()]

    def _until(self, true: Callable[[], Any], seconds: float = 3600.0) -> None:
        give_up = time.monotonic() + seconds
        while not true() and time.monotonic() < give_up:
            self.crew.look()
            time.sleep(LOOK)

    def _worker(self, place: int) -> WorkerProcess:
        env = dict(self._env)
        if place == self.plan.workers - 1:
            env["SHOP_SKEW"] = str(self.plan.skew)
        folder = self._folder / f"worker{place}"
        folder.mkdir(exist_ok=True)
        return WorkerProcess(folder, self._through, self._queue_through, self._world.port, **env)
