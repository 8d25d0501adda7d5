"""A PostgreSQL server of the test's own."""

from __future__ import annotations

import itertools
import os
import signal
from pathlib import Path
from typing import Any

from support.servers.process import Server

USER = "ax"
_numbers = itertools.count(1)


class Postgres(Server):
    """postgres on loopback, without a socket file; ``given`` are settings. Not durable unless ``fsync="on"``."""

    programs = ("postgres",)
    places = (
        "/usr/lib/postgresql/*/bin",
        "/opt/homebrew/opt/postgresql*/bin",
        "/usr/local/opt/postgresql*/bin",
    )
    goodbye = signal.SIGINT  # what is connected is cut off

    def __init__(self, **given: str) -> None:
        super().__init__()
        self.user = "postgres" if _known("postgres") else "nobody"
        fast = {"fsync": "off", "full_page_writes": "off"} if given.get("fsync") != "on" else {}
        self._given = {"max_connections": "200", **fast, **given}

    def prepare(self) -> None:
        """initdb."""
        initdb = Path(os.path.realpath(self.program)).with_name("initdb")
        if not initdb.exists():
            initdb = Path(self.program).with_name("initdb")
        quiet = () if self._given.get("fsync") == "on" else ("--no-sync",)
        data = str(self.folder / "data")
        self.run(str(initdb), "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C", *quiet)

    def command(self) -> list[str]:
        """In the foreground, on loopback."""
        fixed = {"listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": ""}
        settings = [
            word for name, value in {**fixed, **self._given}.items() for word in ("-c", f"{name}={value}")
        ]
        return [self.program, "-D", str(self.folder / "data"), *settings]

    def answers(self) -> bool:
        """SELECT 1."""
        return self.ask("SELECT 1") == [(1,)]

    def url(self, database: str = "postgres") -> str:
        """Where clients find a database."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{database}"

    def ask(self, sql: str, database: str = "postgres", *values: Any) -> list[Any]:
        """Run one statement by itself; its rows."""
        import psycopg

        where = {"host": "127.0.0.1", "port": self.port, "user": USER, "dbname": database}
        with psycopg.connect(**where, autocommit=True, connect_timeout=5) as raw:  # type: ignore[arg-type]
            found = raw.execute(sql, values or None)  # type: ignore[call-overload]
            return found.fetchall() if found.description else []

    def fresh(self) -> str:
        """The name of a new database with the newest schema."""
        from ax_core.store.servers import migrating

        if not self.ask("SELECT 1 FROM pg_database WHERE datname = 'template_ax'"):
            self.ask("CREATE DATABASE template_ax")
            migrating.up(self.url("template_ax"))
        name = f"ax_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name} TEMPLATE template_ax")
        return name

    def empty(self) -> str:
        """The name of a new database with nothing in it."""
        name = f"bare_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return name

    def drop(self, name: str) -> None:
        """Away with it, and with whoever is connected to it."""
        self.ask(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def cut(self, database: str) -> int:
        """End every connection to a database; how many there were. The other side hears of it before this returns."""
        ((version,),) = self.ask("SELECT current_setting('server_version_num')::int", "postgres")
        end = "pg_terminate_backend(pid, 1000)" if version >= 140000 else "pg_terminate_backend(pid)"
        sql = f"SELECT {end} FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        return len(self.ask(sql, "postgres", database))


def _known(user: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
