"""PostgreSQL through psycopg 3."""

from __future__ import annotations

import select
from collections.abc import Sequence
from functools import cache
from typing import Any

from ...clock import Micros
from ...errors import StoreError
from ...model import AuditRow
from .dialect import CONNECT_SECONDS, LOCK_SECONDS, ServerDialect, marks

OLDEST = 130000
PREPARE_AFTER = 5
"""How often a statement is sent as text before the server keeps it; that saves almost half of a call."""
_NOT_KEPT = frozenset({"26000", "42P05"})
_PASSING = frozenset({"40001", "40P01", "55P03"})  # serialisation failure, deadlock, lock timeout
_LOST = frozenset(
    {"57P01", "57P02", "57P03", "25P03", "57P05"}
)  # ended by an operator, crash, starting up, idle
_BEGIN = f"BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = {LOCK_SECONDS * 1000}"


class Postgres(ServerDialect):
    """Names are locked by transaction-scoped advisory locks, so that a pooling proxy does no harm."""

    name = "postgresql"
    joins = True
    _prepares = True
    oldest = "13"
    advice = (
        ("password authentication", "refuses this user: check user and password in the URL"),
        ("no pg_hba.conf entry", "lets nobody in from here: see its pg_hba.conf"),
        (
            "fatal: database",
            "does not exist, or takes no connections: create it (createdb), or correct the URL",
        ),
        ("#3d000", "does not exist: create it (createdb), or correct the URL"),
        ('" does not exist', "lacks something: run axd migrate, or correct the URL"),
        (
            "#42501",
            "does not let this user do that: grant it what AX needs on its tables (axd migrate --sql names them)",
        ),
        ("#42p01", "has no tables of AX: run axd migrate"),
        ("#53300", "has no free connection: raise max_connections, or run fewer processes"),
        ("#53100", "has no disk space left: free some; nothing of this operation is stored"),
        ("#25006", "is read-only (a replica?): point AX_URL at the primary"),
        ("#22021", "cannot keep a NUL character in text; nothing was stored"),
        ("nul (0x00)", "cannot keep a NUL character in text; nothing was stored"),
        ("#22001", "has no room for so long a text in this column; nothing was stored"),
        ("statement pooling", "is behind a proxy that mixes statements: set its pool_mode to transaction"),
        (
            "no more connections",
            "has no room at its proxy: raise its max_client_conn, or run fewer processes",
        ),
        ("connection refused", "does not answer: start the server, or correct host and port in the URL"),
        ("could not translate host", "is at no known host: correct the host in the URL"),
        ("failed to resolve host", "is at no known host: correct the host in the URL"),
        ("timeout", "does not answer in time: check that server and network are up"),
        ("connection", "was lost on the way: check that server and network are up"),
    )

    def insert_new(self, table: str, width: int) -> str:
        return _insert_new(table, width)

    def inserted(self, cursor: Any) -> bool:
        return bool(cursor.rowcount == 1)

    def insert_unless(self, table: str, width: int, exists: str) -> str:
        return f"INSERT INTO {table} SELECT {marks(width)} WHERE NOT EXISTS ({self.text(exists)})"

    def changing(self, update: str, twice: bool) -> str:
        return _changing(self.text(update), twice)

    def adding(self, width: int, entry: int, durable: bool) -> str:
        return _adding(width, entry, durable)

    def inserting_unless(self, table: str, width: int, exists: str, durable: bool) -> str:
        return self.insert_unless(table, width, exists) + ("" if durable else f" AND {_LAZILY}")

    def stream(self, cursor: Any, sql: str, values: Sequence[tuple[Any, ...]]) -> list[int] | None:
        if not self._prepares:  # psycopg prepares what it sends like this, whatever it was told
            return None
        cursor.executemany(sql, values, returning=True)
        rows = [cursor.rowcount]
        while cursor.nextset():
            rows.append(cursor.rowcount)
        return rows

    def connect(self, args: Sequence[Any], given: dict[str, Any]) -> Any:
        import psycopg

        from .numbered import NumberedCursor

        alive = {"connect_timeout": CONNECT_SECONDS, "keepalives_idle": 10, "keepalives_interval": 5}
        prompt = {"keepalives_count": 3, "tcp_user_timeout": 20_000, "application_name": "ax"}
        cursors = {"cursor_factory": NumberedCursor}
        return psycopg.connect(*args, **{**alive, **prompt, **cursors, **given})

    def prepare(self, raw: Any) -> None:
        raw.autocommit = True  # AX says BEGIN itself
        raw.prepare_threshold = PREPARE_AFTER if self._prepares else None

    def silent(self, raw: Any) -> bool:
        came = select.poll()
        came.register(raw.fileno(), select.POLLIN)
        return not came.poll(0)

    def number(self, raw: Any) -> int:
        return 0 if self.pooled else int(raw.info.backend_pid)

    def lend(self, raw: Any, cursor: Any) -> tuple[int, Any]:
        if not self._prepares:
            raw.prepare_threshold = None
        found: tuple[int, Any] = cursor.execute("SELECT pg_backend_pid(), now()").fetchone()
        return found

    def kill(self, cursor: Any, number: int | tuple[int, Any]) -> None:
        if isinstance(number, int):
            cursor.execute("SELECT pg_terminate_backend(%s)", (number,))
        else:  # in that transaction alone: with the next the connection may be somebody else's
            cursor.execute(_KILL, number)

    def check(self, cursor: Any) -> None:
        version, encoding = cursor.execute(
            "SELECT current_setting('server_version_num'), current_setting('server_encoding')"
        ).fetchone()
        if int(version) < OLDEST:
            raise StoreError(
                f"PostgreSQL {int(version) // 10000} is too old for AX: it needs {self.oldest} or newer"
            )
        if encoding != "UTF8":
            raise StoreError(
                f"the database keeps text as {encoding}, which has not every character: "
                "create one with ENCODING 'UTF8'"
            )

    def notice(self, raw: Any, cursor: Any) -> None:
        cursor.execute("SELECT pg_backend_pid()", prepare=False)
        if cursor.fetchone()[0] != raw.info.backend_pid:  # a proxy tells its clients numbers of its own
            self.pooled, self._prepares = True, False
            raw.prepare_threshold = None

    def begin(self, cursor: Any, durable: bool, names: Sequence[int] = ()) -> None:
        # In one message: several statements may go together where none has parameters.
        lazily = "" if durable else "; SET LOCAL synchronous_commit = off"
        locks = f"; {_locks(names)}" if names else ""
        self.say(cursor, _BEGIN + lazily + locks)

    def lock(self, cursor: Any, names: Sequence[int]) -> None:
        self.say(cursor, _locks(names))

    def begin_reading(self, cursor: Any) -> None:
        self.say(cursor, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def say(self, cursor: Any, sql: str) -> None:
        cursor.execute(sql, prepare=False)

    def in_transaction(self, raw: Any) -> bool:
        return int(raw.info.transaction_status) in (2, 3)  # open, or open and failed

    def now(self, cursor: Any) -> Micros:
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        return int(cursor.fetchone()[0])

    def refused(self, error: BaseException) -> bool:
        import psycopg

        return isinstance(error, psycopg.Error | UnicodeEncodeError)

    def code(self, error: BaseException) -> str:
        return getattr(error, "sqlstate", None) or ""

    def lost(self, error: BaseException) -> bool:
        import psycopg

        code = self.code(error)
        if code in _NOT_KEPT:
            # A proxy that was not noticed gives every transaction another connection, where other statements are kept.
            self._prepares = False
            return True
        if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return False
        # Without a code it was not the server that spoke, but the library that found nobody there.
        return not code or code in _LOST or code.startswith("08")

    def passing(self, error: BaseException) -> bool:
        return self.code(error) in _PASSING


_PATIENTLY = f"set_config('lock_timeout', '{LOCK_SECONDS * 1000}', true) <> ''"
_LAZILY = "set_config('synchronous_commit', 'off', true) <> ''"
"""A statement's own settings, as a condition that holds: a session's would be another's behind a pooling proxy."""
_KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND xact_start = %s"
_ENTRY = len(AuditRow._fields)


@cache
def _changing(update: str, twice: bool) -> str:
    changed = f"WITH changed AS ({update} AND {_PATIENTLY} RETURNING 1)"
    entry = f"INSERT INTO ax_audit SELECT {marks(_ENTRY)} FROM changed"
    return f"{changed}, first AS ({entry} ON CONFLICT DO NOTHING) {entry}" if twice else f"{changed} {entry}"


@cache
def _adding(width: int, entry: int, durable: bool) -> str:
    lazily = "" if durable else f" WHERE {_LAZILY}"
    added = f"WITH added AS (INSERT INTO ax_task SELECT {marks(width)}{lazily} RETURNING 1)"
    return f"{added} INSERT INTO ax_audit SELECT {marks(entry)} FROM added"


def _locks(names: Sequence[int]) -> str:
    return "SELECT " + ", ".join([f"pg_advisory_xact_lock({name})" for name in names])


@cache
def _insert_new(table: str, width: int) -> str:
    return f"INSERT INTO {table} VALUES ({marks(width)}) ON CONFLICT DO NOTHING"
