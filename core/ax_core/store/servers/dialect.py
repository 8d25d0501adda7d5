"""What differs between database servers: each kind says it in its own file, everything else is written once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any

from ...clock import Micros
from ...errors import StoreError

LOCK_SECONDS = 10
"""How long one statement waits for a lock that another transaction holds, before the whole operation is run again."""
CONNECT_SECONDS = 5


class ServerDialect:
    """SQL text as it is written in the store, in a server's own style; and the words of its transactions.

    Attributes:
        name: as Alembic and SQLAlchemy call it.
        advice: (sign in the error's code or text, what to say and do), the first that fits.
        joins: a task and its audit can be written by one statement, and one statement needs no transaction around it.
        pooled: a proxy stands between that lends each transaction a connection of the server. See :meth:`notice`.
    """

    joins = False
    pooled = False
    name: str
    oldest: str
    advice: tuple[tuple[str, str], ...]

    # -- text ------------------------------------------------------------------------------------------------

    def bind(self, sql: str, params: dict[str, Any]) -> tuple[str, Any]:
        """The text and parameters in the driver's own style."""
        return self.text(sql), params

    def text(self, sql: str) -> str:
        """The text with the driver's marks; translated once."""
        return _in_format_style(sql)

    def insert(self, table: str, width: int) -> str:
        """An insert of a whole row."""
        return _insert(table, width)

    def insert_new(self, table: str, width: int) -> str:
        """An insert of a whole row that does nothing where a unique key exists."""
        raise NotImplementedError

    def inserted(self, cursor: Any) -> bool:
        """Whether :meth:`insert_new` inserted."""
        raise NotImplementedError

    def insert_unless(self, table: str, width: int, exists: str) -> str:
        """An insert of a whole row that does nothing where a query finds a row."""
        raise NotImplementedError

    def changing(self, update: str, twice: bool) -> str | None:
        """One statement for an UPDATE of a task and the one or two audit entries of it; None: there is no such.

        Outside a transaction it is one by itself, and waits for locks no longer than others.
        """
        return None

    def adding(self, width: int, entry: int, durable: bool) -> str | None:
        """One statement for a task and its first audit entry; None: there is no such."""
        return None

    def inserting_unless(self, table: str, width: int, exists: str, durable: bool) -> str | None:
        """:meth:`insert_unless` as a statement outside a transaction; None: there is no such."""
        return None

    def stream(self, cursor: Any, sql: str, values: Sequence[tuple[Any, ...]]) -> list[int] | None:
        """Execute a statement with each of these values, in one round trip; the rows of each. None: it cannot."""
        return None

    # -- connections -----------------------------------------------------------------------------------------

    def connect(self, args: Sequence[Any], given: dict[str, Any]) -> Any:
        """Open a connection.

        Args:
            args, given: what SQLAlchemy makes of the URL.
        """
        raise NotImplementedError

    def prepare(self, raw: Any) -> None:
        """Bring a fresh connection, perhaps of the user's own engine, into the state that AX relies on."""
        raise NotImplementedError

    def silent(self, raw: Any) -> bool:
        """Whether the server has said nothing unasked: else it has mostly ended the connection."""
        raise NotImplementedError

    def number(self, raw: Any) -> int:
        """By what the server knows this connection; 0: nobody can tell."""
        raise NotImplementedError

    def lend(self, raw: Any, cursor: Any) -> Any:
        """Begin, on a connection of the engine, the transaction that a tool is lent; by what to :meth:`kill` it."""
        raise NotImplementedError

    def kill(self, cursor: Any, number: Any) -> None:
        """End another connection; its transaction is rolled back, if it was not committed before."""
        raise NotImplementedError

    def check(self, cursor: Any) -> None:
        """Refuse a server that is too old, or that cannot keep all text.

        Raises:
            StoreError: and what to do.
        """
        raise NotImplementedError

    def notice(self, raw: Any, cursor: Any) -> None:
        """See whether this connection is to a proxy."""

    # -- transactions ----------------------------------------------------------------------------------------

    def begin(self, cursor: Any, durable: bool, names: Sequence[int] = ()) -> None:
        """Begin a transaction for writing, at READ COMMITTED whatever the server's default; and lock ``names``."""
        raise NotImplementedError

    def lock(self, cursor: Any, names: Sequence[int]) -> None:
        """Lock names, in the order they are given, until the transaction ends."""
        raise NotImplementedError

    def begin_reading(self, cursor: Any) -> None:
        """Begin a transaction that sees one snapshot."""
        raise NotImplementedError

    def say(self, cursor: Any, sql: str) -> None:
        """Execute a word of transactions: COMMIT or ROLLBACK."""
        cursor.execute(sql)

    def in_transaction(self, raw: Any) -> bool:
        """Whether a transaction is open, by what the server said last."""
        raise NotImplementedError

    def now(self, cursor: Any) -> Micros:
        """The server's clock."""
        raise NotImplementedError

    def spread(self, name: str) -> int:
        """The number that a name is locked by."""
        return int.from_bytes(
            blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), signed=True
        )

    # -- errors ----------------------------------------------------------------------------------------------

    def refused(self, error: BaseException) -> bool:
        """Whether it is the driver that speaks."""
        raise NotImplementedError

    def code(self, error: BaseException) -> str:
        """The server's own name of the error, or ''."""
        raise NotImplementedError

    def lost(self, error: BaseException) -> bool:
        """Whether the connection is gone with it."""
        raise NotImplementedError

    def passing(self, error: BaseException) -> bool:
        """Whether the transaction was undone by the server for the sake of others, and may be tried again."""
        raise NotImplementedError

    def explain(self, error: BaseException, where: str) -> StoreError:
        """A driver's error as a StoreError that says what to do."""
        if isinstance(error, UnicodeEncodeError):
            part = error.object[max(0, error.start - 20) : error.end + 20]
            return StoreError(
                f"nothing was stored: a text holds half a surrogate pair ({part!r}), which is no character"
            )
        said = " ".join(str(error).split())
        looked_at = f"#{self.code(error)} {said}".lower()
        for sign, advice in self.advice:
            if sign in looked_at:
                return StoreError(f"the database {where} {advice} ({said})")
        if self.passing(error):
            return StoreError(
                f"the database {where} undid this operation again and again for the sake of others ({said}): "
                "nothing of it is stored; look for transactions that stay open"
            )
        return StoreError(f"the database {where} refused: {said}")


def per_text(translate: Callable[[str], str]) -> Callable[[str], str]:
    """Each text is translated once; there are only so many."""
    return cache(translate)


@per_text
def _in_format_style(sql: str) -> str:
    return _TOKENS.sub(_in_style, sql)


def _in_style(found: re.Match[str]) -> str:
    text = found.group(0)
    if found.group(1):
        return f"%({found.group(1)})s"
    return "%s" if text == "?" else text.replace("%", "%%")


_TOKENS = re.compile(r"'(?:[^']|'')*'|:(\w+)|\?|%")


@cache
def _insert(table: str, width: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join(['%s'] * width)})"


def marks(width: int) -> str:
    """So many marks for values."""
    return ", ".join(["%s"] * width)
