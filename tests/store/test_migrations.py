"""The schema: made once, whoever comes first, in one piece or not at all, and never by an older version."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from ax_core import AX, StoreError, model
from ax_core.store import dialects, migrate, tables
from ax_core.store.dialects import Dialect
from support.children import Nursery

ROWS = {
    "ax_task": model.TaskRow,
    "ax_run": model.RunRow,
    "ax_attempt": model.AttemptRow,
    "ax_audit": model.AuditRow,
    "ax_approval": model.ApprovalRow,
    "ax_request": model.RequestRow,
    "ax_idempotency": model.IdempotencyRow,
    "ax_lock": model.LockRow,
    "ax_tool": model.ToolRow,
}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that AX itself has made."""
    path = tmp_path_factory.mktemp("migrated") / "ax.db"
    with AX(f"sqlite:///{path}") as ax:
        ax.tasks()
    return path


def schema(path: Path) -> dict[str, Any]:
    """Everything SQLite knows of the schema, tables and indexes by name, white space aside."""
    with sqlite3.connect(path) as raw:
        found: dict[str, Any] = {}
        for name, sql in raw.execute(
            "SELECT name, sql FROM sqlite_master WHERE name LIKE '%x_%' AND sql IS NOT NULL"
        ):
            if not name.startswith(migrate.VERSION_TABLE):
                found[name] = " ".join(sql.replace(",", " , ").split())
        for table in ROWS:
            found[f"{table}: columns"] = raw.execute(f"PRAGMA table_info({table})").fetchall()
        return found


def test_a_fresh_file_gets_every_table_and_the_newest_version(migrated: Path) -> None:
    with sqlite3.connect(migrated) as raw:
        names = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert names == {*ROWS, migrate.VERSION_TABLE}
        assert raw.execute(f"SELECT version_num FROM {migrate.VERSION_TABLE}").fetchall() == [(migrate.HEAD,)]


def test_the_known_head_is_the_migrations_own() -> None:
    scripts = ScriptDirectory.from_config(migrate.config())
    assert scripts.get_heads() == [migrate.HEAD]
    assert migrate.known()[0] == migrate.HEAD


def test_the_migrations_add_up_to_the_declared_tables(migrated: Path) -> None:
    """As alembic would find it: nothing left to generate."""
    engine = create_engine(f"sqlite:///{migrated}")
    with engine.connect() as connection:
        options = {
            "version_table": migrate.VERSION_TABLE,
            "compare_type": True,
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables.metadata) == []
    engine.dispose()


def test_the_migrations_add_up_to_the_declared_tables_to_the_letter(migrated: Path, tmp_path: Path) -> None:
    """Also where alembic does not look: partial indexes, WITHOUT ROWID, the order of columns."""
    declared = tmp_path / "declared.db"
    engine = create_engine(f"sqlite:///{declared}")
    tables.metadata.create_all(engine)
    engine.dispose()
    assert schema(migrated) == schema(declared)


@pytest.mark.parametrize("table", ROWS)
def test_a_row_type_is_its_table_column_by_column(migrated: Path, table: str) -> None:
    """A row is written as the tuple it is, so order, names and kinds must be those of the table."""
    with sqlite3.connect(migrated) as raw:
        columns = raw.execute(f"PRAGMA table_info({table})").fetchall()
    kinds = get_type_hints(ROWS[table])
    assert [column[1] for column in columns] == list(ROWS[table]._fields)
    for _, name, kind, required, _, _ in columns:
        assert (kind == "BIGINT") == (kinds[name] in (int, int | None)), name
        assert bool(required) == (kinds[name] in (int, str)), name


