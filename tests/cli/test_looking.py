"""Reading the record: what people see, and what programs can rely on."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, AXError, State
from ax_core.states import WAY_OUT
from support.axd import Axd

TASK_KEYS = {
    "ax_task_id", "ax_run_id", "ax_parent_task_id", "session", "tool", "tool_version", "effect", "origin", "state",
    "reason", "payload", "result", "error", "notes", "request_id", "idempotency_key", "attempts", "max_attempts",
    "interruptions", "maybe_applied", "cancel_requested", "approved", "overdue", "replays", "created_at", "started_at",
    "ended_at", "due_at", "address", "history", "approval",
}  # fmt: skip


def test_the_inbox_shows_unknown_effects_first_then_approvals_then_the_rest(axd: Axd, record: Any) -> None:
    found = axd.json("inbox")["tasks"]
    assert [task["waits_for"] for task in found] == ["unknown"] * 2 + ["approval"] * 2 + ["dead", "arguments"]
    assert {found[0]["ax_task_id"], found[1]["ax_task_id"]} == {record.unknown, record.maybe}
    said = axd("inbox")
    assert said.code == 0
    places = [
        said.out.index(word) for word in ("Unknown effects", "Waiting for approval", "Given up", "do not fit")
    ]
    assert places == sorted(places)
    assert "the reply was lost" in said.out


def test_every_command_that_the_inbox_tells_to_type_works_and_moves_the_task(axd: Axd, record: Any) -> None:
    for _ in range(10):
        found = axd.json("inbox")["tasks"]
        if not found:
            break
        task = found[0]
        said = axd.typed(task["next"][0], JSON='{"sent": true}', TEXT="no")
        assert said.code == 0, (task["next"], said)
        assert task["ax_task_id"] not in [other["ax_task_id"] for other in axd.json("inbox")["tasks"]]
    assert "nothing waits for a person" in axd("inbox").out


def test_each_further_command_of_the_inbox_works_too(axd: Axd, record: Any, ax: AX) -> None:
    for task in axd.json("inbox")["tasks"]:
        said = axd.typed(task["next"][-1], JSON="1", TEXT="no")
        assert said.code == 0, (task["next"], said)


def test_a_task_has_the_same_keys_wherever_it_is_shown(axd: Axd, record: Any) -> None:
    shown = axd.json("show", record.unknown)
    assert set(shown) == TASK_KEYS | {"way_out", "next"}
    assert all(set(task) == TASK_KEYS for task in axd.json("tasks")["tasks"])
    assert all(set(task) == TASK_KEYS for task in axd.json("tree", record.run)["tasks"])
    assert all(set(task) == TASK_KEYS | {"waits_for", "next"} for task in axd.json("inbox")["tasks"])
    assert datetime.fromisoformat(shown["created_at"]).tzinfo is not None
    assert shown["way_out"] == WAY_OUT[State.QUARANTINE]
    assert set(shown["history"][0]) >= {"number", "outcome", "owner", "late_outcome", "closed"}


@pytest.mark.parametrize("number", [1234567890123456789, 9007199254740993, -(10**40)])
def test_a_long_number_is_stored_and_shown_to_the_last_digit(axd: Axd, ax: AX, number: int) -> None:
    """An id that went through a float would be somebody else's."""
    seen: list[int] = []

    @ax.tool
    def fetch(message: int) -> int:
        seen.append(message)
        return message

    assert [fetch(message=number), ax.call("fetch", {"message": str(number)})] == [number] * 2
    assert seen == [number] * 2
    for task in ax.tasks(tool="fetch").tasks:
        shown = axd.json("show", task.id)
        assert (shown["payload"], shown["result"]) == ({"message": number}, number)
        assert str(number) in axd("show", task.id).out


def test_what_is_asked_for_tells_until_when(axd: Axd, record: Any) -> None:
    asked = axd.json("show", record.asked)["approval"]
    assert asked["decision"] is None
    assert datetime.fromisoformat(asked["expires_at"]) > datetime.now(UTC)
    assert "open until" in axd("show", record.asked).out


@pytest.mark.parametrize(
    "words, tools",
    [
        (["--state", "success"], {"refund", "search"}),
        (["--state", "DEAD", "--state", "failed"], {"poisonous", "mail"}),
        (["--reason", "outcome_unknown"], {"charge"}),
        (["--tool", "search"], {"search"}),
        (["--session", "nobody"], set()),
        (["--session", "user-42", "--tool", "poisonous"], set()),
        (["--since", "1h", "--tool", "mail"], {"mail"}),
        (["--since", "2999-01-01"], set()),
    ],
)
def test_tasks_are_filtered(axd: Axd, record: Any, words: list[str], tools: set[str]) -> None:
    assert {task["tool"] for task in axd.json("tasks", *words)["tasks"]} == tools
    assert axd("tasks", *words).code == 0


def test_pages_follow_each_other_without_a_gap(axd: Axd, record: Any) -> None:
    whole = [task["ax_task_id"] for task in axd.json("tasks")["tasks"]]
    seen, after = [], []
    while True:
        page = axd.json("tasks", "--limit", "3", *after)
        seen += [task["ax_task_id"] for task in page["tasks"]]
        if page["after"] is None:
            break
        after = ["--after", page["after"]]
    assert seen == whole
    assert "more: --after" in axd("tasks", "--limit", "3").out


