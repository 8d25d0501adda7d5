"""The disk is full: nothing is claimed that was not recorded, and an end that cannot be recorded is told as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, OutcomeUnknown, StoreError
from ax_core.store.dialects import Dialect
from support import script
from support.fresh import beat, fresh, tick
from support.skew import Skew

LEASE = 30.0
FORMS = ("here", "limited", "soon")


class Disk:
    """Room for the pages that are there, or for as many as anybody wants."""

    def __init__(self) -> None:
        self.connections: list[Any] = []
        self.room = True

    def fill(self) -> None:
        self.room = False
        for raw in self.connections:
            self.set(raw)

    def free(self) -> None:
        self.room = True
        for raw in self.connections:
            self.set(raw)

    def set(self, raw: Any) -> None:
        try:
            pages = raw.execute("PRAGMA page_count").fetchone()[0]
            raw.execute(f"PRAGMA max_page_count={10_000_000 if self.room else pages}")
        except Exception:  # closed
            pass


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    prepare = Dialect.prepare

    def prepared(self: Dialect, raw: Any) -> None:
        prepare(self, raw)
        made.connections.append(raw)
        made.set(raw)

    monkeypatch.setattr(Dialect, "prepare", prepared)
    return made


@pytest.fixture
def clock() -> Skew:
    return Skew()


@pytest.fixture
def ax(tmp_path: Path, disk: Disk, clock: Skew) -> Iterator[AX]:
    with fresh(clock, tmp_path / "ax.db") as ax:
        yield ax


def register(ax: AX, form: str, effect: str, act: Callable[[], Any]) -> None:
    async def soon() -> Any:
        await asyncio.sleep(0)
        return act()

    limit = None if form == "here" else 20
    ax.register(soon if form == "soon" else act, name="act", policy={"effect": effect, "timeout": limit})


def call(ax: AX, form: str, request: str) -> Any:
    return (
        asyncio.run(ax.acall("act", request_id=request))
        if form == "soon"
        else ax.call("act", request_id=request)
    )


@pytest.mark.parametrize("form", FORMS)
def test_what_cannot_be_recorded_is_not_done(ax: AX, disk: Disk, form: str) -> None:
    ran: list[int] = []
    register(ax, form, "unsafe", lambda: ran.append(1))
    call(ax, form, "warm")
    disk.fill()
    filled = 0
    with pytest.raises(
        StoreError, match=r"has no disk space left: free some; nothing of this operation is stored"
    ):
        for filled in range(200):  # until the pages that are there are full, too
            call(ax, form, f"r{filled}")
    assert len(ran) == 1 + filled
    disk.free()
    call(ax, form, f"r{filled}")
    assert len(ran) == 2 + filled
    assert {task.state for task in ax.tasks(limit=1000).tasks} == {"SUCCESS"}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("effect", ["unsafe", "undeclared", "read"])
def test_an_end_that_cannot_be_recorded_leaves_an_honest_claim(
    ax: AX, tmp_path: Path, disk: Disk, clock: Skew, form: str, effect: str
) -> None:
    """The caller is told that the tool ran; nothing runs it again; whoever comes later classifies it."""
    ran: list[int] = []

    def act() -> str:
        ran.append(1)
        disk.fill()
        return "x" * 50_000  # more than what is left in the pages that are there

    register(ax, form, effect, act)
    ax.tasks()
    with pytest.raises(StoreError) as told:
        call(ax, form, "r")
    claimed = ax.find_request("r")
    assert claimed is not None
    assert claimed.state == "RUNNING"
    assert told.value.task_id == claimed.id
    assert "(act) ran, but how it ended could not be recorded" in str(told.value)
    assert "no disk space left: free some" in str(told.value)
    assert "was executed" in told.value.for_model
    assert ("Do not repeat it" in told.value.for_model) == (effect != "read")
    disk.free()
    clock.ahead(LEASE + 1)
    with fresh(clock, tmp_path / "ax.db") as later:
        beat(later)
        state = later.get(claimed.id).state
        assert state == ("QUEUED" if effect == "read" else "QUARANTINE")
        assert ran == [1]
        if effect != "read":
            register(later, form, effect, act)
            with pytest.raises(OutcomeUnknown):
                call(later, form, "r")
            assert later.resolve(claimed.id, happened=True, result="done", by="ops").done
            assert call(later, form, "r") == "done"
    assert ran == [1]


@pytest.mark.parametrize("form", FORMS)
def test_an_end_that_could_not_be_recorded_is_recorded_once_there_is_room(
    ax: AX, disk: Disk, form: str
) -> None:
    """The process that saw it keeps it; nothing is in doubt, and nothing is run again."""
    ran: list[int] = []

    def act() -> str:
        ran.append(1)
        disk.fill()
        return "x" * 50_000

    register(ax, form, "unsafe", act)
    ax.tasks()
    with pytest.raises(StoreError):
        call(ax, form, "r")
    tick(ax)
    disk.free()
    tick(ax)
    assert call(ax, form, "r") == "x" * 50_000
    assert ran == [1]


def test_a_transaction_that_cannot_be_recorded_leaves_nothing(ax: AX, disk: Disk) -> None:
    """Its writes and AX's record are one commit: both fail, and it may be called again."""
    from sqlalchemy import text

    from ax_core import current

    ax._core.db.write(lambda tx: tx.run("CREATE TABLE business (data TEXT)"))
    full = [True]

    def book() -> str:
        if full[0]:
            disk.fill()
        current().connection.execute(text("INSERT INTO business VALUES (:data)"), {"data": "x" * 100_000})
        return "booked"

    ax.register(book, name="book", policy={"effect": "transactional"})
    with pytest.raises(Exception, match="full|disk space"):
        ax.call("book", request_id="r")
    disk.free()
    full[0] = False
    assert ax._core.db.read(lambda tx: tx.one("SELECT COUNT(*) FROM business")) == (0,)
    clock: Any = ax._core.clock
    clock.ahead(LEASE + 1)
    beat(ax)
    assert ax.call("book", request_id="r") == "booked"
    assert ax._core.db.read(lambda tx: tx.one("SELECT COUNT(*) FROM business")) == (1,)


def test_a_limit_of_the_operating_system_is_told_as_well(tmp_path: Path) -> None:
    """Not SQLite's own limit but the kernel's, which refuses to let the files grow: the record stays whole."""
    said = script.run(
        """
        import resource, sys
        from ax_core import AX, StoreError
        ax = AX(f"sqlite:///{sys.argv[1]}/ax.db")
        ran = []
        ax.register(lambda n: ran.append(n), name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
        ax.call("act", {"n": -1})
        size = 300_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        done = 0
        try:
            for done in range(500):
                ax.call("act", {"n": done})
        except StoreError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        ax.call("act", {"n": 1000})
        open(f"{sys.argv[1]}/ran", "w").write(repr(ran))
        """,
        tmp_path,
        tmp_path,
    )
    assert "I/O error" in said or "no disk space" in said
    ran = eval((tmp_path / "ran").read_text())
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        tasks = ax.tasks(limit=1000).tasks
        recorded = {task.payload["n"]: task.state for task in tasks}
        assert set(ran) <= set(recorded)  # nothing acted that is not on record
        assert [n for n, state in recorded.items() if state == "SUCCESS" and n not in ran] == []
        assert set(recorded.values()) <= {"SUCCESS", "QUARANTINE"}
        assert [ax.verify(task.id) for task in tasks] == [None] * len(tasks)
