"""What one call costs, counted; and the simulation that the page about scale is written from."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX
from ax_core.worker import Worker
from support.ledger import until

CALLS = 12


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module of the simulation, which is no part of the package."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    known = set(sys.modules)
    from benchmarks import simulation

    yield simulation
    for name in [name for name in sys.modules if name.startswith("benchmarks") and name not in known]:
        del sys.modules[name]


class Counted:
    """An AX, with what it wrote and what it said to the queue."""

    def __init__(self, url: str, queue: str, monkeypatch: pytest.MonkeyPatch, serving: bool = False) -> None:
        self.ax = AX(url, queue=queue)
        self.ax.register(lambda x: x, name="look", policy={"effect": "keyed", "where": "worker", "dedupe": "call"},
                         schema={"properties": {"x": {}}})  # fmt: skip
        self.seen: Counter[str] = Counter()
        self.ax._core.serving = serving
        self._monkeypatch = monkeypatch

    def count(self) -> None:
        """From here on."""
        core: Any = self.ax._core
        core.wiring("default")
        self._every(core.db, "write", lambda op, name="control", *_: name)
        if core.db.path is not None:  # else it is a write like others
            self._every(core.db, "write_later", lambda op, name, *_: name)
        for name in ("publish", "wake"):
            self._every(core.post.transport, name, lambda *_, name=name: name)
        source = core.post.transport.source

        def opened(*given: Any) -> Any:
            made = source(*given)
            self._every(made, "done", lambda *_: "done")
            self._every(made, "fetch", lambda *_: "fetch", only_if=True)
            return made

        self._monkeypatch.setattr(core.post.transport, "source", opened)

    def _every(self, of: Any, name: str, called: Any, only_if: bool = False) -> None:
        was = getattr(of, name)

        def counting(*given: Any, **more: Any) -> Any:
            answer = was(*given, **more)
            if answer or not only_if:
                self.seen[called(*given)] += 1
            return answer

        self._monkeypatch.setattr(of, name, counting)


def test_a_call_costs_what_the_page_and_the_simulation_say(
    url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch, simulation: Any
) -> None:
    """Three commits, three messages and four rows, on every database; fewer where calls come together."""
    client, worker = (Counted(url, redis_url, monkeypatch, serving) for serving in (False, True))
    with client.ax as ax, worker.ax as theirs:
        for each in (client, worker):
            each.count()
        working = Worker(theirs, concurrency=2)
        thread = threading.Thread(target=working.run)
        thread.start()
        try:
            ax.call("look", {"x": 0})
            assert until(lambda: worker.seen["done"] == 1)
            rows = _rows(ax)
            for each in (client, worker):
                each.seen.clear()
            for n in range(CALLS):
                ax.call("look", {"x": n})
            assert until(lambda: worker.seen["done"] == CALLS)
        finally:
            working.stop()
            thread.join(30)
        expected = simulation.Counts()
        seen = client.seen + worker.seen
        assert sum(seen[name] for name in ("admit", "claim", "record")) == CALLS * expected.commits
        assert seen["control"] == 0, seen
        assert sum(seen[name] for name in ("publish", "fetch", "done", "wake")) == CALLS * expected.messages
        assert _rows(ax) - rows == CALLS * expected.rows


def _rows(ax: AX) -> int:
    tables = ("task", "audit", "attempt", "request", "idempotency", "run", "approval")
    return sum(
        int(ax._core.db.read(lambda tx, of=of: tx.one(f"SELECT COUNT(*) FROM ax_{of}"))[0]) for of in tables
    )


def test_the_simulation_agrees_with_arithmetic(simulation: Any) -> None:
    """Alone a call takes the sum of its parts; many are as fast as whatever is busiest; all in its own time."""
    costs = simulation.Costs(client=0.002, worker=0.001, waits=0.003)
    alone = simulation.play(costs, simulation.Size(1, 1, 2, 1), calls=5000)
    assert alone.latency == pytest.approx(0.006, rel=0.05)
    assert alone.rate == pytest.approx(1 / 0.006, rel=0.05)
    client_bound = simulation.play(costs, simulation.Size(1, 1, 2, 64), calls=5000)
    assert client_bound.rate == pytest.approx(1 / 0.002, rel=0.05)
    one_core = simulation.play(costs, simulation.Size(1, 1, 1, 64), calls=5000)
    assert one_core.rate == pytest.approx(1 / 0.003, rel=0.05)
    worker_bound = simulation.play(costs, simulation.Size(4, 1, 8, 256), calls=5000)
    assert worker_bound.rate == pytest.approx(1 / 0.001, rel=0.05)
    twice = simulation.play(costs, simulation.Size(2, 2, 4, 128), calls=5000)
    assert twice.rate == pytest.approx(2 * client_bound.rate, rel=0.1)


def test_the_simulation_keeps_littles_law_and_its_seed(simulation: Any) -> None:
    """What is in flight is what comes out a second times how long it takes, at any size."""
    costs = simulation.Costs(client=0.0004, worker=0.0006, waits=0.002)
    for size in (simulation.Size(1, 2, 2, 8), simulation.Size(4, 4, 8, 100)):
        played = simulation.play(costs, size, calls=4000)
        assert played.rate * played.latency == pytest.approx(size.in_flight, rel=0.05)
        assert played == simulation.play(costs, size, calls=4000)


def test_more_of_anything_is_never_slower_in_the_simulation(simulation: Any) -> None:
    """Cores, workers, clients, calls in flight: more of one leaves the rate, or raises it. Dearer calls are slower."""
    costs, base = simulation.Costs(client=0.001, worker=0.002, waits=0.001), simulation.Size(2, 2, 3, 16)

    def rate(costs: Any = costs, **more: int) -> float:
        return float(simulation.play(costs, replace(base, **more), calls=4000).rate)

    for part in ("clients", "workers", "cores", "in_flight"):
        rates = [rate(**{part: count}) for count in (1, 2, 4, 8, 32)]
        assert all(more > 0.97 * less for less, more in pairwise(rates)), (part, rates)
    rates = [rate(replace(costs, worker=each / 1000)) for each in (1, 2, 4, 8)]
    assert all(dearer < cheaper for cheaper, dearer in pairwise(rates)), rates


@pytest.mark.parametrize("shards", [2, 4])
def test_a_shard_has_its_part_of_the_load_and_takes_no_longer(simulation: Any, shards: int) -> None:
    """Cut between runs, each of n deployments has an nth of the processes, of the callers and so of the commits."""
    costs, whole = simulation.Costs(client=0.001, worker=0.001, waits=0.002), simulation.Size(4, 4, 8, 128)
    cut = simulation.Size(*(each // shards for each in astuple(whole)))
    together, one = (simulation.play(costs, size, calls=6000) for size in (whole, cut))
    assert one.rate == pytest.approx(together.rate / shards, rel=0.1)
    assert one.latency == pytest.approx(together.latency, rel=0.1)


@pytest.mark.slow
def test_no_measured_run_is_faster_than_the_simulation_says(
    simulation: Any, tmp_path: Path, redis_server: Any
) -> None:
    """With the costs of that very run, within a factor of two: a machine that is busy is slower, never faster."""
    from benchmarks import scaling

    real = scaling.measured(tmp_path / "small", redis_server.url, 1, 8, 200)
    assert real.costs.client > 0
    assert real.costs.worker > 0
    played = simulation.play(real.costs, simulation.Size(1, 1, 2, 8), calls=2000)
    assert real.rate < 2 * played.rate