def test_a_tree_shows_the_run_with_its_budget_and_its_tasks(axd: Axd, record: Any, ax: AX) -> None:
    tree = axd.json("tree", record.run)
    assert (tree["run"]["ax_run_id"], tree["run"]["intent"], tree["run"]["max_tasks"]) == (
        record.run,
        "refund order 7",
        50,
    )
    out = axd("tree", record.run[-12:]).out
    for word in (record.run, "refund order 7", "of 50 tasks", "charge", "outcome_unknown"):
        assert word in out


def test_runs_are_listed_with_what_they_used_and_filtered(axd: Axd, record: Any, ax: AX) -> None:
    with ax.run(intent="outer", session="user-7"), ax.run(intent="inner"):
        ax.call("search", {"text": "x"})
    listed = axd.json("runs")["runs"]
    assert [run["intent"] for run in listed] == ["inner", "outer", "refund order 7"]
    assert listed[0]["ax_parent_run_id"] == listed[1]["ax_run_id"]
    out = axd("runs").out
    for word in (record.run[-12:], "refund order 7", "of 50 tasks", "user-42", "PAUSED"):
        assert word in out
    assert [run["ax_run_id"] for run in axd.json("runs", "--session", "user-42")["runs"]] == [record.run]
    assert [run["intent"] for run in axd.json("runs", "--state", "done")["runs"]] == ["inner", "outer"]
    assert "no such runs" in axd("runs", "--state", "dead").out
    refused = axd("runs", "--state", "sleeping")
    assert (refused.code, "no state of a run is named SLEEPING" in refused.err) == (2, True)


def test_pages_of_runs_follow_each_other_too(axd: Axd, record: Any, ax: AX) -> None:
    with ax.run(intent="later"):
        pass
    first = axd.json("runs", "--limit", "1")
    assert "more: --after" in axd("runs", "--limit", "1").out
    second = axd.json("runs", "--limit", "1", "--after", first["after"][-12:])
    assert [run["ax_run_id"] for run in second["runs"]] == [record.run]


def test_sub_runs_stand_under_their_run(axd: Axd, ax: AX) -> None:
    with ax.run(intent="outer") as outer, ax.run(intent="inner"):
        ax.call("search", {"text": "x"})
    tree = axd.json("tree", outer.id)
    assert tree["runs"][0]["run"]["intent"] == "inner"
    assert tree["runs"][0]["tasks"][0]["tool"] == "search"
    assert "inner" in axd("tree", outer.id).out


def test_an_audit_says_whether_it_is_whole(axd: Axd, record: Any, tmp_path: Path) -> None:
    said = axd.json("audit", record.maybe)
    assert (said["whole"], said["broken_at"]) == (True, None)
    assert [entry["verb"] for entry in said["entries"]] == ["claim", "raised"]
    assert "the trail is whole" in axd("audit", record.maybe).out
    with sqlite3.connect(tmp_path / "ax.db") as raw:
        raw.execute(
            "UPDATE ax_audit SET actor = 'somebody else' WHERE task_id = ? AND seq = 1", (record.maybe,)
        )
    raw.close()
    said = axd("audit", record.maybe, "--json")
    assert said.code == 1
    assert (said.json["whole"], said.json["broken_at"]) == (False, 1)
    assert "broken at entry 1" in axd("audit", record.maybe).out


def test_an_audit_whose_end_was_cut_off_is_not_whole(axd: Axd, record: Any, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "ax.db") as raw:
        raw.execute("DELETE FROM ax_audit WHERE task_id = ? AND seq = 2", (record.maybe,))
    raw.close()
    said = axd("audit", record.maybe)
    assert said.code == 1
    assert "entries were taken out" in said.out


def test_tools_show_what_was_declared_and_how_long_they_take(axd: Axd, record: Any) -> None:
    tools = {tool["name"]: tool for tool in axd.json("tools")["tools"]}
    assert tools["search"]["effect"] == "undeclared"
    assert tools["refund"]["seconds"].keys() == {"p50", "p95", "p99"}
    assert tools["refund"]["suggested_timeout"] >= 1
    assert tools["mail"]["seconds"] == {}
    out = axd("tools").out
    assert "undeclared tools are taken for UNSAFE" in out
    assert "30 s" in out


def test_states_are_listed_with_their_way_out(axd: Axd, capsys: pytest.CaptureFixture[str]) -> None:
    from ax_core.cli import main

    assert main(["states", "--json"]) == 0
    import json

    listed = {each["state"]: each for each in json.loads(capsys.readouterr().out)["states"]}
    assert {name: each["way_out"] for name, each in listed.items()} == {
        s.value: out for s, out in WAY_OUT.items()
    }
    assert listed["COMPENSATED"]["may_become"] == []
    assert main(["states"]) == 0
    assert all(state in capsys.readouterr().out for state in ("QUARANTINE",))


# -- ids -----------------------------------------------------------------------------------------------------


