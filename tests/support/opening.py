"""A process that opens a store and makes a call, at a word from the test; it may die in the middle of the migration."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from ax_core import AX
from ax_core.store import migrate
from support.outside import Row


def main(spec: Row) -> None:
    """Open ``db`` once a line comes in; ``die_at`` kills this process before that statement of the migration."""
    if spec.get("die_at"):
        _die_at(spec["die_at"])
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    with AX(f"sqlite:///{spec['db']}") as ax:
        ax.register(lambda: os.getpid(), name="tick")
        value = ax.call("tick")
    print(json.dumps({"value": value, "pid": os.getpid()}), flush=True)
    print(json.dumps({"ended": True}), flush=True)


def _die_at(statement: int) -> None:
    run = migrate._run

    def dying(connection: Any) -> None:
        from sqlalchemy import event

        left = [statement]

        @event.listens_for(connection, "before_cursor_execute")
        def count(*_: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        run(connection)
        os.kill(os.getpid(), signal.SIGKILL)  # all done, and not committed

    migrate._run = dying