def test_down_and_up_again_is_the_same(migrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    path.write_bytes(migrated.read_bytes())
    config = migrate.config()
    engine = create_engine(f"sqlite:///{path}")
    for way, target in ((command.downgrade, "base"), (command.upgrade, "head")):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            way(config, target)
    engine.dispose()
    assert schema(path) == schema(migrated)


def test_a_newer_schema_is_refused_untouched_and_says_what_to_do(migrated: Path, tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    path.write_bytes(migrated.read_bytes())
    with sqlite3.connect(path) as raw:
        raw.execute(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '9999'")
        raw.execute("ALTER TABLE ax_task ADD COLUMN later TEXT")
    raw.close()
    before = schema(path)
    ax = AX(f"sqlite:///{path}")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"9999, written by a newer AX.*upgrade the package"):
            ax.tasks()
    assert schema(path) == before


def test_tables_of_others_in_the_file_stay_as_they_are(tmp_path: Path) -> None:
    """Also another alembic's version table: ours has a name of its own."""
    path = tmp_path / "shared.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        raw.execute("INSERT INTO alembic_version VALUES ('theirs')")
        raw.execute("CREATE TABLE business (n INTEGER)")
        raw.execute("INSERT INTO business VALUES (7)")
    raw.close()
    with AX(f"sqlite:///{path}") as ax:
        ax.tasks()
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT version_num FROM alembic_version").fetchall() == [("theirs",)]
        assert raw.execute("SELECT n FROM business").fetchall() == [(7,)]


class Refusing:
    """A connection to a file that others open at the same moment: SQLite refuses the switch, and does not wait."""

    def __init__(self, path: Path, times: int) -> None:
        self._raw, self.left = sqlite3.connect(path), times

    def execute(self, sql: str) -> Any:
        if "journal_mode" in sql and self.left:
            self.left -= 1
            raise sqlite3.OperationalError("database is locked")
        return self._raw.execute(sql)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "isolation_level":
            self._raw.isolation_level = value
        else:
            super().__setattr__(name, value)


def test_the_switch_to_the_write_ahead_log_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = Refusing(tmp_path / "ax.db", 3)
    Dialect().prepare(raw)
    assert raw.left == 0
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    monkeypatch.setattr(dialects, "BUSY_SECONDS", 0.02)
    with pytest.raises(sqlite3.OperationalError, match="locked"):  # and not for ever
        Dialect().prepare(Refusing(tmp_path / "other.db", 1000))


def test_eight_processes_at_once_on_an_empty_file_all_start(tmp_path: Path, nursery: Nursery) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.db"
        log = tmp_path / f"{attempt}.log"
        children = [nursery.start("support.opening", {"db": str(path)}, log) for _ in range(8)]
        for child in children:
            assert child.hear() == {"ready": True}
        for child in children:
            child.say(go=True)
        for child in children:
            child.wait()
            assert child.ended, child.complaint()
        with AX(f"sqlite:///{path}") as ax:
            assert sorted(task.result for task in ax.tasks().tasks) == sorted(child.pid for child in children)


@pytest.mark.parametrize("statement", [1, 2, 7, 15, 1000])
def test_a_migration_that_was_killed_leaves_nothing_and_the_next_one_completes(
    tmp_path: Path, nursery: Nursery, migrated: Path, statement: int
) -> None:
    """Killed before this statement of it, or (the last one) between the end and the commit."""
    path, log = tmp_path / "ax.db", tmp_path / "log"
    child = nursery.start("support.opening", {"db": str(path), "die_at": statement}, log)
    assert child.hear() == {"ready": True}
    child.say(go=True)
    child.wait()
    assert not child.ended
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT name FROM sqlite_master").fetchall() == []
    raw.close()
    with AX(f"sqlite:///{path}") as ax:
        assert ax.tasks().tasks == ()
    assert schema(path) == schema(migrated)


def test_processes_that_wait_for_a_migration_that_is_killed_go_on(tmp_path: Path, nursery: Nursery) -> None:
    path, log = tmp_path / "ax.db", tmp_path / "log"
    dying = [nursery.start("support.opening", {"db": str(path), "die_at": n}, log) for n in (3, 9)]
    living = [nursery.start("support.opening", {"db": str(path)}, log) for _ in range(3)]
    for child in (*dying, *living):
        assert child.hear() == {"ready": True}
    for child in (*dying, *living):
        child.say(go=True)
    for child in (*dying, *living):
        child.wait()
    assert all(child.ended for child in living), living[0].complaint()
