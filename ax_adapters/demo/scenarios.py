"""The eight conversations of the demo."""

from __future__ import annotations

from typing import Any

from ax_adapters.demo.scenario import Call, Scenario

HEARD = "What I was told: {heard}"


def _refund(order_id: str, amount: float, **more: Any) -> Call:
    return "refund", {"order_id": order_id, "amount": amount, **more}


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        name="doubled",
        title="The model plans one refund twice",
        subject="o-101",
        kind="refund",
        ask="Please refund 10.00 on order o-101.",
        script=(
            [("get_order", {"order_id": "o-101"})],
            [_refund("o-101", 10.0), _refund("o-101", 10.0)],
            HEARD,
        ),
        promise="one refund; both calls get its result",
        wrapped_effects=1,
        bare_effects=2,
        states=("SUCCESS",),
    ),
    Scenario(
        name="lost_reply",
        title="The reply is lost after the commit, the model tries again",
        subject="o-102",
        kind="refund",
        ask="Please refund 20.00 on order o-102.",
        script=([_refund("o-102", 20.0)], [_refund("o-102", 20.0)], HEARD),
        trouble={"path": "/refunds", "subject": "o-102", "kind": "drop"},
        promise="one refund; the model is told it may have happened",
        wrapped_effects=1,
        bare_effects=2,
        states=("FAILED",),
    ),
    Scenario(
        name="slow_reply",
        title="An undeclared tool outlives its timeout, the model tries again",
        subject="mug",
        kind="stock",
        ask="One mug broke: take it out of stock.",
        script=(
            [("adjust_stock", {"sku": "mug", "delta": -1})],
            [("adjust_stock", {"sku": "mug", "delta": -1})],
            HEARD,
        ),
        trouble={"path": "/stock", "subject": "mug", "kind": "delay", "seconds": 4.0},
        promise="one stock move; a person is asked to look",
        wrapped_effects=1,
        bare_effects=2,
        states=("QUARANTINE",),
    ),
    Scenario(
        name="hallucinated",
        title="Hallucinated arguments: a misspelt name, then a number as a word",
        subject="o-103",
        kind="refund",
        ask="Please refund 10.00 on order o-103.",
        script=(
            [("refund", {"order_id": "o-103", "amout": 10.0})],
            [("refund", {"order_id": "o-103", "amount": "ten"})],
            HEARD,
        ),
        promise="nothing runs; the model is told which name or value is wrong",
        wrapped_effects=0,
        bare_effects=1,
        states=("QUARANTINE",),
    ),
    Scenario(
        name="endless",
        title="The model searches for ever",
        subject="",
        kind="search",
        ask="Find my order of a green vase.",
        script=([("search_orders", {"text": "green vase"})],),
        forever=True,
        tasks=12,
        promise="the run ends at its budget of 12 calls",
        wrapped_effects=12,
        bare_effects=30,
    ),
    Scenario(
        name="approval",
        title="A destructive call",
        subject="o-105",
        kind="delete",
        ask="Delete the old test order o-105.",
        script=(
            [("delete_order", {"order_id": "o-105"})],
            HEARD,
            [("delete_order", {"order_id": "o-105"})],
            HEARD,
        ),
        promise="nothing before a person approves, then once",
        wrapped_effects=1,
        bare_effects=1,
        states=("SUCCESS",),
    ),
    Scenario(
        name="killed_after",
        title="kill -9 after the effect, before the checkpoint; then resume",
        subject="o-106",
        kind="refund",
        ask="Please refund 30.00 on order o-106.",
        script=([("get_order", {"order_id": "o-106"})], [_refund("o-106", 30.0)], HEARD),
        kill="after",
        promise="one refund; the resumed run gets its result",
        wrapped_effects=1,
        bare_effects=2,
        states=("SUCCESS",),
    ),
    Scenario(
        name="killed_during",
        title="kill -9 while the refund is on the wire; then resume",
        subject="o-107",
        kind="refund",
        ask="Please refund 40.00 on order o-107.",
        script=([("get_order", {"order_id": "o-107"})], [_refund("o-107", 40.0)], HEARD),
        kill="during",
        trouble={"path": "/refunds", "subject": "o-107", "kind": "delay", "seconds": 30.0},
        promise="one refund; nobody guesses, a person is asked",
        wrapped_effects=1,
        bare_effects=2,
        states=("QUARANTINE",),
    ),
)
BY_NAME = {each.name: each for each in SCENARIOS}
