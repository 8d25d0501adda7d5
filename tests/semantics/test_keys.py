"""Keys that name an intent: a tool's business key, and keys of the caller's own."""

from __future__ import annotations

from typing import Any

import pytest

from ax_core import (
    AX,
    Effect,
    NotApplied,
    RequestConflict,
    ToolFailed,
)
from support.aside import outcome, together
from support.probe import Probe
from support.skew import Skew


def test_a_business_key_finds_the_same_intent_in_other_words(ax: AX) -> None:
    """The run-again model has no memory of the first refund and words its reason differently."""
    probe = Probe("refunded")
    probe.tool(ax, effect=Effect.UNSAFE, key=("order", "amount"))
    with ax.run():
        ax.call("pay", {"order": "5", "note": "damaged"})
        assert ax.call("pay", {"order": "5", "note": "item was damaged"}) == "refunded"
        ax.call("pay", {"order": "5", "amount": 11, "note": "damaged"})
    assert probe.count == 2


def test_without_a_business_key_other_words_are_another_intent(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        ax.call("pay", {"note": "damaged"})
        ax.call("pay", {"note": "item was damaged"})
    assert probe.count == 2


def test_an_unsafe_tool_with_free_text_and_no_key_is_warned_about_at_registration(
    ax: AX, caplog: pytest.LogCaptureFixture
) -> None:
    Probe().tool(ax, "refund", effect=Effect.UNSAFE)
    assert "free text in note" in caplog.text
    assert "key=" in caplog.text
    caplog.clear()
    Probe().tool(ax, "refund2", effect=Effect.UNSAFE, key=("order",))
    Probe().tool(ax, "find", effect=Effect.READ)
    assert caplog.text == ""


def test_two_sub_agents_that_pay_the_same_invoice_pay_it_once_where_the_key_is_declared(ax: AX) -> None:
    keyed, plain = Probe(), Probe()
    keyed.tool(ax, "pay", effect=Effect.UNSAFE, key=("order",), dedupe="global", window=3600)
    plain.tool(ax, "pay_bare", effect=Effect.UNSAFE)

    def agent(session: str, tool: str) -> Any:
        with ax.run(session=session):
            return ax.call(tool, {"order": "INV-1", "note": session})

    together([lambda s=s, t=t: agent(s, t) for s in ("s1", "s2") for t in ("pay",)])
    for session in ("s1", "s2"):
        agent(session, "pay_bare")
    assert (keyed.count, plain.count) == (1, 2)
    assert len(ax.tasks(tool="pay_bare").tasks) == 2


def test_a_missing_key_part_is_a_value_of_its_own(ax: AX) -> None:
    probe = Probe()

    @ax.tool(name="ship", effect=Effect.UNSAFE, key=("order.id",))
    def ship(order: dict[str, Any]) -> str:
        return probe.play({"order": order})

    with ax.run():
        for order in ({"id": "1"}, {"id": "1", "note": "x"}, {}, {"note": "y"}, {"id": None}):
            ship(order=order)
    assert probe.count == 3


def test_a_key_of_the_callers_own_holds_everywhere_and_for_every_request(ax: AX) -> None:
    probe = Probe("paid")
    probe.tool(ax)
    ax.call("pay", key="k")
    with ax.run(session="s"):
        assert ax.call("pay", key="k", request_id="other") == "paid"
    assert probe.count == 1


def test_a_held_key_with_other_arguments_or_another_tool_is_a_conflict_never_a_merge(ax: AX) -> None:
    probe, other = Probe(), Probe()
    probe.tool(ax)
    other.tool(ax, "send")
    ax.call("pay", {"amount": 10}, key="k")
    with pytest.raises(RequestConflict, match="other arguments"):
        ax.call("pay", {"amount": 99}, key="k")
    with pytest.raises(RequestConflict, match="'pay'.*'send'"):
        ax.call("send", {"amount": 10}, key="k")
    assert (probe.count, other.count, len(ax.tasks().tasks)) == (1, 0, 1)


def test_keys_are_compared_as_bytes(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    for key in ("Order-A", "order-a", "order-a ", "ordre-e", "ordré-e"):
        ax.call("pay", key=key)
    assert probe.count == 5


def test_a_key_is_released_by_a_definite_failure_and_kept_by_a_doubt(ax: AX) -> None:
    failing, doubtful = Probe(NotApplied("no")), Probe(RuntimeError("reply lost"))
    failing.tool(ax, "a", effect=Effect.UNSAFE)
    doubtful.tool(ax, "b", effect=Effect.UNSAFE)
    with ax.run():
        outcome(lambda: ax.call("a"))
        assert ax.call("a") == "done"
        for _ in range(2):
            answer = outcome(lambda: ax.call("b"))
            assert isinstance(answer, ToolFailed)
            assert answer.maybe_applied
    assert (failing.count, doubtful.count) == (2, 1)


def test_a_key_that_somebody_else_took_meanwhile_answers_for_the_one_that_failed(ax: AX) -> None:
    """Request a failed, b succeeded in its place: a resubmission of a must not pay a second time."""
    probe = Probe(NotApplied("no"), "paid")
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        outcome(lambda: ax.call("pay", request_id="a"))
        ax.call("pay", request_id="b")
        assert ax.call("pay", request_id="a") == "paid"
    assert probe.count == 2


def test_a_failed_task_that_runs_again_holds_its_key_again(ax: AX) -> None:
    """a failed, b took its place and failed too; a is sent once more and succeeds: c is answered by a."""
    probe = Probe(NotApplied("no"), NotApplied("no"), "paid")
    probe.tool(ax, effect=Effect.UNSAFE)
    with ax.run():
        for request in ("a", "b"):
            outcome(lambda request=request: ax.call("pay", request_id=request))
        assert ax.call("pay", request_id="a") == "paid"
        assert ax.call("pay", request_id="c") == "paid"
    assert probe.count == 3


def test_a_failed_task_that_runs_again_holds_its_key_again_for_the_same_window(ax: AX, clock: Skew) -> None:
    probe = Probe(NotApplied("no"), "paid")
    probe.tool(ax, effect=Effect.UNSAFE, dedupe="global", window=60)
    outcome(lambda: ax.call("pay", request_id="a"))
    ax.call("pay", request_id="a")
    assert ax.call("pay", request_id="b") == "paid"
    clock.ahead(61)
    assert ax.call("pay", request_id="c") == "done"
    assert probe.count == 3
