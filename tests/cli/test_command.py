"""The command as a process: help, pipes, and where it looks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX
from ax_core.cli import demo, main
from ax_core.cli.axd import GROUPS
from ax_core.states import WAY_OUT
from support.axd import Axd, typed_elsewhere
from support.command import COMMAND


def test_help_names_every_command_and_every_state_with_its_way_out(tmp_path: Path) -> None:
    said = typed_elsewhere("--help", cwd=tmp_path, COLUMNS="200")
    assert (said.code, said.err) == (0, "")
    for command in [*GROUPS["Look"], *GROUPS["Decide"], demo.demo]:
        assert f" {command.__name__} " in said.out
    for state, way_out in WAY_OUT.items():
        assert state in said.out
        assert way_out in said.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [c.__name__ for group in GROUPS.values() for c in group])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: axd {command}" in out
    assert "COMPENSATED" not in out


def test_a_command_without_words_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "Usage: axd COMMAND" in capsys.readouterr().out
    assert main(["--version"]) == 0


def test_it_looks_where_the_environment_says_else_in_the_working_folder(tmp_path: Path) -> None:
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        ax.register(lambda: None, name="here", policy="read")
        ax.call("here")
    (tmp_path / "else").mkdir()
    assert "here" in typed_elsewhere("tasks", cwd=tmp_path).out
    there = typed_elsewhere("tasks", cwd=tmp_path / "else", AX_URL=f"sqlite:///{tmp_path}/ax.db")
    assert "here" in there.out
    nothing = typed_elsewhere("tasks", cwd=tmp_path / "else")
    assert (nothing.code, nothing.out) == (2, "")
    assert f"{tmp_path}/else/ax.db (the default)" in nothing.err
    assert list((tmp_path / "else").iterdir()) == []


def test_what_a_killed_process_left_is_in_the_inbox_at_once(axd: Axd, tmp_path: Path) -> None:
    code = f"""if True:
        import os, signal
        from ax_core import AX
        ax = AX({axd.url!r})
        ax.register(lambda: os.kill(os.getpid(), signal.SIGKILL), name="die", policy="unsafe")
        ax.call("die")
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    subprocess.run([sys.executable, "-c", code], env=env, check=False, timeout=60)
    said = typed_elsewhere("inbox", cwd=tmp_path)
    assert said.code == 0
    assert "outcome_unknown" in said.out
    assert said.err == ""


def test_programs_pay_for_no_tables(tmp_path: Path, axd: Axd, record: Any) -> None:
    code = (
        "import sys; from ax_core.cli import main; main(['inbox', '--json']); "
        "sys.exit('rich.table' in sys.modules or 'rich.console' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "AX_URL": axd.url}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_reader_that_has_read_enough_breaks_nothing(tmp_path: Path, axd: Axd, record: Any) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "AX_URL": axd.url}
    piped = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "tasks", "--json"],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert piped.stdout is not None
    assert piped.stderr is not None
    piped.stdout.close()
    errors = piped.stderr.read()
    assert (piped.wait(60), errors) == (0, b"")


def test_the_demo_gets_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[list[str]] = []

    class Demo:
        @staticmethod
        def main(argv: list[str]) -> int:
            heard.append(argv)
            return 7

    monkeypatch.setattr(demo.importlib, "import_module", lambda name: Demo)
    assert main(["demo", "--help", "--fast", "-x", "refund"]) == 7
    assert heard == [["--help", "--fast", "-x", "refund"]]


def test_a_demo_that_is_not_installed_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo.importlib.util, "find_spec", lambda name: None)
    assert main(["demo"]) == 2
    assert "pip install 'ax-adapters[demo]'" in capsys.readouterr().err
