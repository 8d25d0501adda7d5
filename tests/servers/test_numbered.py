"""psycopg is given texts with PostgreSQL's own marks, which it need not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.servers.databases import Databases

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def connection(tmp_path: Path, databases: Databases) -> Iterator[Any]:
    from ax_core.store.servers.numbered import NumberedCursor

    with databases.fresh("postgresql", tmp_path, empty=True) as url:
        address = url.replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(address, autocommit=True, cursor_factory=NumberedCursor) as made:
            yield made


def test_each_kind_of_mark_has_its_number() -> None:
    """A name has one, however often it is used; a doubled per cent sign is one."""
    from ax_core.store.servers.numbered import numbered

    assert numbered("SELECT 1") == (b"SELECT 1", ())
    assert numbered("a %s b %s") == (b"a $1 b $2", None)
    assert numbered("%(one)s %(two)s %(one)s LIKE '%%s'") == (b"$1 $2 $1 LIKE '%s'", ("one", "two"))
    assert numbered("no value, one '%%'") == (b"no value, one '%'", ())


@pytest.mark.parametrize(
    ("sql", "values", "found"),
    [
        ("SELECT 1", None, (1,)),
        ("SELECT '%'", None, ("%",)),
        ("SELECT '%%', %s::text", ("é",), ("%", "é")),
        ("SELECT %(a)s::int + %(b)s::int - %(a)s::int", {"b": 5, "a": 2, "unused": None}, (5,)),
        ("SELECT '%%' WHERE true", {}, ("%",)),
        ("SELECT " + ", ".join(["%s::int"] * 60), tuple(range(60)), tuple(range(60))),
    ],
)
def test_what_is_asked_is_answered(connection: Any, sql: str, values: Any, found: tuple[Any, ...]) -> None:
    """Often enough for the server to keep the statement, too."""
    connection.prepare_threshold = 2
    for _ in range(4):
        assert connection.cursor().execute(sql, values).fetchone() == found


def test_no_text_of_a_task_is_read_by_the_driver(
    tmp_path: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That takes a tenth of a call's time with as many values as a task has."""
    from psycopg import _queries

    from ax_core import AX

    read: list[Any] = []
    split = _queries._split_query

    def counting(query: Any, *rest: Any) -> Any:
        read.append(query)
        return split(query, *rest)

    monkeypatch.setattr(_queries, "_split_query", counting)
    with databases.fresh("postgresql", tmp_path) as url, AX(url) as ax:
        ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "keyed"})
        with ax.run():
            assert ax.call("act", {"n": 1}) == 1
        assert ax.call("act", {"n": 1}, key="k") == 1
    assert not [query for query in read if b"ax_" in bytes(query)]
