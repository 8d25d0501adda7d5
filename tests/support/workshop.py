"""The program that worker processes of the tests load: the tools that act on the outside world, on any database."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from ax_core import AX, Effect, Policy, current
from ax_core.clock import Clock
from support import agent_tools, apart, limited, mailing, sabotage, undoing
from support.outside import Outside
from support.skew import Skew

NAMES = tuple(f"{kind}_{form}" for kind in agent_tools.KINDS for form in agent_tools.FORMS)
LEASE, HEARTBEAT = 3.0, 1.0
"""Short, so that what a killed worker leaves is found within seconds."""


def till() -> str:
    """What the worker's lifespan made."""
    return str(current().resources["till"])


async def same_loop() -> bool:
    """Whether async tools run on the loop that the lifespan was entered on."""
    return asyncio.get_running_loop() is current().resources["loop"]


def long() -> str:
    """A result that is over the cap."""
    return "x" * 2_000_000


def hang() -> None:
    """A body that does not end in time, and cannot be ended."""
    threading.Event().wait(60)


def make() -> AX:
    """What ``axd worker support.workshop:make --factory`` runs."""
    sabotage.commit([name for name in os.environ.get("SHOP_SABOTAGE", "").split(",") if name])
    names = tuple(filter(None, os.environ.get("SHOP_TOOLS", "").split(","))) or NAMES
    clock = Skew(chance=None)
    clock.ahead(float(os.environ.get("SHOP_SKEW", 0)))
    return shop(os.environ["SHOP_URL"], os.environ["SHOP_QUEUE"], int(os.environ["SHOP_WORLD"]), names, clock)


def shop(
    url: str, queue: str | None, world: int, names: tuple[str, ...] = NAMES, clock: Clock | None = None
) -> AX:
    """An AX whose tools run in workers; those that share a database, a queue and a world are one shop.

    Without a queue they run in the process that calls them.
    """
    settings = {
        "lease": float(os.environ.get("SHOP_LEASE", LEASE)),
        "heartbeat": float(os.environ.get("SHOP_HEARTBEAT", HEARTBEAT)),
    }
    ax = AX(url, queue=queue, imports=["support.agent_tools"], clock=clock, **settings)
    agent_tools.register(ax, Outside(world), names, retries=2, backoff=0.05)
    undoing.register(ax, Outside(world))
    if queue is not None:
        mailing.register(ax, Outside(world))
        if not queue.startswith("celery:"):  # which has limits and pools of its own
            apart.register(ax, Outside(world))
            limited.register(ax, Outside(world))
        ax.register(till, policy=Policy(Effect.READ, where="worker"))
        ax.register(same_loop, policy=Policy(Effect.READ, where="worker"))
        ax.register(long, policy=Policy(Effect.KEYED, where="worker"))
        ax.register(hang, policy=Policy(Effect.READ, timeout=0.3, where="worker"))
    if "keyed_here" in names:
        patient = Policy(Effect.KEYED, retries=1, backoff=2.0)
        ax.register(ax.tools.get("keyed_here").fn, name="later", policy=patient)
    if "unsafe_here" in names:
        ax.register(ax.tools.get("unsafe_here").fn, name="asked", policy=Policy(Effect.UNSAFE, confirm=True))
    return ax


@contextmanager
def lifespan(ax: AX) -> Iterator[dict[str, str]]:
    """Resources that say where they were made and when they were closed, in the world's books."""
    outside = Outside(int(os.environ["SHOP_WORLD"]))
    outside.ask("note", kind="opened", pid=os.getpid())
    yield {"till": f"till of {os.getpid()}"}
    outside.ask("note", kind="closed", pid=os.getpid())


@asynccontextmanager
async def alifespan(ax: AX) -> AsyncIterator[dict[str, Any]]:
    """The same on the loop of the async tools."""
    outside = Outside(int(os.environ["SHOP_WORLD"]))
    await outside.aask("note", kind="opened", pid=os.getpid())
    yield {"till": f"till of {os.getpid()}", "loop": asyncio.get_running_loop()}
    await outside.aask("note", kind="closed", pid=os.getpid())
