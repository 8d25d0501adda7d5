"""The rows of one call, learned by watching a real one: what is written before the body, and what after."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Key = tuple[Any, ...]
Snapshot = dict[str, dict[Key, dict[str, Any]]]


@dataclass(frozen=True)
class Write:
    """One statement of the raw loop and the values it had in the call that was watched."""

    sql: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Shape:
    """The statements of the two transactions; `fresh` are the values that no two calls share."""

    before: tuple[Write, ...]
    after: tuple[Write, ...]
    fresh: frozenset[Any]

    @property
    def rows(self) -> int:
        """How many rows a call writes."""
        return len(self.before) + len(self.after)

    def params(self, statement: Write, n: int) -> tuple[Any, ...]:
        """The statement's values for the n-th call."""
        return tuple(_fresh(value, n) if value in self.fresh else value for value in statement.values)


def snapshot(path: str) -> Snapshot:
    """Every row of the product's tables, by primary key."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    found: Snapshot = {}
    for (table,) in db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ax\\_%' ESCAPE '\\'"
    ):
        keys = [row["name"] for row in db.execute(f"PRAGMA table_info({table})") if row["pk"]]
        rows = [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
        found[table] = {tuple(row[key] for key in keys): row for row in rows}
    db.close()
    return found


def learn(path: str, call: Callable[[Callable[[], None]], None]) -> Shape:
    """Watch the third and fourth call; `call` makes one whose body calls back."""
    watched = []
    for _ in range(4):
        middle: list[Snapshot] = []
        start = snapshot(path)
        call(lambda seen=middle: seen.append(snapshot(path)))  # type: ignore[misc]
        watched.append((_writes(path, start, middle[0]), _writes(path, middle[0], snapshot(path))))
    (one_before, one_after), (two_before, two_after) = watched[-2:]
    assert [w.sql for w in one_before + one_after] == [w.sql for w in two_before + two_after], (
        "no two calls alike"
    )
    fresh = {
        value
        for one, two in zip(one_before + one_after, two_before + two_after, strict=True)
        for value, other in zip(two.values, one.values, strict=True)
        if value != other and (isinstance(value, int) or _is_id(value))
    }
    return Shape(tuple(two_before), tuple(two_after), frozenset(fresh))


def _writes(path: str, start: Snapshot, end: Snapshot) -> list[Write]:
    writes = []
    for table, rows in end.items():
        for key, row in rows.items():
            old = start.get(table, {}).get(key)
            if old is None:
                marks = ", ".join("?" * len(row))
                writes.append(
                    Write(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))
                )
            elif old != row:
                writes.append(_update(path, table, key, old, row))
    return writes


def _update(path: str, table: str, key: Key, old: dict[str, Any], new: dict[str, Any]) -> Write:
    db = sqlite3.connect(path)
    keys = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[5]]
    db.close()
    changed = [name for name in new if new[name] != old[name]]
    guards = [name for name in ("state", "fence") if name in old]
    sets = ", ".join(f"{name} = ?" for name in changed)
    where = " AND ".join(f"{name} = ?" for name in keys + guards)
    values = [new[name] for name in changed] + list(key) + [old[name] for name in guards]
    return Write(f"UPDATE {table} SET {sets} WHERE {where}", tuple(values))


def _is_id(value: Any) -> bool:
    """Ids and hashes, not texts and JSON."""
    return isinstance(value, str) and len(value) >= 16 and value[0] not in '{["'


def _fresh(value: Any, n: int) -> Any:
    """The n-th call's own value, of the same kind and length: ids stay in order, hashes stay random."""
    if not isinstance(value, str):
        return value + n if isinstance(value, int) else value
    if len(value) == 64:
        return hashlib.blake2b(f"{value}{n}".encode(), digest_size=32).hexdigest()
    keep = max(len(value) - 12, 0)
    return f"{value[:keep]}{n:0{len(value) - keep}x}"
