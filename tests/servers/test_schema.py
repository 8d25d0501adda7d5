"""The schema on a server: checked by whoever opens it, made by ``axd migrate``, completed where it was cut off."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect
from sqlalchemy.pool import NullPool

from ax_core import AX, StoreError
from ax_core.cli import main
from ax_core.store import migrate, tables
from ax_core.store.servers import migrating
from support.children import Nursery
from support.servers.home import Home


def differs(url: str) -> Any:
    """What alembic would still have to do."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        options = {
            "version_table": migrate.VERSION_TABLE,
            "compare_type": True,
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        return compare_metadata(context, tables.declared(connection.dialect.name))


def names(url: str) -> set[str]:
    engine = create_engine(url, poolclass=NullPool)
    with engine.connect() as connection:
        return set(inspect(connection).get_table_names())


def test_up_makes_what_is_declared_and_down_takes_it_away(
    bare: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    bare.ask("CREATE TABLE theirs (n INTEGER)")
    assert main(["migrate", "--url", bare.url]) == 0
    assert f"from nothing to {migrate.HEAD}" in capsys.readouterr().out
    assert differs(bare.url) == [] or only_theirs(differs(bare.url))
    with AX(bare.url) as ax:
        ax.register(lambda: 1, name="one")
        assert ax.call("one") == 1
    assert main(["migrate", "--url", bare.url, "--down", "0001"]) == 0
    assert "ax_commit" not in names(bare.url)
    assert main(["migrate", "--url", bare.url]) == 0
    with AX(bare.url) as ax:
        assert [task.tool for task in ax.tasks().tasks] == ["one"]
    assert main(["migrate", "--url", bare.url, "--down", "base"]) == 0
    assert names(bare.url) == {"theirs", migrate.VERSION_TABLE}
    assert main(["migrate", "--url", bare.url]) == 0
    assert main(["migrate", "--url", bare.url]) == 0
    assert f"is at {migrate.HEAD}" in capsys.readouterr().out


def only_theirs(found: Any) -> bool:
    return [(change[0], change[1].name) for change in found] == [("remove_table", "theirs")]


def test_the_printed_statements_make_the_same(bare: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["migrate", "--url", bare.url, "--sql"]) == 0
    assert names(bare.url) == set()
    script = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("--")]
    for statement in "\n".join(script).split(";\n"):
        if statement.strip(" \n;"):
            bare.ask(statement)
    assert differs(bare.url) == []
    with AX(bare.url) as ax:
        assert ax.tasks().tasks == ()


def test_a_database_without_tables_says_how_to_make_them(bare: Home) -> None:
    with pytest.raises(StoreError, match="has no tables of AX yet: make them with axd migrate"):
        AX(bare.url).tasks()
    assert names(bare.url) == set()


@pytest.mark.parametrize(
    "version, advice",
    [
        ("0001", "schema 0001.*bring it there with axd migrate"),
        ("9999", "a newer AX.*upgrade the package"),
    ],
)
def test_another_version_is_refused_and_says_what_to_do(home: Home, version: str, advice: str) -> None:
    home.ask(f"UPDATE {migrate.VERSION_TABLE} SET version_num = '{version}'")
    with pytest.raises(StoreError, match=advice):
        AX(home.url).tasks()
    if version == "9999":
        assert main(["migrate", "--url", home.url]) == 2


def test_eight_processes_that_migrate_at_once_all_succeed(
    bare: Home, nursery: Nursery, tmp_path: Path
) -> None:
    children = [nursery.start("support.migrating", {"url": bare.url}, tmp_path / "log") for _ in range(8)]
    for child in children:
        assert child.hear() == {"ready": True}
    for child in children:
        child.say(go=True)
    for child in children:
        child.wait()
        assert child.ended, child.complaint()
    assert differs(bare.url) == []


@pytest.mark.parametrize("statement", [2, 9, 14, 23, 30, 1000])
def test_a_migration_that_was_killed_is_completed_by_the_next(
    bare: Home, nursery: Nursery, tmp_path: Path, statement: int
) -> None:
    """Killed before this statement of it, or (the last one) right before its commit."""
    child = nursery.start("support.migrating", {"url": bare.url, "die_at": statement}, tmp_path / "log")
    assert child.hear() == {"ready": True}
    child.say(go=True)
    child.wait()
    assert not child.ended
    migrating.up(bare.url)
    assert differs(bare.url) == []
    with AX(bare.url) as ax:
        ax.register(lambda: 1, name="one")
        assert ax.call("one", request_id="r") == 1
