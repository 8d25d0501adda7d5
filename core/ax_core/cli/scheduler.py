"""``axd scheduler``: the loops of workers, in a process that runs no tool."""

from __future__ import annotations

import logging
import signal
import sys
from typing import Annotated

from cyclopts import Parameter


def scheduler(target: str, /, *, factory: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Send what is ready and was forgotten by the queue, until SIGTERM or Ctrl-C.

    Every `axd worker` does so for itself: this is for fleets of Celery, and for those who want the loops apart. It runs
    no tool; several may run.

    Parameters
    ----------
    target
        The AX of your program, as module:name.
    factory
        The name is a function that makes the AX.
    """
    from ..worker import Scheduler, load_target

    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("ax").setLevel(logging.INFO)
    ax = load_target(target, factory=factory)
    made = Scheduler(ax)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda number, frame: made.stop())
    made.run()
    ax.close(drain=0.0)
    return 0
