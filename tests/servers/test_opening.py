"""A database that cannot be used says why and what to do, at the first use and in one sentence."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from ax_core import AX, AXError, PolicyError, StoreError
from ax_core.store.servers.dialect import ServerDialect
from ax_core.store.servers.mysql import MySQL
from ax_core.store.servers.postgres import Postgres
from support.servers.home import Home
from support.servers.process import free_port


@pytest.mark.parametrize(
    "url, why",
    [
        ("ax.db", r"is no database URL; write sqlite:///path"),
        ("oracle://host/db", r"keeps no record in 'oracle': write sqlite:///path"),
        (
            "postgresql+asyncpg://host/db",
            r"keeps no record in 'postgresql\+asyncpg': write .*postgresql\+psycopg",
        ),
        ("mysql+mysqldb://host/db", r"keeps no record in 'mysql\+mysqldb'"),
        ("postgresql+psycopg://u:secret@host", r"'postgresql\+psycopg://u:\*\*\*@host' names no database"),
    ],
)
def test_a_wrong_url_is_told(url: str, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        AX(url).tasks()


@pytest.mark.parametrize(
    "url, module, extra",
    [("postgresql://h/db", "psycopg", "postgres"), ("mysql://h/db", "pymysql", "mysql")],
)
def test_a_driver_that_is_not_installed_is_named_with_its_extra(
    url: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        PolicyError, match=rf"{module} is not installed: pip install 'ax-adapters\[{extra}\]'"
    ):
        AX(url).tasks()


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql+pymysql"])
def test_a_server_that_does_not_answer(scheme: str) -> None:
    """At once: who opens it is not made to wait for a server that may never come."""
    with pytest.raises(
        StoreError, match=r"does not answer: start the server, or correct host and port"
    ) as told:
        AX(f"{scheme}://u:secret@127.0.0.1:{free_port()}/db").tasks()
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("scheme", ["postgresql+psycopg", "mysql+pymysql"])
def test_a_password_is_shown_to_nobody(scheme: str) -> None:
    assert repr(AX(f"{scheme}://u:secret@host/db")) == f"<AX {scheme}://u:***@host/db 'default'>"


def test_a_database_that_does_not_exist(home: Home) -> None:
    with pytest.raises(StoreError, match="does not exist.*: create it"):
        AX(home.url.replace(home.name, "nowhere")).tasks()


def test_a_user_without_rights_on_the_tables(home: Home) -> None:
    scheme, _, place = home.url.partition("://")
    if home.url.startswith("mysql"):
        home.ask("CREATE USER IF NOT EXISTS weak IDENTIFIED BY 'w'")
        home.ask(f"GRANT CREATE ON {home.name}.* TO weak")
        url, wrong = (
            f"{scheme}://weak:w@{place.partition('@')[2]}",
            f"{scheme}://weak:x@{place.partition('@')[2]}",
        )
        with pytest.raises(StoreError, match="refuses this user: check user and password"):
            AX(wrong).tasks()
    else:
        if not home.ask("SELECT 1 FROM pg_roles WHERE rolname = 'weak'"):
            home.ask("CREATE ROLE weak LOGIN")
        url = f"{scheme}://weak@{place.partition('@')[2]}"
    with pytest.raises(StoreError, match="does not let this user"):
        AX(url).tasks()


class Says:
    """A cursor of a server that answers everything with one row."""

    def __init__(self, *row: Any) -> None:
        self._row = row

    def execute(self, *_: Any) -> Says:
        return self

    def fetchone(self) -> Any:
        return self._row


@pytest.mark.parametrize(
    "dialect, row, why",
    [
        (Postgres(), ("120017", "UTF8"), "PostgreSQL 12 is too old for AX: it needs 13"),
        (Postgres(), ("170002", "SQL_ASCII"), "keeps text as SQL_ASCII.*ENCODING 'UTF8'"),
        (MySQL(), ("5.7.44-log",), "5.7.44-log is too old for AX: it needs MySQL 8.0.17 or MariaDB 10.6"),
        (MySQL(), ("10.5.29-MariaDB",), "is too old for AX"),
        (MySQL(), ("5.5.5-10.5.9-MariaDB",), "is too old for AX"),
    ],
)
def test_a_server_that_is_too_old(dialect: ServerDialect, row: tuple[str, ...], why: str) -> None:
    with pytest.raises(StoreError, match=why):
        dialect.check(Says(*row))


@pytest.mark.parametrize(
    "dialect, row",
    [
        (Postgres(), ("130000", "UTF8")),
        (MySQL(), ("8.0.36",)),
        (MySQL(), ("8.4.0",)),
        (MySQL(), ("10.6.0-MariaDB-log",)),
        (MySQL(), ("5.5.5-10.11.6-MariaDB",)),
    ],
)
def test_one_that_is_new_enough(dialect: ServerDialect, row: tuple[str, ...]) -> None:
    dialect.check(Says(*row))


def test_the_servers_own_defaults_do_not_matter(home: Home) -> None:
    """Isolation and strictness are AX's to choose, whatever the administrator set for this database or server."""
    if home.url.startswith("postgresql"):
        home.ask(f"ALTER DATABASE {home.name} SET default_transaction_isolation = 'serializable'")
        home.ask(f"ALTER DATABASE {home.name} SET standard_conforming_strings = on")
    else:
        home.ask("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        home.ask("SET GLOBAL sql_mode = ''")
    try:
        with AX(home.url) as ax:
            ax.register(
                lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"}
            )
            with ax.run(session="s"):
                assert [ax.call("act", {"n": n}, request_id=f"r{n}") for n in range(3)] == [0, 1, 2]
            found = ax._core.db.write(
                lambda tx: tx.one(ISOLATION[home.url.partition(":")[0].partition("+")[0]])
            )
            assert found[0].lower().replace("-", " ") == "read committed"
            with pytest.raises(StoreError, match="no room for so long a text|too long"):
                ax._core.db.write(lambda tx: tx.run("UPDATE ax_task SET tool_version = :long", long="x" * 65))
    finally:
        if home.url.startswith("mysql"):
            home.ask("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ")


ISOLATION = {
    "postgresql": "SELECT current_setting('transaction_isolation')",
    "mysql": "SELECT @@tx_isolation",
}


def test_every_error_of_a_driver_becomes_one_of_ax(home: Home) -> None:
    with AX(home.url) as ax:
        ax.tasks()
        with pytest.raises(AXError):
            ax._core.db.read(lambda tx: tx.one("SELECT nothing FROM nowhere"))
        assert ax.tasks().tasks == ()
