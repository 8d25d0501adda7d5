"""The DBOS process: reads how many workflows to run, runs them, says how long they took."""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter

import pysqlite3  # type: ignore[import-not-found]

# DBOS needs a newer SQLite than many systems have: the wheel's takes its place, in this process only.
sys.modules["sqlite3"] = pysqlite3
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2


def main(folder: str, mode: str) -> None:
    """Serve blocks until stdin ends."""
    from importlib.metadata import version

    from dbos import DBOS
    from sqlalchemy import Engine, event

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    if mode == "tuned":

        @event.listens_for(Engine, "connect")
        def tune(connection, record):  # type: ignore[no-untyped-def]
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")

    DBOS(
        config={
            "name": "bench",
            "system_database_url": f"sqlite:///{folder}/dbos.sqlite",
            "log_level": "ERROR",
            "run_admin_server": False,
        }
    )

    @DBOS.step()
    def step(x: int) -> int:
        return x

    @DBOS.workflow()
    def workflow(x: int) -> int:
        return step(x)

    DBOS.launch()
    about = {"dbos": version("dbos"), "sqlite": pysqlite3.sqlite_version}
    try:
        print(json.dumps(about), file=out, flush=True)
        for row in sys.stdin:
            began = perf_counter()
            for number in range(int(row)):
                workflow(number)
            print(json.dumps({"seconds": perf_counter() - began}), file=out, flush=True)
    finally:
        DBOS.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])
