"""The databases that AX keeps its record in: servers, started when a test first needs one, and fresh databases."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.servers.mariadb import MariaDB
from support.servers.postgres import Postgres

FILE, POSTGRES, MARIADB = "sqlite", "postgresql", "mariadb"
EVERY = (FILE, POSTGRES, MARIADB)
SERVERS = (POSTGRES, MARIADB)


class Databases:
    """The servers of one test session; use as a context manager, which ends those that were started."""

    def __init__(self) -> None:
        self._running: dict[str, Any] = {}
        self._used: dict[str, str] = {}

    def __enter__(self) -> Databases:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._running.values():
            server.__exit__()

    def server(self, kind: str) -> Any:
        """The running server of a kind; a kind that is not installed is a skip, and a failure under CI."""
        if kind not in self._running:
            made = {POSTGRES: Postgres, MARIADB: MariaDB}[kind]()
            self._running[kind] = made.__enter__()
        return self._running[kind]

    @contextmanager
    def fresh(self, kind: str, folder: Path, *, empty: bool = False) -> Iterator[str]:
        """The URL of a database of the test's own with AX's tables, or ``empty``."""
        if kind == FILE:
            yield f"sqlite:///{folder}/ax.db"
            return
        server = self.server(kind)
        name = server.empty() if empty else server.fresh()
        try:
            yield server.url(name)
        finally:
            server.drop(name)

    def emptied(self, kind: str) -> str:
        """The URL of the one database of this session that is emptied for each test, for those in a single process."""
        from sqlalchemy import create_engine, inspect, text
        from sqlalchemy.exc import OperationalError
        from sqlalchemy.pool import NullPool
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        server = self.server(kind)
        if kind not in self._used:
            self._used[kind] = server.fresh()
        url = str(server.url(self._used[kind]))
        # A body that the test before left running may still write: whoever loses the deadlock begins again.
        for attempt in Retrying(
            stop=stop_after_attempt(10), retry=retry_if_exception_type(OperationalError), reraise=True
        ):
            with attempt, create_engine(url, poolclass=NullPool).begin() as connection:
                for table in inspect(connection).get_table_names():
                    if table not in ("ax_version", "ax_stripe"):
                        gone = "DELETE FROM" if table.startswith("ax_") else "DROP TABLE"
                        connection.execute(text(f"{gone} {table}"))
        return url
