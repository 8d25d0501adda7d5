"""A process that migrates a server's database at a word from the test; it may die in the middle."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ax_core.store.servers import migrating
from support.outside import Row


def main(spec: Row) -> None:
    """Migrate ``url`` once a line comes in; ``die_at`` kills this process before that statement of the migration."""
    if spec.get("die_at"):
        _die_at(spec["die_at"])
    print(json.dumps({"ready": True}), flush=True)
    sys.stdin.readline()
    migrating.up(spec["url"])
    print(json.dumps({"ended": True}), flush=True)


def _die_at(statement: int) -> None:
    alone = migrating._alone

    @contextmanager
    def dying(connection: Any) -> Iterator[None]:
        from sqlalchemy import event

        left = [statement]

        @event.listens_for(connection, "before_cursor_execute")
        def count(*_: Any) -> None:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

        @event.listens_for(connection, "commit")
        def over(*_: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        with alone(connection):
            yield

    migrating._alone = dying
