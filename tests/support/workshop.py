"""The program that worker processes of the tests load: the tools that act on the outside world, on any database."""

from __future__ import annotations

import os

from ax_core import AX, Effect, Policy
from support import agent_tools
from support.outside import Outside

NAMES = tuple(f"{kind}_{form}" for kind in agent_tools.KINDS for form in agent_tools.FORMS)
LEASE, HEARTBEAT = 3.0, 1.0
"""Short, so that what a killed worker leaves is found within seconds."""


def make() -> AX:
    """What ``axd worker support.workshop:make --factory`` runs."""
    names = tuple(filter(None, os.environ.get("SHOP_TOOLS", "").split(","))) or NAMES
    return shop(os.environ["SHOP_URL"], os.environ["SHOP_QUEUE"], int(os.environ["SHOP_WORLD"]), names)


def shop(url: str, queue: str, world: int, names: tuple[str, ...] = NAMES) -> AX:
    """An AX whose tools run in workers; those that share a database, a queue and a world are one shop."""
    settings = {
        "lease": float(os.environ.get("SHOP_LEASE", LEASE)),
        "heartbeat": float(os.environ.get("SHOP_HEARTBEAT", HEARTBEAT)),
    }
    ax = AX(url, queue=queue, imports=["support.agent_tools"], **settings)
    agent_tools.register(ax, Outside(world), names, retries=2, backoff=0.05)
    if "unsafe_here" in names:
        ax.register(ax.tools.get("unsafe_here").fn, name="asked", policy=Policy(Effect.UNSAFE, confirm=True))
    return ax
