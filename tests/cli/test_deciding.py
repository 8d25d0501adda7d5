"""The operator's verbs, typed: each decides once, and the second is told what was decided and by whom."""

from __future__ import annotations

import getpass
from typing import Any

import pytest

from ax_core import AX, AXError, ConfirmationPending, Rejected, State
from support.axd import Axd


def test_a_confirmed_task_runs_when_its_caller_comes_back_and_not_before(axd: Axd, ax: AX) -> None:
    with pytest.raises(ConfirmationPending) as pending:
        ax.call("refund", {"order": "8", "amount": 500}, request_id="r1")
    id = pending.value.task_id or ""
    said = axd("confirm", id, "--by", "ann")
    assert said.code == 0
    assert "approved by ann" in said.out
    assert ax.get(id).state is State.QUEUED
    assert ax.get(id).attempts == 0
    assert ax.call("refund", {"order": "8", "amount": 500}, request_id="r1") == {"refunded": 500}


def test_an_approval_typed_here_runs_nothing_even_where_the_policy_says_at_once(axd: Axd, ax: AX) -> None:
    ran: list[int] = []
    ax.register(
        lambda: ran.append(1),
        name="at_once",
        policy={"effect": "unsafe", "confirm": True, "run_on_confirm": True},
    )
    with pytest.raises(ConfirmationPending) as pending:
        ax.call("at_once")
    assert axd("confirm", pending.value.task_id or "").code == 0
    assert ax.get(pending.value.task_id or "").state is State.QUEUED
    assert ran == []


def test_edited_arguments_are_checked_by_the_published_schema_and_run_as_edited(axd: Axd, ax: AX) -> None:
    with pytest.raises(ConfirmationPending) as pending:
        ax.call("refund", {"order": "8", "amount": 500}, request_id="r1")
    id = pending.value.task_id or ""
    for payload, why in (
        ('{"order": "8"}', "missing argument 'amount'"),
        ('{"order": "8", "amount": "much"}', "amount"),
        ("[1]", "must be a JSON object"),
        ('{"order": ', "no JSON"),
        ('{"order": "8", "amount": NaN}', "no JSON"),
    ):
        said = axd("confirm", id, "--payload", payload)
        assert (said.code, why in said.err) == (2, True), said
        assert ax.get(id).state is State.CONFIRMING
    assert axd("confirm", id, "--payload", '{"order": "8", "amount": 50}').code == 0
    assert ax.get(id).payload == {"order": "8", "amount": 50}
    assert ax.call("refund", {"order": "8", "amount": 500}, request_id="r1") == {"refunded": 50}


def test_edited_arguments_that_somebody_used_already_are_refused(axd: Axd, ax: AX) -> None:
    with ax.run():
        ax.call("refund", {"order": "8", "amount": 50})
        with pytest.raises(ConfirmationPending) as pending:
            ax.call("refund", {"order": "8", "amount": 500})
    said = axd("confirm", pending.value.task_id or "", "--payload", '{"order": "8", "amount": 50}', "--json")
    assert said.code == 1
    assert (said.json["done"], said.json["state"]) == (False, "CONFIRMING")
    assert "already there" in said.json["message"]


def test_a_rejection_reaches_the_model_with_its_reason(axd: Axd, ax: AX) -> None:
    with pytest.raises(ConfirmationPending) as pending:
        ax.call("refund", {"order": "8", "amount": 500}, request_id="r1")
    said = axd("reject", pending.value.task_id or "", "--reason", "ask finance first", "--by", "ann")
    assert said.code == 0
    with pytest.raises(Rejected, match="ask finance first"):
        ax.call("refund", {"order": "8", "amount": 500}, request_id="r1")


@pytest.mark.parametrize("first", ["confirm", "reject"])
@pytest.mark.parametrize("second", ["confirm", "reject"])
def test_the_second_click_is_told_what_was_decided_and_by_whom(
    axd: Axd, record: Any, first: str, second: str
) -> None:
    assert axd(first, record.asked, "--by", "ann").code == 0
    said = axd(second, record.asked, "--by", "bob")
    assert said.code == 1
    assert f"{'approved' if first == 'confirm' else 'rejected'} by ann" in said.out
    assert said.err == ""


@pytest.mark.parametrize(
    "words, state",
    [
        (["--happened", "--result", '{"sent": true}'], "SUCCESS"),
        (["--did-not-happen"], "FAILED"),
        (["--did-not-happen", "--rerun"], "QUEUED"),
    ],
)
@pytest.mark.parametrize("kind", ["unknown", "maybe"])
def test_a_doubt_is_resolved(axd: Axd, record: Any, ax: AX, kind: str, words: list[str], state: str) -> None:
    id = getattr(record, kind)
    said = axd.json("resolve", id, *words, "--by", "ann")
    assert (said["done"], said["ax_task_id"], said["state"]) == (True, id, state)
    assert ax.audit(id)[-1].by == "ann"
    if state == "SUCCESS":
        assert ax.get(id).result == {"sent": True}
    again = axd("resolve", id, "--happened", "--by", "bob")
    assert again.code == 1
    if state != "QUEUED":
        assert "already resolved" in again.out
        assert "ann" in again.out


