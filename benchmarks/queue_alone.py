"""AX's workers against themselves: two of them, a full file, nothing to do, and very much of it."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from ax_core import Effect
from benchmarks.bulk import fill
from benchmarks.product import Product
from benchmarks.queue_party import Party, Turn, cpu, environment
from benchmarks.queues import MANY, SLOTS, WIDTH, ax_party
from benchmarks.report import Findings, Line
from benchmarks.servers import RedisServer, found

ROUNDS = 5
IDLE_SECONDS = 10.0
QUEUED = 10_000


def workers_alone(findings: Findings, folder: Path, tasks: int = 1_000_000) -> None:
    """What more workers, more tasks, no tasks and a long queue do to the cost."""
    if found(*RedisServer.programs) is None:
        findings.skipped["workers"] = "no redis-server is installed"
        return
    with RedisServer(folder / "redis") as redis:
        empty = f"sqlite:///{folder / 'one.db'}"
        with ax_party("1 worker", folder / "one", redis, empty) as one:
            with ax_party(
                "2 workers", folder / "two", redis, f"sqlite:///{folder / 'two.db'}", workers=2
            ) as two:
                _duel(findings, "calls per second with 2 workers and with 1", two, one, None)
            _idle(findings, one)
        few, many = _filled(folder, 1_000), _filled(folder, tasks)
        with (
            ax_party(f"{tasks:,} tasks in the file", folder / "many", redis, many) as full,
            ax_party("1,000 tasks in the file", folder / "few", redis, few) as small,
        ):
            _duel(
                findings,
                "CPU per call through a worker, in a full file and in an empty one",
                full,
                small,
                1.4,
            )
        _drain(findings, folder, redis)


def _duel(findings: Findings, what: str, a: Party, b: Party, limit: float | None) -> None:
    """By throughput where there is no limit, else by CPU per call."""
    before, pairs = os.getloadavg()[0], []
    for number in range(ROUNDS):
        first, second = (a, b) if number % 2 == 0 else (b, a)
        one, two = first.turn(WIDTH, MANY), second.turn(WIDTH, MANY)
        pairs.append((one, two) if first is a else (two, one))
    ratios = tuple(x.rate / y.rate if limit is None else x.cpu / y.cpu for x, y in pairs)
    findings.lines.append(
        Line(
            what=what,
            ours=_said(a, [x for x, _ in pairs]),
            theirs=_said(b, [y for _, y in pairs]),
            figure=statistics.median(ratios),
            unit="×",
            limit=limit,
            load=(before, os.getloadavg()[0]),
            ratios=ratios,
        )
    )


def _said(party: Party, turns: list[Turn]) -> str:
    rate, used = statistics.median(t.rate for t in turns), statistics.median(t.cpu for t in turns)
    return f"{party.name}: {rate:,.0f}/s, {used * 1e3:.2f} ms CPU"


def _idle(findings: Findings, party: Party) -> None:
    before = os.getloadavg()[0]
    with party.awake():
        time.sleep(2.0)  # what the last calls left to do is not idling
        began = cpu(party.workers)
        time.sleep(IDLE_SECONDS)
        used = cpu(party.workers) - began
    share = 100 * used / IDLE_SECONDS
    load = (before, os.getloadavg()[0])
    findings.lines.append(
        Line(
            "CPU of an idle worker, of one core",
            f"{used:.2f} s in {IDLE_SECONDS:.0f} s",
            "",
            share,
            "%",
            1.0,
            load,
        )
    )


def _filled(folder: Path, tasks: int) -> str:
    product = Product(folder / f"tasks-{tasks}.db", Effect.READ)
    shape = product.shape()
    with product.ax.run(session="bench", intent="one run to copy"):
        product.block(1)
    product.close()
    fill(product.path, shape, tasks)
    return f"sqlite:///{product.path}"


def _drain(findings: Findings, folder: Path, redis: RedisServer) -> None:
    """Very many are queued before there is a worker; then one comes."""
    env = {
        **environment(),
        "AX_BENCH_REDIS": f"{redis.url}?prefix=drain",
        "AX_BENCH_DB": f"sqlite:///{folder / 'drain.db'}",
    }
    from benchmarks.queue_ax import worker

    before = os.getloadavg()[0]
    asked = [sys.executable, "-m", "benchmarks.queue_drain", str(QUEUED)]
    with (folder / "drain.log").open("w") as log:
        client = subprocess.Popen(asked, env=env, stdout=subprocess.PIPE, stderr=log, text=True)
        assert client.stdout is not None
        submitted = json.loads(client.stdout.readline())
        serving = subprocess.Popen(worker(SLOTS), env=env, stdout=log, stderr=log)
        try:
            ended = json.loads(client.stdout.readline())
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(20)
            client.wait(20)
    rate = QUEUED / ended["seconds"]
    ours = f"{QUEUED:,} queued at {QUEUED / submitted['seconds']:,.0f}/s, drained at {rate:,.0f}/s"
    load = (before, os.getloadavg()[0])
    findings.lines.append(
        Line("tasks lost of a long queue", ours, "", float(ended["lost"]), "lost", 0.0, load)
    )