def test_an_id_may_be_given_by_its_beginning_its_end_or_as_a_table_shows_it(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    id = ax.tasks().tasks[0].id
    for part in (id, id[:20], id[:6], id[-6:], id[-12:], f"…{id[-8:]}", f" {id} "):
        assert axd.json("show", part)["ax_task_id"] == id


def test_an_id_that_fits_several_tasks_is_refused_and_names_them(axd: Axd, record: Any) -> None:
    said = axd("show", record.asked[:8])
    assert said.code == 2
    assert "fits more than one task" in said.err
    assert record.success in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "part, why", [("abc", "at least 6 characters"), ("ffffffffffff", "no task"), ("%%%%%%", "no task")]
)
def test_an_id_that_fits_nothing_is_told(axd: Axd, record: Any, part: str, why: str) -> None:
    said = axd("show", part)
    assert (said.code, why in said.err) == (2, True)


def test_the_id_of_a_run_is_found_also_where_no_run_was_opened(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    id = ax.tasks().tasks[0].run_id
    assert axd.json("tree", id[-12:])["run"]["implicit"] is True


def test_an_exact_id_wins_over_those_that_begin_with_it(axd: Axd, ax: AX) -> None:
    with ax.run(key="a"):
        ax.call("search", {"text": "x"})
    for change in ("UPDATE ax_run SET id = 'run-000'", "UPDATE ax_task SET run_id = 'run-0001'"):
        ax._core.db.write(lambda tx, change=change: tx.run(change))
    assert axd.json("tree", "run-000")["run"]["ax_run_id"] == "run-000"
    assert axd("tree", "run-00").code == 2


def test_another_namespace_sees_nothing_of_this_one(axd: Axd, record: Any, ax: AX) -> None:
    ax.for_namespace("acme").call("search", {"text": "theirs"})
    assert axd.json("inbox", "--ns", "acme")["tasks"] == []
    assert [task["payload"] for task in axd.json("tasks", "--ns", "acme")["tasks"]] == [{"text": "theirs"}]
    said = axd("show", record.unknown, "--ns", "acme")
    assert (said.code, "in namespace 'acme'" in said.err) == (2, True)
    assert axd("cancel", record.asked, "--ns", "acme").code == 2


# -- what the record may hold --------------------------------------------------------------------------------

EVIL = "\x1b[31mred\x1b]0;title\x07\x9b2J\u202egnp\u2028[bold]x[/bold]:smile:\x00"


@pytest.mark.parametrize("verb", ["inbox", "tasks", "show", "tree", "audit", "tools", "doctor"])
def test_nothing_in_the_record_can_order_a_terminal_about(axd: Axd, ax: AX, verb: str) -> None:
    @ax.tool(effect="unsafe", name=f"tool {EVIL}")
    def evil(text: str) -> str:
        raise OSError(EVIL)

    with ax.run(intent=EVIL) as run, pytest.raises(AXError):
        ax.call(f"tool {EVIL}", {"text": EVIL})
    ax.pause(f"tool {EVIL}", by=EVIL)
    task = ax.tasks().tasks[0].id
    if verb == "audit":
        ax.resolve(task, happened=False, by=EVIL)
    words = {"show": [task], "audit": [task], "tree": [run.id]}.get(verb, [])
    said = axd(verb, *words)
    assert said.code == 0
    assert not {char for char in said.out + said.err if char != "\n" and not char.isprintable()}
    if verb not in ("doctor", "tools"):
        assert "[bold]x[/bold]:smile:" in said.out
    said = axd(verb, *words, "--json")
    assert said.out.isascii()
    assert "\x1b" not in said.out


def test_an_error_about_what_was_typed_cannot_either(axd: Axd, record: Any) -> None:
    said = axd("show", "\x1b[31mabcdefgh")
    assert said.code == 2
    assert "\x1b" not in said.err
    assert said.err.startswith("axd: no task \\x1b[31m")


def test_results_that_json_cannot_say_are_told_as_text(axd: Axd, ax: AX) -> None:
    @ax.tool(effect="read")
    def odd() -> dict[str, Any]:
        return {"at": datetime(2026, 1, 1, tzinfo=UTC), "set": {1}, "inf": float("inf"), "obj": object()}

    ax.call("odd")
    shown = axd.json("show", ax.tasks().tasks[0].id)["result"]
    assert "not_kept" in shown or shown["inf"] == "inf"
    assert axd("show", ax.tasks().tasks[0].id).code == 0


def test_arguments_that_are_redacted_are_not_shown(axd: Axd, ax: AX) -> None:
    @ax.tool(effect="read", redact=["card"])
    def pay(card: int, amount: int) -> str:
        return "paid"

    ax.call("pay", {"card": 42424242, "amount": 1})
    with pytest.raises(AXError) as refused:
        ax.call("pay", {"card": "42424242x", "amount": 1})
    assert "42424242" not in str(refused.value)
    for words in (["tasks"], ["inbox"], *(["show", task.id] for task in ax.tasks().tasks)):
        for form in ([], ["--json"]):
            assert "42424242" not in axd(*words, *form).out
