"""The demo's promises: the known faults of a bare agent, and what AX makes of the same conversations."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from importlib import util
from pathlib import Path

import pytest

pytest.importorskip("langchain")
pytest.importorskip("langgraph.checkpoint.sqlite")

import ax_adapters.demo as demo
from ax_adapters.demo.promises import judge
from ax_adapters.demo.report import Report
from ax_adapters.demo.scenarios import BY_NAME, SCENARIOS
from ax_adapters.demo.story import tell

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo"), pytest.mark.timeout(180)]
each_scenario = pytest.mark.parametrize("name", list(BY_NAME))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    return tell(tmp_path_factory.mktemp("story"), list(SCENARIOS))


@each_scenario
def test_the_bare_agent_falls_into_the_trap(report: Report, name: str) -> None:
    seen = report.bare[name]
    assert seen.count >= BY_NAME[name].bare_effects - (1 if name == "endless" else 0)
    assert seen.before_approval is None
    assert seen.killed is (BY_NAME[name].kill is not None)


@each_scenario
def test_the_wrapped_agent_keeps_the_promise(report: Report, name: str) -> None:
    [verdict] = [each for each in report.verdicts if each.scenario == name]
    assert verdict.kept, verdict.faults


def test_the_bare_refund_without_a_known_amount_pays_everything(report: Report) -> None:
    details = [effect["detail"] for effect in report.bare["hallucinated"].effects]
    assert details == [{"amount": 129.0}]


def test_the_model_is_told_what_is_wrong_with_its_arguments(report: Report) -> None:
    told = [call["told"] for call in report.wrapped["hallucinated"].calls]
    assert "amout" in told[0]
    assert "amount" in told[0]
    assert "amount" in told[1]


def test_both_calls_of_a_doubled_refund_get_its_result(report: Report) -> None:
    told = [call["told"] for call in report.wrapped["doubled"].calls if call["tool"] == "refund"]
    assert len(told) == 2
    assert all("refund" in each for each in told)


def test_a_killed_call_that_had_ended_is_answered_from_the_record(report: Report) -> None:
    [refund] = [task for task in report.wrapped["killed_after"].tasks if task["tool"] == "refund"]
    assert refund["state"] == "SUCCESS"
    assert refund["replays"] >= 1


def test_a_broken_promise_is_seen(report: Report) -> None:
    twice = replace(report.wrapped["doubled"], count=2)
    assert not judge(BY_NAME["doubled"], twice).kept
    early = replace(report.wrapped["approval"], before_approval=1)
    assert not judge(BY_NAME["approval"], early).kept
    unknown = replace(report.wrapped["killed_during"], tasks=[])
    assert not judge(BY_NAME["killed_during"], unknown).kept


def test_the_command_prints_data_and_its_exit_code_is_the_verdict(tmp_path: Path) -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "ax_adapters.demo",
            "--json",
            "--dir",
            str(tmp_path / "d"),
            "--only",
            "doubled",
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = json.loads(ran.stdout)
    assert (ran.returncode, found["kept"]) == (0, True), ran.stderr
    assert found["wrapped"]["doubled"]["count"] == 1
    assert found["bare"]["doubled"]["count"] == 2


def test_without_langchain_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = util.find_spec
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name == "langchain" else there(name))
    assert demo.main([]) == 2
    assert "ax-adapters[demo]" in capsys.readouterr().err
