"""The schema on a server: checked by everybody, changed by ``axd migrate`` alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import StoreError
from ..migrate import HEAD, VERSION_TABLE, alembic_at_work, config, known
from .address import Address

if TYPE_CHECKING:
    from sqlalchemy import Connection

_NAME = "ax.migrate"
_WAIT_SECONDS = 300


def version(address: Address) -> str | None:
    """The revision of AX's tables in a database; None: there are none.

    Raises:
        StoreError: it cannot be reached, or is too old.
    """
    try:
        raw = address.connect()
        try:
            return _looked_at(raw, address)
        finally:
            raw.close()
    except Exception as error:
        raise _explained(error, address) from error


def check(address: Address) -> Any:
    """Refuse a database whose schema is not this version's; the connection that it was looked at through.

    Raises:
        StoreError: and what to do.
    """
    raw: Any = None
    try:
        raw = address.connect()
        _refuse_other(_looked_at(raw, address), address)
    except BaseException as error:
        if raw is not None:
            raw.close()
        if isinstance(error, Exception):
            raise _explained(error, address) from error
        raise
    return raw


def _refuse_other(found: str | None, address: Address) -> None:
    if found == HEAD:
        return
    if found is None:
        raise StoreError(f"the database {address.where} has no tables of AX yet: make them with axd migrate")
    if found in known():
        raise StoreError(
            f"the database {address.where} has schema {found}, and this AX needs {HEAD}: "
            "bring it there with axd migrate"
        )
    raise StoreError(
        f"the database {address.where} has schema {found}, written by a newer AX (this one knows {HEAD}): "
        "upgrade the package, or point AX_URL at another database"
    )


def up(url: str, to: str = "head") -> tuple[str | None, str | None]:
    """Migrate up; several processes may do so at once, and one that was killed is completed by the next.

    Returns the revision before and after.

    Raises:
        StoreError: a newer AX wrote this database, or it cannot be reached or changed.
    """
    from alembic import command

    return _moved(Address(url), lambda made: command.upgrade(made, to))


def down(url: str, to: str) -> tuple[str | None, str | None]:
    """Migrate down to a revision; ``base`` takes every table of AX away, with what is in it.

    Returns the revision before and after.

    Raises:
        StoreError: there is no such revision, or the database cannot be reached or changed.
    """
    from alembic import command

    if to != "base" and to not in known():
        raise StoreError(f"there is no revision {to!r}; there are: base, {', '.join(reversed(known()))}")
    return _moved(Address(url), lambda made: command.downgrade(made, to))


def script(url: str, *, down_to: str | None = None) -> str:
    """The SQL of a migration from what is there, for somebody else to run."""
    from alembic import command

    address = Address(url)
    found = version(address)
    with _connected(address) as connection:
        made = _config(connection)
        made.output_buffer = text = io.StringIO()
        made.attributes["dialect"] = connection.dialect.name
        with alembic_at_work:
            if down_to is not None:
                command.downgrade(made, f"{found}:{down_to}", sql=True)
            else:
                command.upgrade(made, f"{found}:head" if found else "head", sql=True)
    return text.getvalue()


def _moved(address: Address, move: Callable[[Any], None]) -> tuple[str | None, str | None]:
    before = version(address)
    if before is not None and before not in known():
        _refuse_other(before, address)
    try:
        with _connected(address) as connection, _alone(connection), alembic_at_work:
            move(_config(connection))
            connection.commit()
    except StoreError:
        raise
    except Exception as error:
        raise _explained(error, address) from error
    return before, version(address)


@contextmanager
def _connected(address: Address) -> Iterator[Connection]:
    from sqlalchemy import create_engine
    from sqlalchemy.pool import NullPool

    def connect() -> Any:
        raw = address.connect()
        if address.dialect.name == "postgresql":  # its migrations are one transaction
            raw.autocommit = False
        return raw

    engine = create_engine(address.url, creator=connect, poolclass=NullPool)
    with engine.connect() as connection:
        yield connection


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One migration at a time: the others wait, and find it done."""
    from sqlalchemy import text

    if connection.dialect.name == "postgresql":
        # Until its transaction ends, which holds the whole migration.
        connection.execute(text("SET LOCAL lock_timeout = 0"))
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": _NAME})
        yield
        return
    # Of this session: MySQL ends a transaction with every change of a table.
    got = connection.execute(
        text("SELECT GET_LOCK(:name, :seconds)"), {"name": _NAME, "seconds": _WAIT_SECONDS}
    )
    if got.scalar() != 1:
        raise StoreError(
            f"another migration has been at work for {_WAIT_SECONDS} s: wait for its end, or end it"
        )
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": _NAME})


def _config(connection: Connection) -> Any:
    made = config()
    made.attributes["connection"] = connection
    made.attributes["collation"] = _collation(connection)
    return made


def _collation(connection: Connection) -> str:
    """How MySQL compares text as bytes, trailing spaces included; the two families call it differently."""
    return "utf8mb4_nopad_bin" if getattr(connection.dialect, "is_mariadb", False) else "utf8mb4_0900_bin"


def _looked_at(raw: Any, address: Address) -> str | None:
    cursor = raw.cursor()
    address.dialect.check(cursor)
    address.dialect.notice(raw, cursor)
    found = _found(cursor, address)
    raw.rollback()  # what was only looked at stands in nobody's way
    return found


def _found(cursor: Any, address: Address) -> str | None:
    try:
        cursor.execute(f"SELECT version_num FROM {VERSION_TABLE}")
    except Exception as error:
        if address.dialect.code(error) in ("42P01", "1146"):
            return None
        raise
    row = cursor.fetchone()
    return row[0] if row else None


def _explained(error: Exception, address: Address) -> StoreError:
    if isinstance(error, StoreError):
        return error
    cause = getattr(error, "orig", None) or error
    if address.dialect.refused(cause):
        return address.dialect.explain(cause, address.where)
    raise error
