"""Killed with the graph's checkpoint behind the world: the resumed agent knows what was done."""

from pathlib import Path

import pytest

from support.resuming import Life

pytestmark = pytest.mark.xdist_group("resuming")

PAY = {"tools": ["pay"], "script": [[["pay", {"n": 1}, "p"]], "done"]}


@pytest.mark.parametrize(
    ("policy", "mode"),
    [("undeclared", "sync"), ("undeclared", "async"), ("unsafe", "async"), ("read", "sync")],
)
def test_an_effect_is_not_repeated_when_the_checkpoint_was_lost(
    policy: str, mode: str, tmp_path: Path
) -> None:
    """SIGKILL after AX's record and before LangGraph's: on resume the stored result answers, and nothing acts."""
    declared = {} if policy == "undeclared" else {"policies": {"pay": policy}}
    life = Life(tmp_path, **PAY, **declared, is_async=mode == "async")
    assert life.run(kill_in="record.after_commit") is None
    assert life.run(start=None)["told"] == ["pay 1 done"]
    assert life.effects == ["pay:1"]


@pytest.mark.parametrize(
    ("policy", "times"), [("unsafe", 1), ("undeclared", 1), ("idempotent", 2), ("read", 2)]
)
def test_an_effect_without_a_record_is_in_doubt_or_harmless(policy: str, times: int, tmp_path: Path) -> None:
    """SIGKILL right after the effect: what may not be repeated is not, and the model is told; the rest runs again."""
    life = Life(tmp_path, **PAY, policies={"pay": policy})
    assert life.run(kill_in="pay.after") is None
    (told,) = life.run(start=None)["told"]
    assert len(life.effects) == times
    assert ("UNKNOWN OUTCOME" in told) == (times == 1)
    assert (told == "pay 1 done") == (times == 2)


def test_a_repeat_carries_the_same_key(tmp_path: Path) -> None:
    """A KEYED tool that was killed after its effect runs again with the key its downstream has seen."""
    life = Life(tmp_path, **PAY, policies={"pay": "keyed"}, keys=True)
    assert life.run(kill_in="pay.after") is None
    assert life.run(start=None)["told"] == ["pay 1 done"]
    first, second = life.effects
    assert first == second != "pay:None"


def test_a_read_heavy_agent_goes_on_by_itself(tmp_path: Path) -> None:
    """Undeclared tools, killed in the middle of a search: the agent is told in a sentence, and finishes its turn."""
    script = [[["look", {"n": 1}]], [["search", {"n": 2}]], [["look", {"n": 3}]], "the answer"]
    life = Life(tmp_path, tools=["look", "search"], script=script)
    assert life.run(kill_in="search.before") is None
    end = life.run(start=None)
    assert end["last"] == "the answer"
    assert [told[:15] for told in end["told"]] == ["look 1 done", "UNKNOWN OUTCOME", "look 3 done"]
    assert life.effects == ["look:1", "look:3"]


@pytest.mark.parametrize("at", range(3, 33, 3))
def test_killed_anywhere_no_effect_happens_twice(at: int, tmp_path: Path) -> None:
    """Ten moments of a turn with three payments: afterwards each was made at most once, and none was passed over."""
    script = [[["pay", {"n": 1}]], [["pay", {"n": 2}]], [["pay", {"n": 3}]], "done"]
    life = Life(tmp_path, tools=["pay"], script=script, policies={"pay": "unsafe"}, is_async=at % 2 == 0)
    killed = life.run(kill_at=at) is None
    end = life.run(start=None) if killed else life.run()
    assert end["last"] == "done"
    assert len(end["told"]) == 3
    assert sorted(set(life.effects)) == sorted(life.effects)
    for n, told in enumerate(end["told"], 1):
        done = f"pay:{n}" in life.effects
        assert told == f"pay {n} done" if done and "UNKNOWN" not in told else "UNKNOWN OUTCOME" in told
