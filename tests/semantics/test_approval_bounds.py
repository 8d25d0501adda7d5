"""What an approval is good for: until when, and for which arguments of which tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import (
    AX,
    ConfirmationPending,
    Effect,
    InvalidArguments,
    NotAllowed,
    NotApplied,
    OutcomeUnknown,
    Quarantined,
    Rejected,
    State,
    StillRunning,
    Task,
)
from support.aside import outcome
from support.ears import Ear
from support.expiry import LIMIT, expiring
from support.fresh import beat, fresh
from support.probe import Held, Probe
from support.skew import Skew


def ask(ax: AX, request_id: str = "r", **payload: Any) -> Any:
    return outcome(lambda: ax.call("pay", payload, request_id=request_id))


def card(ax: AX) -> Task:
    (waiting,) = ax.inbox()
    return waiting


def test_a_late_approval_is_refused_by_the_stores_clock_although_nobody_swept(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True, confirm_ttl=2)
    task_id = ask(ax).task_id
    clock.ahead(3)
    verdict = ax.confirm(task_id, by="ann")
    assert not verdict
    assert "expired" in verdict.message
    assert "not executed" in verdict.message
    assert (ax.inbox(), ax.get(task_id).state, ax.get(task_id).reason) == (
        [],
        State.CANCELLED,
        "approval_expired",
    )
    assert ax.get(task_id).approval["decision"] == "expired"
    assert isinstance(ask(ax), Rejected)
    assert probe.count == 0


def test_an_expired_card_is_gone_and_the_click_on_it_is_on_record_as_what_it_was(ax: AX, clock: Skew) -> None:
    Probe().tool(ax, confirm=True, confirm_ttl=2)
    expired = Ear(ax, "expired")
    task_id = ask(ax).task_id
    clock.ahead(3)
    beat(ax)
    assert ax.inbox() == []
    assert expired.wait().task_id == task_id
    for click in (ax.confirm(task_id, by="ann"), ax.reject(task_id, by="ann")):
        assert not click
        assert "expired by nobody in time" in click.message
    assert [e.verb for e in ax.audit(task_id)] == ["ask", "cancel"]
    assert ax.requeue(task_id, by="ann")  # the card can be put up again
    assert (card(ax).id, card(ax).state) == (task_id, State.CONFIRMING)


def test_from_the_decision_to_the_start_there_is_a_limit_of_its_own(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True)
    task_id = ask(ax).task_id
    ax.confirm(task_id, by="ann")
    start_by = ax.get(task_id).approval["start_by"]
    clock.ahead(86_401)
    answer = ask(ax)
    assert isinstance(answer, Rejected)
    assert (start_by is not None, ax.get(task_id).reason, probe.count) == (True, "approval_expired", 0)


def test_an_approval_in_time_is_good_although_it_is_used_after_the_question_expired(
    ax: AX, clock: Skew
) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True, confirm_ttl=200)
    task_id = ask(ax).task_id
    clock.ahead(190)
    ax.confirm(task_id, by="ann")
    clock.ahead(500)
    assert (ask(ax), probe.count) == ("done", 1)


def test_edited_arguments_run_in_place_of_the_submitted_ones_under_a_new_key(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, confirm=True)
    task_id = ask(ax, amount=100).task_id
    before = ax.get(task_id).idempotency_key
    ax.confirm(task_id, by="ann", payload={"order": "7", "amount": 50})
    assert ask(ax, amount=100) == "done"  # the model's own request finds it
    after = ax.get(task_id)
    assert after.idempotency_key != before
    assert probe.keys == {after.idempotency_key}
    assert probe.seen[0][3]["amount"] == after.payload["amount"] == 50
    confirmed = next(e for e in ax.audit(task_id) if e.verb == "confirm")
    assert (confirmed.by, confirmed.detail["edited"]) == ("ann", True)


def test_confirming_with_the_arguments_as_they_are_is_no_edit(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    task_id = ask(ax).task_id
    before = ax.get(task_id).idempotency_key
    ax.confirm(task_id, by="ann", payload={"amount": 10, "order": "7"})
    assert ax.get(task_id).idempotency_key == before


def test_edited_arguments_pass_the_schema_again(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True)
    task_id = ask(ax).task_id
    with pytest.raises(InvalidArguments, match="ammount"):
        ax.confirm(task_id, by="ann", payload={"ammount": 5})
    assert (card(ax).id, card(ax).approved, probe.count) == (task_id, False, 0)


def test_edited_arguments_pass_the_merge_again(ax: AX) -> None:
    """The edit makes it equal to what was done already: it is refused, and says which task that is."""
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, confirm=lambda args: args["amount"] > 50)
    with ax.run(session="s"):
        assert ask(ax, "small", amount=50) == "done"
        pending = ask(ax, "large", amount=100)
        with pytest.raises(NotAllowed, match="already there") as refused:
            ax.confirm(pending.task_id, by="ann", payload={"amount": 50})
        assert ax.tasks(state="SUCCESS").tasks[0].id in str(refused.value)
        assert card(ax).state is State.CONFIRMING
        ax.confirm(pending.task_id, by="ann", payload={"amount": 60})
        assert ask(ax, "large", amount=100) == "done"
    assert probe.count == 2


def test_edited_arguments_hold_the_new_key_and_release_the_old_one(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE, confirm=lambda args: args["amount"] == 100)
    with ax.run(session="s"):
        pending = ask(ax, "r", amount=100)
        ax.confirm(pending.task_id, by="ann", payload={"amount": 60})
        assert ask(ax, "r", amount=100) == "done"
        assert ask(ax, "equal to the edit", amount=60) == "done"
        assert probe.count == 1
        fresh_card = ask(ax, "equal to the submitted", amount=100)
        assert isinstance(fresh_card, ConfirmationPending)
        assert fresh_card.task_id != pending.task_id


def test_edited_arguments_do_not_slip_past_an_effect_in_doubt(ax: AX) -> None:
    held = Held()
    probe = Probe(held)
    probe.tool(ax, confirm=lambda args: args["amount"] > 50, timeout=LIMIT)
    with ax.run(session="s"):
        with expiring(held):
            assert isinstance(ask(ax, "doubt", amount=50), OutcomeUnknown)
        pending = ask(ax, "large", amount=100)
        with pytest.raises(NotAllowed, match="already there"):
            ax.confirm(pending.task_id, by="ann", payload={"amount": 50})
    assert probe.count == 1
    held.go.set()


@pytest.mark.parametrize("change", [{"version": "2"}, {"effect": "unsafe"}, {"confirm": lambda args: True}])
def test_a_tool_that_changed_after_the_approval_does_not_run_under_it(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax, effect="idempotent", confirm=True, version="1")
        ax.confirm(ask(ax).task_id, by="ann")
    with fresh(path=path) as ax:
        probe = Probe("paid")
        probe.tool(ax, **{"effect": "idempotent", "confirm": True, "version": "1"} | change)
        answer = ask(ax)
        assert isinstance(answer, Quarantined)
        assert (card(ax).reason, probe.count) == ("policy_changed", 0)
        assert ax.requeue(
            card(ax).id, by="ops"
        )  # a person has looked, and is asked about the tool as it is now
        assert (card(ax).state, probe.count) == (State.CONFIRMING, 0)
        ax.confirm(card(ax).id, by="ann")
        assert (ask(ax), probe.count) == ("paid", 1)


def test_a_tool_that_changed_before_an_approved_retry_does_not_run_under_it_either(
    tmp_path: Path, clock: Skew
) -> None:
    path = tmp_path / "ax.db"
    policy: dict[str, Any] = {"effect": "keyed", "confirm": True, "retries": 1, "backoff": 60}
    with fresh(clock, path, wait=0.01) as ax:
        Probe(NotApplied("busy")).tool(ax, version="1", **policy)
        ax.confirm(ask(ax).task_id, by="ann")
        assert isinstance(ask(ax), StillRunning)
    clock.ahead(61)
    with fresh(clock, path) as ax:
        probe = Probe()
        probe.tool(ax, version="2", **policy)
        assert isinstance(ask(ax), Quarantined)
        assert (card(ax).reason, probe.count) == ("policy_changed", 0)
