"""The doctor: one line a finding, each with what to do, and nothing changed by looking."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError
from ax_core.clock import SystemClock
from ax_core.testing import FakeClock
from support.axd import Axd


def findings(axd: Axd, *words: str) -> dict[str, tuple[str, str, str]]:
    said = axd("doctor", "--json", *words)
    found = {c["name"]: (c["status"], c["message"], c["advice"]) for c in said.json["checks"]}
    assert said.code == (0 if said.json["sound"] else 1)
    assert said.json["sound"] == all(status != "fail" for status, _, _ in found.values())
    # What is not in order says what to do, and what is says nothing more.
    assert all(bool(advice) == (status != "ok") for status, _, advice in found.values() if status != "fail")
    return found


def test_a_record_in_good_health_is_all_ok(axd: Axd, ax: AX) -> None:
    ax._core.registry._tools.pop("search")
    ax._core._unpublished = [each for each in ax._core._unpublished if each[1].name != "search"]
    ax.call("refund", {"order": "7", "amount": 1})
    found = findings(axd, "--deep")
    assert {status for status, _, _ in found.values()} == {"ok"}, found
    assert found.keys() >= {
        "python",
        "sqlite",
        "file",
        "schema",
        "journal",
        "clock",
        "running",
        "inbox",
        "pages",
        "audit",
    }


def test_looking_changes_nothing(axd: Axd, record: Any, tmp_path: Path) -> None:
    before = (tmp_path / "ax.db").read_bytes(), (tmp_path / "ax.db-wal").read_bytes()
    axd("doctor", "--deep")
    assert ((tmp_path / "ax.db").read_bytes(), (tmp_path / "ax.db-wal").read_bytes()) == before


def test_a_missing_file_fails_and_is_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    axd = Axd(f"sqlite:///{tmp_path}/nowhere.db", capsys)
    said = axd("doctor")
    assert said.code == 1
    assert "fail file" in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_holds_no_record_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes").write_text("only notes\n" * 500)
    assert "fail database" in Axd(f"sqlite:///{tmp_path}/notes", capsys)("doctor").out
    sqlite3.connect(tmp_path / "theirs.db").execute("CREATE TABLE theirs (x)").connection.close()
    assert findings(Axd(f"sqlite:///{tmp_path}/theirs.db", capsys))["schema"][0] == "fail"


def test_what_waits_for_people_is_counted(axd: Axd, record: Any) -> None:
    found = findings(axd)
    assert found["unknown effects"][:2] == ("warn", "2 may or may not have happened")
    assert found["approvals"][:2] == ("warn", "2 wait")
    assert found["dead letters"][:2] == ("warn", "1 wait")
    assert "declare no effect: search" in found["tools"][1]


def test_attempts_of_a_process_that_was_killed_are_seen_and_left_alone(axd: Axd, ax: AX) -> None:
    ax.call("refund", {"order": "7", "amount": 1})
    code = f"""
        import os, signal
        from ax_core import AX
        ax = AX({axd.url!r})
        ax.register(lambda: os.kill(os.getpid(), signal.SIGKILL), name="die", policy="unsafe")
        ax.call("die")
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], env=env, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    for _ in range(2):
        status, message, advice = findings(axd)["left behind"]
        assert (status, "die" in message, "axd inbox" in advice) == ("warn", True, True)
    assert [task["tool"] for task in axd.json("inbox")["tasks"]] == ["die"]
    assert "left behind" not in findings(axd)
    assert findings(axd)["unknown effects"][0] == "warn"


def test_attempts_that_are_not_renewed_are_seen(axd: Axd, ax: AX) -> None:
    def slow() -> dict[str, tuple[str, str, str]]:
        ax._core.db.write(lambda tx: tx.run("UPDATE ax_task SET lease_until = 1"))
        return findings(axd)

    seen: list[Any] = []
    ax.register(lambda: seen.append(slow()), name="slow", policy="read")
    ax.call("slow")
    assert seen[0]["leases"][0] == "warn"
    assert seen[0]["running"][1] == "1 attempts, 0 of them held by somebody"


def test_a_paused_tool_is_named(axd: Axd, record: Any, ax: AX) -> None:
    ax.pause("mail", by="ann")
    assert findings(axd)["paused"][1] == "mail (by ann)"


@pytest.mark.parametrize("ahead, status", [(30, "warn"), (3600, "fail")])
def test_tasks_from_the_future_betray_a_clock(axd: Axd, ahead: float, status: str) -> None:
    from ax_core.view import certain

    start = certain(SystemClock().now())
    clock = FakeClock(start)
    clock.advance(ahead)
    with AX(axd.url, clock=clock) as later:
        later.register(lambda: None, name="noop", policy="read")
        later.call("noop")
    assert findings(axd)["clock"][0] == status


def test_a_newer_schema_fails_and_an_odd_journal_is_told(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    ax.close()
    path = axd.url.removeprefix("sqlite:///")
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA journal_mode=DELETE")
        raw.execute("UPDATE ax_version SET version_num = '9999'")
    raw.close()
    found = findings(axd)
    assert found["schema"][0] == "fail"
    assert found["journal"][:2] == ("warn", "delete")


def test_depths_find_a_trail_that_was_altered(axd: Axd, record: Any, tmp_path: Path) -> None:
    assert findings(axd, "--deep")["audit"][0] == "ok"
    with sqlite3.connect(tmp_path / "ax.db") as raw:
        raw.execute("UPDATE ax_audit SET detail = '{}' WHERE task_id = ?", (record.maybe,))
    raw.close()
    assert findings(axd)["tools"]
    status, message, _ = findings(axd, "--deep")["audit"]
    assert status == "fail"
    assert record.maybe in message


def test_depths_find_a_damaged_page(axd: Axd, ax: AX, tmp_path: Path) -> None:
    for number in range(200):
        with suppress(AXError):
            ax.call("search", {"text": f"{number}" * 20})
    ax.close()
    with open(tmp_path / "ax.db", "r+b") as file:
        file.seek(4096 * 30)
        file.write(b"\xff" * 4096)
    found = findings(axd, "--deep")
    assert "fail" in {found.get("pages", ("",))[0], found.get("database", ("",))[0]}


def test_a_file_in_a_folder_that_may_not_be_written_can_still_be_looked_at(
    axd: Axd, ax: AX, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ax_core.store import inspect

    ax.call("search", {"text": "x"})
    ax.close()
    really = inspect._connected

    def refused(path: str, mode: str) -> Any:
        if mode == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return really(path, mode)

    monkeypatch.setattr(inspect, "_connected", refused)
    assert findings(axd)["schema"][0] == "ok"
