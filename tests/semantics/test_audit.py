"""The audit: every change with who made it, chained so that nobody can take one out or alter it."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import AX, Effect, State, current
from ax_core.states import TRANSITIONS
from support.aside import outcome
from support.probe import Probe


@pytest.fixture
def task_id(ax: AX) -> str:
    """A task with a rich life: asked, edited, run, failed, requeued, asked again, rejected."""
    Probe(RuntimeError("no")).tool(ax, confirm=True)
    pending = outcome(lambda: ax.call("pay", request_id="r"))
    ax.confirm(pending.task_id, by="ann", payload={"amount": 20})
    outcome(lambda: ax.call("pay", request_id="r"))
    ax.requeue(pending.task_id, by="bob")
    ax.reject(pending.task_id, by="cho", reason="enough")
    return str(pending.task_id)


def change(ax: AX, sql: str, *params: Any) -> None:
    raw = ax._core.db._connect()
    assert raw.execute(sql, params).rowcount > 0
    raw.close()


def test_it_tells_who_did_what_and_from_where_to_where(ax: AX, task_id: str) -> None:
    entries = ax.audit(task_id)
    assert [(e.verb, e.target.value) for e in entries] == [
        ("ask", "CONFIRMING"),
        ("confirm", "QUEUED"),
        ("claim", "RUNNING"),
        ("raised", "FAILED"),
        ("requeue", "CONFIRMING"),
        ("reject", "CANCELLED"),
    ]
    assert [e.by for e in entries if e.by in ("ann", "bob", "cho")] == ["ann", "bob", "cho"]
    assert [e.seq for e in entries] == [1, 2, 3, 4, 5, 6]
    assert all(e.target in TRANSITIONS[e.source] for e in entries)
    assert entries[-1].detail["reason"] == "enough"


def test_a_body_that_runs_finds_its_own_claim_in_the_audit(ax: AX) -> None:
    """A claim is on record before the body is entered, and reads the same when more has followed."""
    seen: list[Any] = []

    @ax.tool(effect=Effect.UNSAFE)
    def look() -> None:
        seen.append(current().task_id)
        seen.extend(ax.audit(seen[0]))
        assert ax.verify(seen[0]) is None

    look()
    task_id, claim = seen
    assert (claim.seq, claim.verb, claim.source, claim.target) == (1, "claim", None, State.RUNNING)
    assert claim.by == ax._core.owner
    assert [e.verb for e in ax.audit(task_id)] == ["claim", "returned"]
    assert ax.audit(task_id)[0] == claim
    assert ax.verify(task_id) is None


@pytest.mark.parametrize("column,value", [("owner", "mallory"), ("created_at", 1), ("audit_head", "0" * 64)])
def test_a_claim_whose_row_was_altered_while_it_ran_is_found(ax: AX, column: str, value: Any) -> None:
    @ax.tool(effect=Effect.UNSAFE)
    def look() -> None:
        change(ax, f"UPDATE ax_task SET {column} = ? WHERE id = ?", value, current().task_id)
        assert ax.verify(current().task_id) == 1

    look()


def test_a_whole_trail_verifies(ax: AX, task_id: str) -> None:
    assert ax.verify(task_id) is None


@pytest.mark.parametrize("seq", [1, 3, 6])
@pytest.mark.parametrize(
    "column,value",
    [
        ("actor", "mallory"),
        ("at", 1),
        ("verb", "nothing"),
        ("target", "SUCCESS"),
        ("detail", "{}"),
        ("hash", "0" * 64),
    ],
)
def test_an_altered_entry_is_found_at_its_place(
    ax: AX, task_id: str, seq: int, column: str, value: Any
) -> None:
    change(ax, f"UPDATE ax_audit SET {column} = ? WHERE task_id = ? AND seq = ?", value, task_id, seq)
    assert ax.verify(task_id) == seq


def test_an_entry_that_was_taken_out_is_found(ax: AX, task_id: str) -> None:
    change(ax, "DELETE FROM ax_audit WHERE task_id = ? AND seq = 3", task_id)
    assert ax.verify(task_id) == 3


def test_a_trail_that_was_cut_short_is_found(ax: AX, task_id: str) -> None:
    change(ax, "DELETE FROM ax_audit WHERE task_id = ? AND seq = 6", task_id)
    assert ax.verify(task_id) == 6


def test_an_entry_that_was_added_is_found(ax: AX, task_id: str) -> None:
    change(ax, "INSERT INTO ax_audit SELECT task_id, 7, at, verb, source, target, actor, detail, hash FROM ax_audit "
           "WHERE task_id = ? AND seq = 6", task_id)  # fmt: skip
    assert ax.verify(task_id) == 7


def test_a_trail_that_was_swapped_for_another_tasks_is_found(ax: AX, task_id: str) -> None:
    Probe().tool(ax, "other")
    ax.call("other")
    other = ax.tasks(tool="other").tasks[0].id
    change(
        ax,
        "UPDATE ax_task SET audit_head = (SELECT audit_head FROM ax_task WHERE id = ?) WHERE id = ?",
        task_id,
        other,
    )
    assert ax.verify(other) is not None


def test_a_state_that_was_changed_behind_its_back_does_not_fit_its_trail(ax: AX, task_id: str) -> None:
    change(ax, "UPDATE ax_task SET state = 'SUCCESS' WHERE id = ?", task_id)
    assert ax.audit(task_id)[-1].target is not ax.get(task_id).state


def test_replays_are_counted_and_not_logged_one_by_one(ax: AX) -> None:
    Probe().tool(ax, effect=Effect.UNSAFE)
    for _ in range(50):
        ax.call("pay", request_id="r")
    task = ax.tasks().tasks[0]
    assert (task.replays, [e.verb for e in ax.audit(task.id)]) == (49, ["claim", "returned", "replayed"])


def test_a_merge_is_on_record_with_the_request_it_answered(ax: AX) -> None:
    Probe().tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        ax.call("pay", request_id="a")
        ax.call("pay", request_id="b")
    task = ax.tasks().tasks[0]
    assert [(e.verb, e.detail.get("request")) for e in ax.audit(task.id)][-1] == ("merged", "b")


def test_what_is_redacted_stays_out_of_it(ax: AX) -> None:
    Probe().tool(ax, redact=("order",), confirm=True)
    pending = outcome(lambda: ax.call("pay", {"order": "secret-7"}, request_id="r"))
    ax.confirm(pending.task_id, by="ann", payload={"order": "secret-8"})
    assert ax.get(pending.task_id).payload["order"] == "[redacted]"
    trail = ax._core.db.read(lambda tx: tx.all("SELECT detail FROM ax_audit"))
    assert "secret" not in str(trail)


def test_a_failed_commit_leaves_neither_a_move_nor_its_entry(ax: AX) -> None:
    from ax_core import faults

    Probe().tool(ax)
    ax.call("pay")

    def refuse() -> None:
        raise RuntimeError("the disk went away")

    faults.arm("admit.before_commit", refuse)
    with pytest.raises(RuntimeError):
        ax.call("pay")
    faults.disarm()
    counts = ax._core.db.read(
        lambda tx: (tx.one("SELECT COUNT(*) FROM ax_task"), tx.one("SELECT COUNT(*) FROM ax_audit"))
    )
    assert counts == ((1,), (2,))
    assert ax.tasks().tasks[0].state is State.SUCCESS
