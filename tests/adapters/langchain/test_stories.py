"""What AX is for, through real agents: a lost reply, a doubled refund, retries upon retries."""

import threading
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver

from ax_adapters.langchain import wrap_tool, wrap_tools
from ax_core import AX, Policy, State
from support.driving import Drive
from support.scripted import Scripted, answers, said, thread, told


class Bank:
    """Refunds: the effect happens, then the reply is what the test says."""

    def __init__(self, reply: Any = "refunded") -> None:
        self.refunds: list[tuple[str, int]] = []
        self.reply = reply

        @tool
        def refund(order: str, amount: int, reason: str = "") -> str:
            """Refunds an order."""
            self.refunds.append((order, amount))
            if isinstance(self.reply, Exception):
                raise self.reply
            return self.reply(order) if callable(self.reply) else self.reply

        self.tool = refund


def agent_of(tools: list[BaseTool], *script: Any, **more: Any) -> Any:
    """An agent with memory."""
    return create_agent(Scripted(script=list(script)), tools, checkpointer=InMemorySaver(), **more)


REFUND = ("refund", {"order": "7", "amount": 10})


def test_a_lost_reply_is_not_a_second_refund(ax: AX, drive: Drive) -> None:
    """An undeclared refund outlives its timeout; issued again under a new id it is one effect, and that is told."""
    go = threading.Event()
    bank = Bank(lambda order: go.wait(30) and "refunded")
    agent = agent_of(wrap_tools([bank.tool], ax, timeout=0.1), [(*REFUND, "a")], [(*REFUND, "b")], "done")
    try:
        result = drive(agent, said(), thread())
        (task,) = ax.tasks().tasks
    finally:
        go.set()
    first, second = answers(result)
    assert bank.refunds == [("7", 10)]
    for message in (first, second):
        assert message.status == "error"
        assert "UNKNOWN OUTCOME" in message.text and "Do not repeat it" in message.text
    assert task.reason == "outcome_unknown"


def test_what_ends_late_settles_the_doubt(ax: AX, drive: Drive) -> None:
    """The body that was given up returns after all: whoever asks then gets its result, and nothing runs again."""
    go = threading.Event()
    bank = Bank(lambda order: go.wait(30) and "refunded")
    agent = agent_of(wrap_tools([bank.tool], ax, timeout=0.1), [REFUND], "wait", [REFUND], "done")
    drive(agent, said(), thread())
    go.set()
    task = ax.tasks().tasks[0]
    while ax.get(task.id).state is not State.SUCCESS:
        threading.Event().wait(0.01)
    assert ax.get(task.id).result == "refunded"
    assert len(bank.refunds) == 1


def test_a_doubled_refund_in_one_intent_is_merged(ax: AX, drive: Drive) -> None:
    """A declared UNSAFE refund that the model issues twice in a turn is done once; each call gets its own answer."""
    bank = Bank()
    agent = agent_of(
        wrap_tools([bank.tool], ax, policies={"refund": "unsafe"}), [(*REFUND, "a")], [(*REFUND, "b")], "done"
    )
    first, second = answers(drive(agent, said(), thread()))
    assert bank.refunds == [("7", 10)]
    assert (first.tool_call_id, first.text, first.status) == ("a", "refunded", "success")
    assert (second.tool_call_id, second.status) == ("b", "success")
    assert second.text.startswith("refunded") and "Nothing was executed again" in second.text


def test_a_refund_of_the_next_turn_is_meant(ax: AX, drive: Drive) -> None:
    """The same refund after the user spoke again is another intent."""
    bank = Bank()
    agent = agent_of(wrap_tools([bank.tool], ax, policies={"refund": "unsafe"}), [REFUND], "a", [REFUND], "b")
    for _ in range(2):
        drive(agent, said(), thread())
    assert len(bank.refunds) == 2


