"""A PgBouncer of the test's own, in transaction mode, in front of a PostgreSQL of the tests."""

from __future__ import annotations

from typing import Any

from support.servers.postgres import USER, Postgres
from support.servers.process import Server


class PgBouncer(Server):
    """pgbouncer on loopback; few connections to the server, so that whoever comes gets another one each time.

    Args:
        behind: the server.
        connections: how many it opens to each database.
        given: settings.
    """

    programs = ("pgbouncer",)

    def __init__(self, behind: Postgres, connections: int = 3, **given: str) -> None:
        super().__init__()
        self._given = given
        self.user = behind.user
        self.behind, self.connections = behind, connections

    def prepare(self) -> None:
        """Its settings, and the one user it lets in."""
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": self.port,
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": self.folder / "users",
            "admin_users": USER,
            "pool_mode": "transaction",
            "default_pool_size": self.connections,
            "server_round_robin": 1,
            "max_client_conn": 1000,
            "log_connections": 0,
            "log_disconnections": 0,
            **self._given,
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        behind = f"[databases]\n* = host=127.0.0.1 port={self.behind.port}\n"
        (self.folder / "settings").write_text(f"{behind}[pgbouncer]\n{lines}")
        (self.folder / "users").write_text(f'"{USER}" ""\n')

    def command(self) -> list[str]:
        """In the foreground."""
        return [self.program, str(self.folder / "settings")]

    def answers(self) -> bool:
        """SELECT 1, through it."""
        return self.ask("SELECT 1") == [(1,)]

    def url(self, database: str = "postgres") -> str:
        """Where clients find a database through it."""
        return f"postgresql+psycopg://{USER}@127.0.0.1:{self.port}/{database}"

    def ask(self, sql: str, database: str = "postgres") -> list[Any]:
        """One statement through it; of the database ``pgbouncer``, a command to itself."""
        import psycopg

        with self.connect(database) as raw:
            found = psycopg.ClientCursor(raw).execute(sql)  # type: ignore[call-overload]
            return found.fetchall() if found.description else []

    def connect(self, database: str = "postgres") -> Any:
        """A connection to it; of psycopg, committing each statement."""
        import psycopg

        where = {"host": "127.0.0.1", "port": self.port, "user": USER, "dbname": database}
        return psycopg.connect(**where, autocommit=True, connect_timeout=5)  # type: ignore[arg-type]
