"""A file with very many tasks: copies of one real call in runs of fifty, some waiting for a person."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

from benchmarks.shape import Shape, Write

PER_RUN = 50
PRAGMAS = ("journal_mode=OFF", "synchronous=OFF", "cache_size=-400000", "temp_store=MEMORY")
TASK = {  # columns of ax_task that differ from the copied call; n counts the copies
    "run_id": f"'bench-' || (n / {PER_RUN})",
    "session": "'s-' || (n % 1000)",
    "state": "CASE WHEN n % 97 = 0 THEN 'QUARANTINE' WHEN n % 41 = 0 THEN 'FAILED' ELSE 'SUCCESS' END",
    "reason": "CASE WHEN n % 97 = 0 THEN 'outcome_unknown' END",
}


def fill(path: Path, shape: Shape, tasks: int) -> list[str]:
    """Add that many ended tasks to a product's closed file; the ids of a few runs spread over it."""
    db = sqlite3.connect(path, isolation_level=None)
    for pragma in PRAGMAS:
        db.execute(f"PRAGMA {pragma}")
    later = db.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
    ).fetchall()
    for kind, name, _ in later:
        db.execute(f"DROP {kind} {name}")
    db.execute("BEGIN")
    for write in shape.before + shape.after:
        if write.sql.startswith("INSERT INTO ax_task"):
            _copies(db, write, shape, tasks, {**_ended(shape), **TASK})
        elif write.sql.startswith("INSERT"):
            _copies(db, write, shape, tasks, {})
    _runs(db, tasks // PER_RUN + 1)
    db.execute("COMMIT")
    for *_, sql in later:
        db.execute(sql)
    db.execute("PRAGMA journal_mode=WAL")
    db.close()
    return [f"bench-{tasks // PER_RUN * part // 10}" for part in range(1, 10)]


def _runs(db: sqlite3.Connection, runs: int) -> None:
    """A closed run for every fifty tasks, each a copy of the one that is there."""
    row = db.execute("SELECT * FROM ax_run LIMIT 1")
    columns = [each[0] for each in row.description]
    own = {
        "id": "'bench-' || n",
        "root_id": "'bench-' || n",
        "run_key": "NULL",
        "session": "'s-' || (n % 1000)",
    }
    db.execute(
        f"WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < {runs - 1}) "
        f"INSERT INTO ax_run ({', '.join(columns)}) SELECT {', '.join(own.get(c, c) for c in columns)} "
        "FROM c, (SELECT * FROM ax_run LIMIT 1)"
    )


def _ended(shape: Shape) -> dict[str, str]:
    """What the outcome's update sets, as SQL."""
    [update] = [w for w in shape.after if w.sql.startswith("UPDATE ax_task")]
    names = re.findall(r"(\w+) = \?", update.sql.split(" SET ")[1].split(" WHERE ")[0])
    return {name: _sql(value, shape) for name, value in zip(names, update.values, strict=False)}


def _copies(db: sqlite3.Connection, write: Write, shape: Shape, tasks: int, instead: dict[str, str]) -> None:
    found = re.fullmatch(r"INSERT INTO (\w+) \((.+?)\) VALUES .*", write.sql)
    assert found is not None
    table, columns = found[1], found[2].split(", ")
    values = [instead.get(name) or _sql(v, shape) for name, v in zip(columns, write.values, strict=True)]
    db.execute(
        f"WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < {tasks - 1}) "
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {', '.join(values)} FROM c"
    )


def _sql(value: Any, shape: Shape) -> str:
    """An expression for the n-th copy of a value: ids stay in order, hashes are random."""
    if value is None:
        return "NULL"
    if isinstance(value, int | float):
        return f"{value} + n" if value in shape.fresh else str(value)
    quoted = "'" + str(value).replace("'", "''") + "'"
    if value not in shape.fresh:
        return quoted
    if len(value) == 64:
        return "lower(hex(randomblob(32)))"
    keep = max(len(value) - 12, 0)
    return f"substr({quoted}, 1, {keep}) || printf('%0{len(value) - keep}x', 10000000 + n)"
