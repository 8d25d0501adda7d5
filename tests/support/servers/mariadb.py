"""A MariaDB (or MySQL) server of the test's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.servers.process import Server, find

_numbers = itertools.count(1)


class MariaDB(Server):
    """mariadbd on loopback; ``given`` are settings. Not durable unless ``innodb_flush_log_at_trx_commit="1"``."""

    programs = ("mariadbd", "mysqld")
    places = ("/opt/homebrew/opt/ma*/bin", "/usr/local/opt/ma*/bin")

    def __init__(self, **given: str) -> None:
        super().__init__()
        self.user = "mysql" if _known("mysql") else "nobody"
        self._given = {"innodb_flush_log_at_trx_commit": "0", "max_connections": "200", **given}
        self._template: list[str] = []

    def prepare(self) -> None:
        """The system tables."""
        data = f"--datadir={self.folder}/data"
        if Path(self.program).name == "mysqld" and not _is_mariadb(self.program):
            self.run(self.program, "--no-defaults", "--initialize-insecure", data)
            return
        install = find(("mariadb-install-db", "mysql_install_db"), self.places)
        self.run(
            install,
            "--no-defaults",
            data,
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            f"--tmpdir={self.folder}",
        )

    def command(self) -> list[str]:
        """In the foreground, on loopback."""
        fixed = {
            "datadir": f"{self.folder}/data",
            "bind_address": "127.0.0.1",
            "port": str(self.port),
            "socket": f"{self.folder}/socket",
            "tmpdir": str(self.folder),
            "pid_file": f"{self.folder}/pid",
            "innodb_buffer_pool_size": "32M",
        }
        settings = [f"--{name.replace('_', '-')}={value}" for name, value in {**fixed, **self._given}.items()]
        return [self.program, "--no-defaults", *settings]

    def answers(self) -> bool:
        """SELECT 1."""
        return self.ask("SELECT 1") == [(1,)]

    def url(self, database: str = "") -> str:
        """Where clients find a database; without TLS, for which PyMySQL reads all certificates at each connection."""
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/{database}?ssl_disabled=true"

    def ask(self, sql: str, database: str = "", *values: Any) -> list[Any]:
        """Run one statement by itself; its rows."""
        with self._connected(database) as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    @contextmanager
    def _connected(self, database: str) -> Iterator[Any]:
        import pymysql

        where = {"host": "127.0.0.1", "port": self.port, "user": "root", "database": database or None}
        raw = pymysql.connect(**where, autocommit=True, ssl_disabled=True)
        try:
            yield raw.cursor()
        finally:
            raw.close()

    def fresh(self) -> str:
        """The name of a new database with the newest schema."""
        from ax_core.store.servers import migrating

        if not self._template:
            self.ask("CREATE DATABASE template_ax")
            migrating.up(self.url("template_ax"))
            self._template += [table for (table,) in self.ask("SHOW TABLES", "template_ax")]
        name = self.empty()
        with self._connected(name) as cursor:
            for table in self._template:
                cursor.execute(f"CREATE TABLE {table} LIKE template_ax.{table}")
                if table in ("ax_stripe", "ax_version"):
                    cursor.execute(f"INSERT INTO {table} SELECT * FROM template_ax.{table}")
        return name

    def empty(self) -> str:
        """The name of a new database with nothing in it."""
        name = f"ax_{next(_numbers)}"
        self.ask(f"CREATE DATABASE {name}")
        return name

    def drop(self, name: str) -> None:
        """Away with it, and with whoever is connected to it."""
        self.cut(name)
        self.ask(f"DROP DATABASE IF EXISTS {name}")

    def cut(self, database: str) -> int:
        """End every connection to a database; how many there were."""
        sql = "SELECT id FROM information_schema.processlist WHERE db = %s AND id <> CONNECTION_ID()"
        found = [row[0] for row in self.ask(sql, "", database)]
        for number in found:
            try:
                self.ask(f"KILL {number}")
            except Exception:  # it went by itself
                pass
        return len(found)


def _is_mariadb(program: str) -> bool:
    import subprocess

    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return "MariaDB" in said


def _known(user: str) -> bool:
    import pwd

    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