@pytest.mark.parametrize(
    ("policies", "times"), [({"refund": "unsafe"}, 1), ({}, 3)], ids=["unsafe", "undeclared"]
)
def test_three_identical_calls_in_one_message(policies: Any, times: int, ax: AX, drive: Drive) -> None:
    """Declared UNSAFE: one execution and three answers. Undeclared: three executions, as bare."""
    bank = Bank()
    asked = [(*REFUND, "a"), (*REFUND, "b"), (*REFUND, "c")]
    result = drive(agent_of(wrap_tools([bank.tool], ax, policies=policies), asked, "d"), said(), thread())
    assert [message.tool_call_id for message in answers(result)] == ["a", "b", "c"]
    assert len(bank.refunds) == times


def test_a_business_key_catches_other_words(ax: AX, drive: Drive) -> None:
    """The re-run model words the reason differently; the key names the order, so it is the same refund."""
    bank = Bank()
    policy = Policy("unsafe", key=("order",))
    asked = [("refund", {"order": "7", "amount": 10, "reason": "damaged"})]
    again = [("refund", {"order": "7", "amount": 10, "reason": "item was damaged"})]
    agent = agent_of(wrap_tools([bank.tool], ax, policies={"refund": policy}), asked, again, "done")
    texts = told(drive(agent, said(), thread()))
    assert bank.refunds == [("7", 10)]
    assert "already done" in texts[1]


@pytest.mark.parametrize(("policy", "times"), [("unsafe", 1), ("idempotent", 4), (None, 3)])
def test_retry_layers_do_not_multiply_an_unsafe_effect(
    policy: str | None, times: int, ax: AX, drive: Drive
) -> None:
    """A tool that commits and then raises, under a policy with retries and the framework's retry middleware."""
    bank = Bank(ConnectionError("read timeout"))
    declared: dict[str, Any] = (
        {} if policy is None else {"refund": {"effect": policy, "retries": 1, "backoff": 0}}
    )
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False, on_failure="continue")
    agent = agent_of(wrap_tools([bank.tool], ax, policies=declared), [REFUND], "done", middleware=[retry])
    (message,) = answers(drive(agent, said(), thread()))
    assert message.status == "error"
    (task,) = ax.tasks().tasks
    assert task.state is State.FAILED
    assert len(bank.refunds) == task.attempts == times
    if policy == "unsafe":
        assert task.maybe_applied
        assert "may have taken effect" in message.text
        assert "try again" not in message.text


def test_the_model_that_tries_again_after_a_doubtful_failure_is_told(ax: AX, drive: Drive) -> None:
    """UNSAFE, raised after acting: the same refund under a new id is not run; the answer says it may have happened."""
    bank = Bank(ConnectionError("read timeout"))
    made = wrap_tool(bank.tool, ax, policy="unsafe")

    def on_failure(error: Exception) -> str:
        return f"failed: {error}"

    retry = ToolRetryMiddleware(max_retries=0, on_failure=on_failure)
    agent = agent_of([made], [(*REFUND, "a")], [(*REFUND, "b")], "done", middleware=[retry])
    first, second = answers(drive(agent, said(), thread()))
    assert bank.refunds == [("7", 10)]
    assert first.text == "failed: read timeout"
    assert "may have taken effect" in second.text and second.status == "error"


def test_a_retried_agent_step_does_not_charge_again(ax: AX, drive: Drive) -> None:
    """charge succeeded, summarise raised, the host runs the step again: one charge, summarise is tried once more."""
    bank, tries = Bank("charged"), []

    @tool
    def summarise(n: int) -> str:
        """Fails once."""
        tries.append(n)
        if len(tries) == 1:
            raise ConnectionError("x")
        return "summary"

    tools = wrap_tools([bank.tool, summarise], ax, policies={"refund": "unsafe"})
    agent = agent_of(tools, [(*REFUND, "a"), ("summarise", {"n": 1}, "b")], "done")
    with pytest.raises(ConnectionError):
        drive(agent, said(), thread())
    result = drive(agent, None, thread())
    assert told(result) == ["charged", "summary"]
    assert (len(bank.refunds), tries) == (1, [1, 1])
