"""Bringing a database to this version's schema, with alembic and a version table of our own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..errors import StoreError

if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy import Connection

HEAD = "0004"
"""The newest revision; a test keeps it equal to the migrations' own head."""
VERSION_TABLE = "ax_version"

alembic_at_work = threading.Lock()
"""Alembic keeps its context in module globals: one migration at a time in a process."""


def upgrade(raw: Any, where: str) -> None:
    """Migrate up to :data:`HEAD`; several processes may do so at once.

    Raises:
        StoreError: a newer AX wrote this database.
    """
    if _version(raw) == HEAD:
        return
    from sqlalchemy import create_engine
    from sqlalchemy.pool import StaticPool

    # Alembic writes on our own connection, inside a transaction that it does not end.
    engine = create_engine("sqlite://", creator=lambda: raw, poolclass=StaticPool, pool_reset_on_return=None)
    with alembic_at_work, engine.connect() as connection, connection.begin():
        # The write lock first, then a second look: one process migrates, the others find it done.
        raw.execute("BEGIN IMMEDIATE")
        version = _version(raw)
        if version is not None and version not in known():
            raise StoreError(
                f"the database {where} has schema {version}, written by a newer AX (this one knows {HEAD}): "
                "upgrade the package, or point AX_URL at another file"
            )
        if version != HEAD:
            _run(connection)


def known() -> list[str]:
    """Every revision this version has, newest first."""
    from alembic.script import ScriptDirectory

    return [script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()]


def config() -> Config:
    """An alembic configuration without a file."""
    from alembic.config import Config

    made = Config()
    made.set_main_option("script_location", "ax_core:store/migrations")
    made.set_main_option("path_separator", "os")
    return made


def _version(raw: Any) -> str | None:
    found = raw.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (VERSION_TABLE,)
    ).fetchone()
    if not found:
        return None
    row = raw.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchone()
    return row[0] if row else None


def _run(connection: Connection) -> None:
    from alembic import command

    made = config()
    made.attributes["connection"] = connection
    command.upgrade(made, "head")
