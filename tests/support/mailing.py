"""Tools that go by a queue of their own; each notes in the world's books where it ran."""

from __future__ import annotations

import os

from ax_core import AX, Effect, Policy, current
from support.outside import Outside


def register(ax: AX, outside: Outside) -> None:
    """``mail`` goes by the queue ``mail``, ``file`` by the default one."""

    def noting(subject: str) -> int:
        outside.ask("note", kind="sent", subject=subject, pid=os.getpid())
        if current().attempt == 1 and subject == "fails once":
            raise RuntimeError("once")
        return os.getpid()

    ax.register(noting, name="mail", policy=Policy(Effect.KEYED, where="worker:mail", retries=2, backoff=0.1))
    ax.register(noting, name="file", policy=Policy(Effect.KEYED, where="worker"))
