"""Where a server's database is: the URL, understood as SQLAlchemy does, and the dialect that goes with it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import PolicyError
from .dialect import ServerDialect

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "mysql+pymysql": "mysql+pymysql",
    "mariadb+pymysql": "mariadb+pymysql",
}
_MODULES = {"psycopg": ("psycopg", "postgres"), "pymysql": ("pymysql", "mysql")}


class Address:
    """One database on a server.

    Args:
        url: an SQLAlchemy URL; without a driver, psycopg or PyMySQL is meant.
        engine: the user's own engine, whose way of connecting is used.

    Attributes:
        where: the URL without its password, for people.

    Raises:
        PolicyError: it is no URL of such a server, or the extra is not installed that brings its driver.
    """

    def __init__(self, url: str | URL, engine: Engine | None = None) -> None:
        self.url = _parsed(url)
        self.where = self.url.render_as_string(hide_password=True)
        self.dialect = _dialect(self.url.get_driver_name())
        self._given = engine
        args, given = self.url.get_dialect()().create_connect_args(self.url)
        self._args, self._kwargs = list(args), dict(given)
        self._engine: Engine | None = engine

    def connect(self) -> Any:
        """A driver's connection, ready for AX; raises what the driver raises."""
        if self._given is not None:
            lent = self._given.raw_connection()
            raw: Any = lent.driver_connection
            lent.detach()  # it is ours to keep and to close
        else:
            raw = self.dialect.connect(self._args, self._kwargs)
        try:
            self.dialect.prepare(raw)
        except BaseException:
            raw.close()
            raise
        return raw

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine; made on first use unless the user gave one."""
        if self._engine is None:
            from sqlalchemy import create_engine

            self._engine = create_engine(self.url, pool_pre_ping=True)
        return self._engine

    def close(self) -> None:
        """Close the engine's connections, unless it is the user's."""
        if self._engine is not None and self._given is None:
            self._engine.dispose()


def _parsed(url: str | URL) -> URL:
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise PolicyError(f"{url!r} is no database URL; {_EXAMPLES}") from None
    driver = _DRIVERS.get(parsed.drivername)
    if driver is None:
        raise PolicyError(f"AX keeps no record in {parsed.drivername!r}: {_EXAMPLES}")
    if not parsed.database:
        raise PolicyError(f"{parsed.render_as_string()!r} names no database: add /NAME at its end")
    return parsed.set(drivername=driver)


def _dialect(driver: str) -> ServerDialect:
    module, extra = _MODULES[driver]
    try:
        import_module(module)
    except ImportError:
        raise PolicyError(
            f"{module} is not installed: pip install 'ax-adapters[{extra}]' brings the driver of this database"
        ) from None
    if driver == "psycopg":
        from .postgres import Postgres

        return Postgres()
    from .mysql import MySQL

    return MySQL()


_EXAMPLES = "write sqlite:///path, postgresql+psycopg://user:password@host:5432/name or mysql+pymysql://user:password@host:3306/name"
