"""What cannot work is told in one line, and nothing is made or changed by asking."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from ax_core import AX
from ax_core.cli import axd as command
from ax_core.cli import main
from support.axd import Axd

ID = "0123456789ab"
EVERY = [
    ["inbox"], ["tasks"], ["show", ID], ["tree", ID], ["audit", ID], ["tools"], ["confirm", ID], ["reject", ID],
    ["cancel", ID], ["requeue", ID], ["resolve", ID, "--happened"], ["extend", ID, "--tasks", "1"], ["rollback", ID],
    ["pause", "refund"], ["resume", "refund"],
]  # fmt: skip


@pytest.mark.parametrize("words", EVERY, ids=lambda words: words[0])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["people", "programs"])
def test_no_command_makes_a_database_by_looking_for_one(
    words: list[str], form: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "nowhere.db"
    assert main([*words, *form, "--url", f"sqlite:///{path}"]) == 2
    said = capsys.readouterr()
    told = json.loads(said.out)["error"]["message"] if form else said.err
    assert str(path) in told
    assert "--url or AX_URL" in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", EVERY, ids=lambda words: words[0])
def test_a_database_of_somebody_else_stays_as_it_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE theirs (x)")
    raw.close()
    before = path.read_bytes()
    assert main([*words, "--url", f"sqlite:///{path}"]) == 2
    assert "holds no record of AX" in capsys.readouterr().err
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "url, why",
    [
        ("sqlite://", "in memory"),
        ("oracle://host/db", "AX keeps no record in"),
        ("ax.db", "is no database URL"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:/x", "no database URL"),
    ],
)
def test_a_url_that_names_no_record_is_told(url: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inbox", "--url", url]) == 2
    assert why in capsys.readouterr().err


def test_a_file_that_is_no_database_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database at all, only some notes\n" * 50)
    assert main(["inbox", "--url", f"sqlite:///{path}"]) == 2
    said = capsys.readouterr().err
    assert "is not a SQLite database" in said
    assert said.count("\n") == 1


def test_a_record_of_a_newer_version_is_told(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    ax._core.db.write(lambda tx: tx.run("UPDATE ax_version SET version_num = '9999'"))
    for words in (["inbox"], ["confirm", ID]):
        said = axd(*words)
        assert (said.code, "upgrade the package" in said.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense"],
        ["show"],
        ["tasks", "--limit", "many"],
        ["tasks", "--limit", "0"],
        ["inbox", "--nonsense"],
    ],
)
def test_wrong_usage_is_one_line_and_the_code_2(axd: Axd, ax: AX, words: list[str]) -> None:
    ax.call("search", {"text": "x"})
    said = axd(*words)
    assert said.code == 2
    assert said.out == ""
    assert said.err.startswith("axd: ")
    assert said.err.count("\n") == 1


def test_a_state_or_a_time_that_is_none_is_told_with_those_that_are(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    assert "QUEUED, WAITING, CONFIRMING" in axd("tasks", "--state", "broken").err
    assert "30m, 2h, 7d" in axd("tasks", "--since", "yesterday").err


def test_options_may_stand_before_the_command(axd: Axd, ax: AX, capsys: pytest.CaptureFixture[str]) -> None:
    ax.call("search", {"text": "x"})
    assert main(["--url", axd.url, "--json", "tasks", "--limit", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tasks"]) == 1
    assert main([f"--url={axd.url}", "--ns", "acme", "inbox"]) == 0


def test_a_fault_of_the_command_itself_is_one_line_too(
    axd: Axd, ax: AX, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(command, "made", broken)
    said = axd("inbox")
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "ZeroDivisionError: oops; this is a fault of axd" in said.err
    monkeypatch.setenv("AXD_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        axd("inbox")
