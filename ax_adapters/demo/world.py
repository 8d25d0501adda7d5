"""The outside world's own books: every effect is committed here before anybody is answered."""

from __future__ import annotations

import json
import sqlite3
import threading
from typing import Any

DDL = """
CREATE TABLE orders  (id TEXT PRIMARY KEY, item TEXT NOT NULL, total REAL NOT NULL, status TEXT NOT NULL);
CREATE TABLE stock   (sku TEXT PRIMARY KEY, qty INTEGER NOT NULL);
CREATE TABLE effects (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, detail TEXT NOT NULL,
                      key TEXT);
CREATE UNIQUE INDEX effects_key ON effects (kind, key) WHERE key IS NOT NULL;
CREATE TABLE seen    (path TEXT PRIMARY KEY, times INTEGER NOT NULL);
CREATE TRIGGER effects_stay   BEFORE DELETE ON effects BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER effects_settle BEFORE UPDATE ON effects BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
ORDERS = [
    (f"o-{n}", item, total, "paid")
    for n, item, total in (
        (101, "blue mug", 129.0),
        (102, "desk lamp", 80.0),
        (103, "oak chair", 129.0),
        (104, "wool rug", 310.0),
        (105, "old test order", 1.0),
        (106, "tea set", 64.0),
        (107, "wall clock", 48.0),
    )
]
STOCK = [("mug", 100), ("lamp", 100), ("chair", 100)]

Row = dict[str, Any]


class Refusal(Exception):
    """The service says no, and nothing was changed."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class World:
    """Orders, stock and an append-only list of effects in one SQLite file, safe for many threads."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._changed = threading.Condition()
        if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'effects'").fetchone():
            self._db.executescript(DDL)
            self._db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", ORDERS)
            self._db.executemany("INSERT INTO stock VALUES (?, ?)", STOCK)

    def order(self, order_id: str) -> Row:
        """One order, or a 404."""
        with self._changed:
            row = self._db.execute("SELECT * FROM orders WHERE id = ?", (order_id,)).fetchone()
        if row is None:
            raise Refusal(404, f"there is no order {order_id!r}")
        return dict(row)

    def search(self, text: str) -> list[Row]:
        """The orders whose id, item or status contains the text."""
        with self._changed:
            rows = self._db.execute(
                "SELECT * FROM orders WHERE id || ' ' || item || ' ' || status LIKE ?", (f"%{text}%",)
            ).fetchall()
        return [dict(row) for row in rows]

    def act(
        self,
        kind: str,
        subject: str,
        detail: Row,
        *,
        key: str | None = None,
        change: tuple[str, tuple[Any, ...]] | None = None,
    ) -> tuple[int, bool]:
        """Change the world and count it in one transaction; the effect's number, and whether it is new."""
        with self._changed:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                known = self._db.execute(
                    "SELECT id FROM effects WHERE kind = ? AND key = ?", (kind, key)
                ).fetchone()
                if known is None:
                    if change is not None:
                        self._db.execute(*change)
                    done = self._db.execute(
                        "INSERT INTO effects (kind, subject, detail, key) VALUES (?, ?, ?, ?)",
                        (kind, subject, json.dumps(detail), key),
                    )
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            self._changed.notify_all()
            return (int(known["id"]), False) if known else (int(done.lastrowid or 0), True)

    def saw(self, path: str) -> None:
        """Count a request, whether or not it changes anything."""
        with self._changed:
            self._db.execute(
                "INSERT INTO seen VALUES (?, 1) ON CONFLICT (path) DO UPDATE SET times = times + 1", (path,)
            )

    def effects(self, *, subject: str | None = None, at_least: int = 0, wait: float = 0.0) -> Row:
        """The outside world's view; with at_least, wait until that many effects are committed."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._rows(subject)) >= at_least, timeout=wait)
            seen = self._db.execute("SELECT path, times FROM seen ORDER BY path").fetchall()
            stock = self._db.execute("SELECT sku, qty FROM stock ORDER BY sku").fetchall()
            return {
                "effects": self._rows(subject),
                "seen": {row["path"]: row["times"] for row in seen},
                "stock": {row["sku"]: row["qty"] for row in stock},
            }

    def _rows(self, subject: str | None) -> list[Row]:
        rows = self._db.execute(
            "SELECT * FROM effects WHERE ?1 IS NULL OR subject = ?1 ORDER BY id", (subject,)
        )
        return [{**dict(row), "detail": json.loads(row["detail"])} for row in rows]
