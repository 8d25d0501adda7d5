"""``axd worker``: the one command that runs tools."""

from __future__ import annotations

import logging
import signal
import sys
from typing import Annotated

from cyclopts import Parameter


def worker(
    target: str,
    /,
    *,
    concurrency: Annotated[int, Parameter(name=["--concurrency", "-c"])] = 8,
    queues: str = "default",
    factory: Annotated[bool, Parameter(negative=())] = False,
    drain: float = 30.0,
    max_rate: float | None = None,
    lifespan: str | None = None,
    health: str | None = None,
) -> int:
    """Run what other processes submit, until SIGTERM or Ctrl-C; then let what runs end.

    Exit codes: 0 told to stop, 2 it could not start, 70 it could not renew its leases and ended before they expired,
    75 its threads hang in tools. It is to be started again after the last two.

    Parameters
    ----------
    target
        The AX of your program, as module:name.
    concurrency
        How many tasks at the same time.
    queues
        Which queues to fetch from, as mail,default: what comes by the first goes before what comes by the next. Of
        default,reports:2 the second has two slots of its own, beside those that the others share.
    factory
        The name is a function that makes the AX.
    drain
        Seconds that running tasks get to end.
    max_rate
        How many tasks to begin per second at most; as many as there is room for unless given.
    lifespan
        A function, as module:name, that makes a context manager for what lives as long as the worker.
    health
        HOST:PORT on which GET /healthz tells how it is: 200, or 503 with the reason.
    """
    from ..worker import RECYCLED, Health, Program, Worker, found, load_target

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("ax").setLevel(logging.INFO)
    made = Worker(
        load_target(target, factory=factory),
        concurrency=concurrency,
        queues=[name.strip() for name in queues.split(",")],
        drain=drain,
        max_rate=max_rate,
        program=Program(target, factory, lifespan),
        lifespan=None if lifespan is None else found(lifespan),
    )

    def told(number: int, frame: object) -> None:
        made.stop()

    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, told)
    if health is None:
        made.run()
    else:
        with Health(made, health):
            made.run()
    made.close()
    return RECYCLED if made.recycled else 0
