"""What migrations are written in: the same words make the same tables on SQLite, PostgreSQL and MySQL.

MySQL commits every statement of a migration by itself. So what is there already is not made again, and what is gone is
not dropped again: a migration that was killed in the middle is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from alembic import context, op

from .. import columns


def key(name: str, width: int, null: bool = False) -> sa.Column[Any]:
    """Text of at most ``width`` characters that is compared, sorted and indexed."""
    return sa.Column(name, columns.key(width), nullable=null)


def long_text(name: str, null: bool = False) -> sa.Column[Any]:
    """Text of any length."""
    return sa.Column(name, columns.long_text(), nullable=null)


def whole(name: str, null: bool = False) -> sa.Column[Any]:
    """A whole number of 64 bits."""
    return sa.Column(name, sa.BigInteger(), autoincrement=False, nullable=null)


def table(name: str, *made_of: sa.Column[Any], primary_key: Sequence[str], with_rowid: bool = True) -> None:
    """Make a table."""
    if not _there(name):
        options = columns.options(context.config.attributes.get("collation"))
        if not with_rowid:
            options["sqlite_with_rowid"] = False
        op.create_table(name, *made_of, sa.PrimaryKeyConstraint(*primary_key), **options)


def index(name: str, on: str, over: Sequence[str], *, unique: bool = False, where: str | None = None) -> None:
    """Make an index; of the rows ``where`` only, but on MySQL, which has no such indexes."""
    if not _there(on, name):
        only: dict[str, Any] = (
            {f"{of}_where": sa.text(where) for of in ("sqlite", "postgresql")} if where else {}
        )
        op.create_index(name, on, list(over), unique=unique, **only)


def drop(name: str) -> None:
    """Drop a table with its indexes."""
    if _there(name) or context.is_offline_mode():
        op.drop_table(name)


def database() -> str:
    """``sqlite``, ``postgresql`` or ``mysql``."""
    named = op.get_context().dialect.name
    return "mysql" if named == "mariadb" else named


def _there(name: str, having: str | None = None) -> bool:
    if context.is_offline_mode():
        return False
    looked = sa.inspect(op.get_bind())
    if not looked.has_table(name):
        return False
    return having is None or any(index["name"] == having for index in looked.get_indexes(name))
