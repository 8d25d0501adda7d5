"""Settings come from arguments, then the environment, then defaults; a wrong one is an error at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ax_core import AX, PolicyError
from ax_core.settings import Settings


def test_an_argument_beats_the_environment_and_that_beats_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AX_LEASE", "60")
    monkeypatch.setenv("AX_HEARTBEAT", "2.5")
    monkeypatch.setenv("AX_RESULT_CAP", "5000")
    made = Settings.of({"lease": 90})
    assert (made.lease, made.heartbeat, made.result_cap, made.wait) == (90, 2.5, 5000, 600.0)


def test_they_reach_what_they_are_for(tmp_path: Path) -> None:
    with AX(f"sqlite:///{tmp_path}/ax.db", result_cap=2000, wait=7) as ax:
        ax.register(lambda: "x" * 4000, name="long")
        assert len(ax.call("long", request_id="r")) == 4000
        task = ax.find_request("r")
        assert task is not None
        assert task.result != "x" * 4000
        assert ax._core.settings.wait == 7


def test_the_url_comes_from_the_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AX_URL", f"sqlite:///{tmp_path}/elsewhere.db")
    with AX() as ax:
        ax.tasks()
    assert [path.name for path in tmp_path.iterdir()] == ["elsewhere.db"]


@pytest.mark.parametrize(
    "given, says",
    [
        ({"leese": 3}, "no setting named 'leese'; there are: lease, heartbeat"),
        ({"lease": 0}, "lease=0 must be a number above zero"),
        ({"lease": -1}, "lease=-1 must be a number above zero"),
        ({"lease": "30"}, "lease='30' must be a number"),
        ({"lease": None}, "lease=None must be a number"),
        ({"wait": True}, "wait=True must be a number"),
        ({"wait": float("nan")}, "wait=nan must be a number"),
        ({"lease": float("inf")}, "lease=inf must be a number"),
        ({"result_cap": 1000}, "result_cap=1000 must be at least 1024"),
        ({"lease": 10}, "must be at least three heartbeats"),
        ({"heartbeat": 20}, "must be at least three heartbeats"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_refused_when_the_ax_is_made(given: dict[str, object], says: str) -> None:
    with pytest.raises(PolicyError, match=says):
        AX("sqlite://", **given)


@pytest.mark.parametrize(
    "variable, value, says",
    [
        ("AX_LEASE", "thirty", "AX_LEASE='thirty' is not a number"),
        ("AX_LEASE", "", "AX_LEASE='' is not a number"),
        ("AX_LEASE", "nan", "lease=nan must be a number"),
        ("AX_RESULT_CAP", "1.5", "AX_RESULT_CAP='1.5' is not a number"),
        ("AX_HEARTBEAT", "-5", "heartbeat=-5.0 must be a number above zero"),
    ],
)
def test_a_wrong_variable_is_refused_and_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(PolicyError, match=says):
        AX("sqlite://")
