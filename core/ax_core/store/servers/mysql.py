"""MySQL and MariaDB through PyMySQL."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from ...clock import Micros
from ...errors import StoreError
from .dialect import CONNECT_SECONDS, LOCK_SECONDS, ServerDialect, marks, per_text

STRIPES = 1024
"""Rows of ``ax_stripe``: what a name is locked by. Two names may share one, and then wait for each other."""
ANSWER_SECONDS = 30
"""How long an answer may take: longer than any wait for a lock."""
_PASSING = frozenset({1205, 1213, 1020, 3572})  # lock wait timeout, deadlock, record changed, nowait
_LOST = frozenset(
    {0, 1053, 1152, 1158, 1159, 1160, 1161, 1927, 2002, 2003, 2006, 2013, 2014, 2027, 2055, 3169, 4031}
)
_SESSION = (
    "SET SESSION TRANSACTION ISOLATION LEVEL {level}",
    f"SET SESSION innodb_lock_wait_timeout = {LOCK_SECONDS}",
    # What does not fit is an error, whatever the server's default.
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
)


class MySQL(ServerDialect):
    """Names are locked by rows: its named locks outlive the transaction."""

    name = "mysql"
    oldest = "MySQL 8.0.17 or MariaDB 10.6"
    advice = (
        ("#1045 ", "refuses this user: check user and password in the URL"),
        ("#1698 ", "refuses this user: check user and password in the URL"),
        ("#1049 ", "does not exist: create it (CREATE DATABASE), or correct the URL"),
        ("#1044 ", "does not let this user in: grant it what AX needs (axd migrate --sql names the tables)"),
        (
            "#1142 ",
            "does not let this user do that: grant it what AX needs (axd migrate --sql names the tables)",
        ),
        ("#1146 ", "has no tables of AX: run axd migrate"),
        ("#1040 ", "has no free connection: raise max_connections, or run fewer processes"),
        (
            "#1203 ",
            "has no free connection for this user: raise max_user_connections, or run fewer processes",
        ),
        ("#1114 ", "has no space left: free some; nothing of this operation is stored"),
        ("#1021 ", "has no disk space left: free some; nothing of this operation is stored"),
        ("#1290 ", "is read-only (a replica?): point AX_URL at the primary"),
        ("#1792 ", "is read-only: point AX_URL at the primary"),
        ("#1836 ", "is read-only (a replica?): point AX_URL at the primary"),
        ("#1153 ", "takes no text so long: raise its max_allowed_packet"),
        ("max_allowed_packet", "takes no text so long: raise its max_allowed_packet"),
        ("#1406 ", "has no room for so long a text in this column; nothing was stored"),
        ("#1665 ", "writes its log by statement: set binlog_format to ROW or MIXED"),
        ("#2003 ", "does not answer: start the server, or correct host and port in the URL"),
        ("#2006 ", "was lost on the way: check that server and network are up"),
        ("#2013 ", "was lost on the way: check that server and network are up"),
        ("#0 ", "was lost on the way: check that server and network are up"),
    )

    def text(self, sql: str) -> str:
        return _quoted(super().text(sql))

    def insert_new(self, table: str, width: int) -> str:
        return _insert_new(table, width)

    def inserted(self, cursor: Any) -> bool:
        # One row is told for an insert and for a duplicate alike, since every row found counts as a row changed
        # (FOUND_ROWS). A duplicate alone says LAST_INSERT_ID, which comes back with the answer.
        return not cursor.lastrowid

    def insert_unless(self, table: str, width: int, exists: str) -> str:
        return f"INSERT INTO {table} SELECT {marks(width)} FROM DUAL WHERE NOT EXISTS ({self.text(exists)})"

    def connect(self, args: Sequence[Any], given: dict[str, Any]) -> Any:
        import pymysql

        bounded = {
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": ANSWER_SECONDS,
            "write_timeout": ANSWER_SECONDS,
        }
        return pymysql.connect(*args, **{"charset": "utf8mb4", **bounded, **given})

    def prepare(self, raw: Any) -> None:
        raw.autocommit(False)  # a transaction begins with its first statement, which saves a word
        cursor = raw.cursor()
        for statement in _SESSION:
            cursor.execute(statement.format(level="READ COMMITTED"))

    def number(self, raw: Any) -> int:
        return int(raw.thread_id())

    def lend(self, raw: Any, cursor: Any) -> int:
        cursor.execute("START TRANSACTION")
        return self.number(raw)

    def kill(self, cursor: Any, number: int) -> None:
        cursor.execute(f"KILL {number}")

    def check(self, cursor: Any) -> None:
        cursor.execute("SELECT VERSION()")
        version = str(cursor.fetchone()[0])
        maria, found = "mariadb" in version.lower(), re.findall(r"\d+\.\d+\.\d+", version)
        # A MariaDB may put 5.5.5- before its own number, for old replicas.
        number = tuple(int(part) for part in (found[-1] if found else "0.0.0").split("."))
        if number < ((10, 6, 0) if maria else (8, 0, 17)):
            raise StoreError(f"{version} is too old for AX: it needs {self.oldest}, or newer")

    def begin(self, cursor: Any, durable: bool, names: Sequence[int] = ()) -> None:
        if names:
            self.lock(cursor, names)

    def lock(self, cursor: Any, names: Sequence[int]) -> None:
        numbers = ", ".join([str(name) for name in names])
        cursor.execute(f"SELECT n FROM ax_stripe WHERE n IN ({numbers}) ORDER BY n FOR UPDATE")

    def begin_reading(self, cursor: Any) -> None:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def in_transaction(self, raw: Any) -> bool:
        return bool(raw.server_status & 1)

    def now(self, cursor: Any) -> Micros:
        cursor.execute("SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
        return int(cursor.fetchone()[0])

    def spread(self, name: str) -> int:
        return super().spread(name) % STRIPES

    def refused(self, error: BaseException) -> bool:
        import pymysql

        return isinstance(error, pymysql.Error | UnicodeEncodeError)

    def code(self, error: BaseException) -> str:
        return str(_number(error))

    def lost(self, error: BaseException) -> bool:
        import pymysql

        return (
            isinstance(error, pymysql.OperationalError | pymysql.InterfaceError) and _number(error) in _LOST
        )

    def passing(self, error: BaseException) -> bool:
        return _number(error) in _PASSING


def _number(error: BaseException) -> int:
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


@per_text
def _quoted(sql: str) -> str:
    return re.sub(r"(?<![\w(])schema(?!\w|\)s)", "`schema`", sql)


@cache
def _insert_new(table: str, width: int) -> str:
    from ..tables import declared

    first = declared("mysql").tables[table].columns.values()[0].name
    known = f"{first} = IF(LAST_INSERT_ID(1), {first}, {first})"
    return f"INSERT INTO {table} VALUES ({marks(width)}) ON DUPLICATE KEY UPDATE {known}"
