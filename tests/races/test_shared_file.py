"""Four processes, a long read and a backup on one file: no lock is heard of, nothing is lost, the log stays small."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from support.aside import Aside
from support.ledger import until
from support.starting_line import Start

PROCESSES, EACH = 4, 50
pytestmark = pytest.mark.parametrize("url", ["sqlite"], indirect=True)


def test_no_lock_error_surfaces_and_nothing_is_lost(start: Start, tmp_path: Path) -> None:
    start.line_up(*[{"do": "many", "first": n * EACH, "count": EACH, "threads": 3} for n in range(PROCESSES)])
    reader = sqlite3.connect(start.db, isolation_level=None)
    reader.execute("BEGIN")
    seen = reader.execute("SELECT COUNT(*) FROM ax_task").fetchone()[0]
    over = threading.Event()

    def back_up() -> int:
        copies = 0
        while not over.is_set():
            with sqlite3.connect(start.db) as source, sqlite3.connect(tmp_path / "copy.db") as target:
                source.backup(target, pages=20, sleep=0.002)
            copies += 1
        return copies

    start.go()
    backing_up = Aside(back_up)
    rows = start.told()
    over.set()
    start.over()
    assert [row for row in rows if "error" in row] == []
    assert start.happened() == list(range(PROCESSES * EACH))
    assert (
        reader.execute("SELECT COUNT(*) FROM ax_task").fetchone()[0] == seen
    )  # its snapshot stood all the while
    reader.execute("ROLLBACK")
    reader.close()
    assert backing_up.result() > 0
    with start.ax() as ax:
        tasks = ax.tasks(limit=1000).tasks
        assert sorted(task.payload["n"] for task in tasks) == list(range(PROCESSES * EACH))
        assert {task.state for task in tasks} == {"SUCCESS"}
        assert [ax.verify(task.id) for task in tasks] == [None] * len(tasks)
    check = sqlite3.connect(start.db)
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_the_log_is_bounded_however_long_a_process_writes(start: Start) -> None:
    """A writer that never pauses leaves no moment in which all is written back; it is made to wait for one."""
    log = Path(f"{start.db}-wal")
    with start.ax() as ax:
        sizes = []
        for n in range(1200):
            ax.call("look", {"n": n})
            if n % 50 == 49:
                sizes.append(log.stat().st_size)
        assert max(sizes) < 24 * 2**20, sizes
        assert max(sizes[12:]) <= max(sizes[:12]) + 4 * 2**20, sizes  # it does not grow with what was written
    assert not log.exists()


def test_the_log_shrinks_again_after_a_long_read_has_held_it_up(start: Start) -> None:
    """Nobody waits for the reader: calls go on, the log grows, and is given back once the reader has gone."""
    log = Path(f"{start.db}-wal")
    with start.ax() as ax:
        ax.call("look", {"n": 0})
        reader = sqlite3.connect(start.db, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM ax_task").fetchone()
        for n in range(1200):
            ax.call("look", {"n": n})
        held_up = log.stat().st_size
        assert held_up > 20 * 2**20
        reader.close()
        for n in range(450):
            ax.call("look", {"n": n})
        assert log.stat().st_size < held_up / 2


def test_a_log_that_killed_processes_left_behind_is_written_back(start: Start) -> None:
    log = Path(f"{start.db}-wal")
    with start.ax() as ax:
        ax.call("look", {"n": 0})
    holding = sqlite3.connect(start.db)  # somebody always has it open: no closing process is the last
    holding.execute("PRAGMA wal_autocheckpoint=0")
    holding.execute("CREATE TABLE junk (data BLOB)")
    for _ in range(12):
        holding.execute("INSERT INTO junk VALUES (zeroblob(1000000))")
        holding.commit()
    assert log.stat().st_size > 10 * 2**20
    with start.ax() as ax:
        ax.call("look", {"n": 1})
        lock = ax._core.db.commits._checkpointing
        assert until(lambda: not lock.locked())  # a thread writes it back
        for n in range(3):
            ax.call("look", {"n": n})
        assert log.stat().st_size < 10 * 2**20
    holding.close()
