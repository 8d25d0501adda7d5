"""AX with a queue: its client and, as ``axd worker benchmarks.queue_ax:ax``, its worker."""

from __future__ import annotations

import os
import sys

from ax_core import AX

NEEDS = ("redis",)
AXD = "import sys; from ax_core.cli import main; sys.exit(main())"
ax = AX(os.environ.get("AX_BENCH_DB"), queue=os.environ.get("AX_BENCH_REDIS"), imports=[__name__])


@ax.tool(effect=os.environ.get("AX_BENCH_EFFECT", "read"))
def nothing(x: int) -> int:
    """Do nothing."""
    return x


def worker(slots: int) -> list[str]:
    """The command of one worker process."""
    return [sys.executable, "-c", AXD, "worker", f"{__name__}:ax", "--concurrency", str(slots)]


def call(x: int) -> int:
    """Submit and wait."""
    found: int = ax.call("nothing", {"x": x})
    return found


async def acall(x: int) -> int:
    """Submit and wait, on an event loop."""
    found: int = await ax.acall("nothing", {"x": x})
    return found