@pytest.mark.parametrize(
    "words, why",
    [
        ([], "--happened or --did-not-happen"),
        (["--happened", "--result", "{"], "--result is no JSON"),
        (["--did-not-happen", "--result", "1"], "--result goes with --happened"),
    ],
)
def test_a_resolution_that_says_nothing_clear_is_refused(
    axd: Axd, record: Any, ax: AX, words: list[str], why: str
) -> None:
    said = axd("resolve", record.unknown, *words)
    assert (said.code, why in said.err) == (2, True)
    assert ax.get(record.unknown).reason == "outcome_unknown"


def test_what_happened_is_not_run_again(axd: Axd, record: Any) -> None:
    said = axd("resolve", record.unknown, "--happened", "--rerun")
    assert said.code == 1
    assert "not run again" in said.out


def test_cancel_takes_a_task_or_a_run_and_says_which(axd: Axd, record: Any, ax: AX) -> None:
    task = axd.json("cancel", record.asked)
    assert (task["ax_task_id"], task["state"]) == (record.asked, "CANCELLED")
    assert axd("cancel", record.asked).code == 1
    with ax.run(intent="another") as run:
        ended = axd.json("cancel", run.id[-12:])
        assert (ended["ax_run_id"], ended["done"]) == (run.id, True)


def test_what_lies_parked_is_put_away_and_can_be_taken_out_again(axd: Axd, record: Any, ax: AX) -> None:
    for id in (record.dead, record.invalid):
        assert axd("cancel", id, "--by", "ann").code == 0
        assert ax.get(id).state is State.CANCELLED
    assert {task["ax_task_id"] for task in axd.json("inbox")["tasks"]}.isdisjoint(
        {record.dead, record.invalid}
    )
    assert axd("requeue", record.dead).code == 0


@pytest.mark.parametrize("kind", ["unknown", "maybe"])
def test_a_doubt_cannot_be_put_away_unsaid(axd: Axd, record: Any, ax: AX, kind: str) -> None:
    said = axd("cancel", getattr(record, kind), "--json")
    assert said.code == 1
    assert said.json["done"] is False
    assert getattr(record, kind) in [task.id for task in ax.inbox()]


def test_requeue_says_who_will_run_it_and_refuses_what_is_in_doubt(axd: Axd, record: Any) -> None:
    said = axd("requeue", record.dead)
    assert (said.code, "when its caller comes back" in said.out) == (0, True)
    assert axd("requeue", record.dead).code == 1
    refused = axd("requeue", record.unknown, "--json")
    assert (refused.code, refused.json["state"]) == (1, "QUARANTINE")
    assert axd("requeue", record.success).code == 1


def test_a_run_is_extended(axd: Axd, record: Any) -> None:
    said = axd.json("extend", record.run, "--tasks", "5", "--seconds", "60")
    assert (said["ax_run_id"], said["done"]) == (record.run, True)
    assert axd.json("tree", record.run)["run"]["max_tasks"] == 55
    assert axd("extend", record.run).code == 1
    assert axd("extend", record.run, "--tasks", "-1").code == 1


def test_a_tool_is_paused_and_resumed(axd: Axd, ax: AX) -> None:
    ax.call("search", {"text": "x"})
    said = axd.json("pause", "search", "--by", "ann")
    assert (said["tool"], said["state"], said["done"]) == ("search", "PAUSED", True)
    assert axd("pause", "search").code == 1
    with pytest.raises(AXError, match="paused"):
        ax.call("search", {"text": "x"})
    assert [tool["paused_by"] for tool in axd.json("tools")["tools"] if tool["paused"]] == ["ann"]
    assert axd("resume", "search").code == 0
    assert axd("resume", "search").code == 1
    assert axd("pause", "no such tool").code == 2


def test_a_rollback_typed_here_closes_the_run_and_undoes_nothing_itself(axd: Axd, ax: AX) -> None:
    undone: list[Any] = []

    @ax.tool(effect="unsafe", compensate=lambda args, result: undone.append(args))
    def book(order: str) -> str:
        return "booked"

    with ax.run() as run:
        ax.call("book", {"order": "7"})
    said = axd("rollback", run.id)
    assert said.code == 1
    assert "ax.serve()" in said.out
    assert undone == []
    assert ax.tree(run.id).run.state == "ROLLED_BACK"


def test_the_audit_names_the_user_of_the_system_unless_told_otherwise(
    axd: Axd, record: Any, ax: AX, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "carol")
    axd("cancel", record.asked)
    assert ax.audit(record.asked)[-1].by == getpass.getuser() == "carol"


def test_a_user_without_a_name_is_its_number(
    axd: Axd, record: Any, ax: AX, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    axd("cancel", record.asked)
    assert ax.audit(record.asked)[-1].by.startswith("uid ")


@pytest.mark.parametrize("by", ["", "  ", "a\x1b[31m", "x" * 201])
def test_a_name_that_is_none_is_refused(axd: Axd, record: Any, by: str) -> None:
    assert axd("cancel", record.asked, "--by", by).code == 2
