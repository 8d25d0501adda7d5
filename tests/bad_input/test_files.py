"""Database files that cannot be used: each a typed error that names the file and says what to do, and heals."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ax_core import AX, StoreError
from ax_core.store import dialects
from support import script
from support.fresh import fresh


def opened(path: Path) -> AX:
    ax = AX(f"sqlite:///{path}")
    ax.register(lambda: 1, name="tick")
    return ax


def refused(ax: AX, says: str) -> None:
    """Through every door, and again: an error does not wear off, and is never half open."""
    for _ in range(2):
        with pytest.raises(StoreError, match=says):
            ax.call("tick")
        with pytest.raises(StoreError, match=says):
            asyncio.run(ax.acall("tick"))
        with pytest.raises(StoreError, match=says):
            ax.tasks()


def test_a_missing_folder(tmp_path: Path) -> None:
    ax = opened(tmp_path / "nowhere" / "ax.db")
    refused(ax, r"nowhere/ax\.db cannot be opened: check that its folder exists")
    (tmp_path / "nowhere").mkdir()
    assert ax.call("tick") == 1  # the same AX works once it can
    ax.close()


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    refused(opened(tmp_path), r"cannot be opened: check that its folder exists")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary, " * 1000)
    refused(opened(path), r"notes\.txt is not a SQLite database: point AX_URL at another file")
    assert path.read_text() == "Dear diary, " * 1000


def test_a_database_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with opened(path) as ax:
        for _ in range(20):
            ax.call("tick")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    refused(opened(path), r"is damaged: restore it from a backup|refused: ")
    path.write_bytes(whole)
    with opened(path) as ax:
        assert len(ax.tasks().tasks) == 20


def test_a_file_that_somebody_else_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is waited for, then told; nothing was done, and it works as soon as the other has ended."""
    path = tmp_path / "ax.db"
    ran: list[int] = []
    monkeypatch.setattr(dialects, "BUSY_SECONDS", 0.2)
    with fresh(path=path) as ax:
        ax.register(lambda: ran.append(1), name="tick")
        ax.call("tick")
        holding = sqlite3.connect(path, isolation_level=None)
        holding.execute("BEGIN IMMEDIATE")
        for _ in range(2):
            with pytest.raises(
                StoreError, match=r"stayed locked for .* s: another process holds a write transaction"
            ):
                ax.call("tick")
            with pytest.raises(StoreError, match="stayed locked"):
                asyncio.run(ax.acall("tick"))
        assert len(ax.tasks().tasks) == 1  # reading works all the while
        assert ran == [1]
        holding.execute("ROLLBACK")
        holding.close()
        ax.call("tick")
        assert ran == [1, 1]
        assert len(ax.tasks().tasks) == 2


def test_a_file_that_somebody_holds_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "BUSY_SECONDS", 0.2)
    path = tmp_path / "ax.db"
    holding = sqlite3.connect(path, isolation_level=None)
    holding.execute("BEGIN EXCLUSIVE")
    ax = opened(path)
    refused(ax, "stayed locked")
    holding.execute("ROLLBACK")
    holding.close()
    assert ax.call("tick") == 1
    ax.close()


READ_ONLY = """
import os, sys
from ax_core import AX, StoreError
path = sys.argv[1]
with AX("sqlite://") as warm:  # whoever this becomes may not even read the interpreter's own files
    warm.register(lambda: 1, name="tick")
    warm.call("tick")
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
ax = AX(f"sqlite:///{path}")
ran = []
ax.register(lambda: ran.append(1), name="tick")
for _ in range(2):
    try:
        ax.call("tick")
    except StoreError as error:
        print(error)
    else:
        sys.exit("it was called")
assert ran == []
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that everybody may enter, and only its owner may write."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("existing", [True, False], ids=["an existing file", "a fresh file"])
def test_a_file_or_folder_that_is_read_only(shared: Path, existing: bool) -> None:
    """For another user, who may read and not write."""
    path = shared / "ax.db"
    if existing:
        with opened(path) as ax:
            ax.call("tick")
        path.chmod(0o444)
        before = path.read_bytes()
    shared.chmod(0o555)
    said = script.run(READ_ONLY, shared, path).splitlines()
    assert len(said) == 2
    for line in said:
        assert (
            "is read-only: give this process write permission" in line
            or "cannot be opened: check that" in line
        )
        assert str(path) in line
    if existing:
        assert path.read_bytes() == before
    else:
        assert not path.exists()


def test_a_file_that_vanishes_under_a_running_process(tmp_path: Path) -> None:
    """What is open stays open; a process that comes later begins with an empty record, and is not told otherwise."""
    path = tmp_path / "ax.db"
    with opened(path) as ax:
        ax.call("tick")
        os.unlink(path)
        assert ax.call("tick") == 1
        assert len(ax.tasks().tasks) >= 1
