"""A person decides: the call is on record first, then its workflow waits for an event, and the record is the truth."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import ValidationError

from ax_adapters.llama_index import ApprovalDecision, ApprovalRequired, wrap_tool
from ax_core import AX, Policy, State
from support.fresh import beat
from support.llama import agent, ask
from support.llama_deciding import decided, turn
from support.skew import Skew


def test_approved_it_runs(refund: Any, refunded: list[Any], ax: AX) -> None:
    """The card names task, run, tool, arguments and expiry; the task was CONFIRMING before it was shown."""
    cards: list[ApprovalRequired] = []
    states = []

    def approve(card: ApprovalRequired) -> ApprovalDecision:
        states.append(ax.get(card.ax_task_id).state)
        return card.answer("approve", by="ann")

    output = decided(refund, approve, cards=cards)
    assert (output.content, output.is_error) == ("refunded 7 10", False)
    assert refunded == [("7", 10)]
    (card,) = cards
    assert isinstance(card, InputRequiredEvent)
    assert (card.name, card.args) == ("refund", {"order": "7", "amount": 10})
    assert card.tool_call_id == "call_0_0"
    assert card.ax_expires_at
    assert states == [State.CONFIRMING]
    (task,) = ax.tasks().tasks
    assert (task.id, task.run_id) == (card.ax_task_id, card.ax_run_id)
    assert ax.get(task.id).approval["by"] == "ann"


def test_rejected_the_model_is_told_and_goes_on(refund: Any, refunded: list[Any]) -> None:
    """An error output with the reviewer's words; nothing was executed."""
    output = decided(refund, lambda card: card.answer("reject", by="ann", message="too much"))
    assert output.is_error
    assert output.content.startswith("REJECTED")
    assert "too much" in output.content
    assert refunded == []


def test_edited_arguments_run_and_the_model_is_told(refund: Any, refunded: list[Any]) -> None:
    """What the person wrote is what runs, through the gate."""
    output = decided(refund, lambda card: card.answer("edit", by="ann", args={"order": "7", "amount": 3}))
    assert refunded == [("7", 3)]
    assert output.raw_output == "refunded 7 3"
    assert "A person changed the arguments" in output.content


def test_an_edit_that_does_not_fit_is_asked_about_again(refund: Any, refunded: list[Any]) -> None:
    """The question stands, with what was wrong."""
    cards: list[ApprovalRequired] = []

    def clumsy(card: ApprovalRequired) -> ApprovalDecision:
        if card.problem is None:
            return card.answer("edit", args={"order": "7", "amount": "much"})
        return card.answer("approve", by="ann")

    assert decided(refund, clumsy, cards=cards).content == "refunded 7 10"
    assert [card.problem is None for card in cards] == [True, False]
    assert "amount" in (cards[1].problem or "")
    assert refunded == [("7", 10)]


def test_a_person_answers_in_the_tools_place(refund: Any, refunded: list[Any], ax: AX) -> None:
    """The model reads it as the tool's answer; the record says that it was not run."""
    output = decided(refund, lambda card: card.answer("respond", by="ann", message="it is done already"))
    assert (output.content, output.is_error) == ("it is done already", False)
    assert refunded == []
    assert str(ax.tasks().tasks[0].state) == "CANCELLED"


@pytest.mark.parametrize(
    "wrong",
    [
        {"decision": "perhaps"},
        {"decision": "edit"},
        {"decision": "approve", "args": {}},
        {"decision": "respond"},
        {"decision": "approve", "by": ""},
    ],
)
def test_an_answer_that_is_none_is_refused_where_it_is_made(wrong: dict[str, Any]) -> None:
    """Not when the workflow reads it."""
    with pytest.raises(ValidationError):
        ApprovalDecision(ax_task_id="t", **wrong)
    assert issubclass(ApprovalDecision, HumanResponseEvent)


def test_an_event_that_decides_nothing_is_asked_about_again(refund: Any, refunded: list[Any]) -> None:
    """``decided`` sent for what nobody has decided."""
    cards: list[ApprovalRequired] = []
    answer = decided(
        refund, lambda card: card.answer("decided" if card.problem is None else "approve"), cards=cards
    )
    assert answer.content == "refunded 7 10"
    assert len(cards) == 2
    assert refunded == [("7", 10)]


def test_the_first_decision_stands(refund: Any, refunded: list[Any], ax: AX) -> None:
    """Rejected on record, then an event that approves: it was refused, and the model reads that."""

    def both(card: ApprovalRequired) -> ApprovalDecision:
        ax.reject(card.ax_task_id, by="ops")
        return card.answer("approve", by="ann")

    output = decided(refund, both)
    assert output.content.startswith("REJECTED")
    assert refunded == []


def test_answers_find_their_own_questions(refund: Any, refunded: list[Any]) -> None:
    """Two calls of one message: each is asked about, and answered by its task, in any order."""
    script = [("refund", {"order": "1"}, "a"), ("refund", {"order": "2"}, "b")]
    cards: list[ApprovalRequired] = []

    async def main() -> list[str]:
        handler = agent([refund], script, "done").run("go")

        def later(card: ApprovalRequired) -> None:
            if len(cards) == 2:
                second, first = cards[1], cards[0]
                handler.ctx.send_event(second.answer("approve" if second.args["order"] == "2" else "reject"))
                handler.ctx.send_event(first.answer("approve" if first.args["order"] == "2" else "reject"))

        return [each.content for each in await asyncio.wait_for(turn(handler, later, cards), 10)]

    answers = asyncio.run(main())
    assert refunded == [("2", 1)]
    assert sorted(answer[:8] for answer in answers) == ["REJECTED", "refunded"]


def test_sessions_side_by_side_ask_their_own_approvers(refund: Any, refunded: list[Any], ax: AX) -> None:
    """Sixteen conversations on one loop, one wrapped tool: each card reaches the approver of its own workflow."""
    asked: dict[str, list[str]] = {}

    async def talk(n: int) -> str:
        order, approver = str(n), f"approver {n}"
        handler = agent([refund], [("refund", {"order": order}, "same-id")], "done").run("go")

        def decide(card: ApprovalRequired) -> ApprovalDecision:
            asked.setdefault(approver, []).append(card.args["order"])
            return card.answer("approve" if n % 2 else "reject", by=approver)

        (output,) = await turn(handler, decide)
        return output.content

    async def main() -> list[str]:
        return await asyncio.wait_for(asyncio.gather(*[talk(n) for n in range(16)]), 20)

    answers = asyncio.run(main())
    assert asked == {f"approver {n}": [str(n)] for n in range(16)}
    assert [answer[:8] for answer in answers] == ["REJECTED", "refunded"] * 8
    assert sorted(int(order) for order, _ in refunded) == [*range(1, 16, 2)]
    by = {task.payload["order"]: (ax.get(task.id).approval or {})["by"] for task in ax.tasks().tasks}
    assert all(f"approver {order}" in name for order, name in by.items())


def test_a_re_issued_call_is_no_second_card(refund: Any, refunded: list[Any]) -> None:
    """The model asks for the same refund twice in one message: one question, one refund, two true answers."""
    script = [("refund", {"order": "1"}, "a"), ("refund", {"order": "1"}, "b")]
    cards: list[ApprovalRequired] = []

    async def main() -> list[str]:
        handler = agent([refund], script, "done").run("go")

        def approve(card: ApprovalRequired) -> ApprovalDecision:
            return card.answer("approve", by="ann")

        return [each.content for each in await asyncio.wait_for(turn(handler, approve, cards), 10)]

    answers = asyncio.run(main())
    assert len(cards) == 1
    assert refunded == [("1", 1)]
    assert all("refunded 1 1" in answer for answer in answers), answers


def test_nobody_decides_in_time(refund: Any, refunded: list[Any], ax: AX, clock: Skew) -> None:
    """The question lapses on record, and the waiting workflow hears of it."""

    def lapse(card: ApprovalRequired) -> None:
        async def soon() -> None:
            clock.ahead(86_500)
            await asyncio.to_thread(beat, ax)

        asyncio.get_running_loop().create_task(soon())

    output = decided(refund, lapse)
    assert output.is_error
    assert "nobody approved it in time" in output.content
    assert refunded == []


def test_a_body_that_waits_itself_gets_its_own_answer(ax: AX) -> None:
    """Approval first, then the tool's own question: neither takes the other's event."""
    seen: list[str] = []

    async def careful(ctx: Context, q: str) -> str:
        """Ask, and act."""
        seen.append("entered")
        answer = await ctx.wait_for_event(
            HumanResponseEvent, waiter_id="own", waiter_event=InputRequiredEvent(prefix=q)
        )
        return f"they said {answer.response}"

    tool = wrap_tool(FunctionTool.from_defaults(async_fn=careful), ax, policy=Policy("unsafe", confirm=True))

    async def main() -> list[str]:
        handler = ask(tool, {"q": "sure?"}).run("go")
        found = []
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                handler.ctx.send_event(event.answer("approve", by="ann"))
            elif isinstance(event, InputRequiredEvent):
                handler.ctx.send_event(HumanResponseEvent(response="yes"))
            if isinstance(event, ToolCallResult):
                found.append(event.tool_output.content)
        await handler
        return found

    assert asyncio.run(asyncio.wait_for(main(), 10)) == ["they said yes"]
    assert seen == ["entered", "entered"]


def test_a_predicate_asks_about_some_calls_only(ax: AX, refunded: list[Any]) -> None:
    """``confirm=`` with a function of the arguments."""

    def refund(order: str, amount: int) -> str:
        """Refund."""
        refunded.append((order, amount))
        return "ok"

    tool = wrap_tool(refund, ax, policy=Policy("unsafe", confirm=lambda args: args["amount"] > 5))
    cards: list[ApprovalRequired] = []
    decided(tool, lambda card: card.answer("reject"), {"order": "1", "amount": 5}, cards)
    assert (cards, refunded) == ([], [("1", 5)])
    decided(tool, lambda card: card.answer("reject"), {"order": "1", "amount": 6}, cards)
    assert (len(cards), refunded) == (1, [("1", 5)])


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_where_nothing_can_pause_it_is_pending_at_once(
    mode: str, refund: Any, refunded: list[Any], ax: AX
) -> None:
    """A call outside a workflow answers with the task's id; approved, it runs when the same request is sent again."""

    def once() -> Any:
        with ax.override(request_id="refund-of-7"):
            if mode == "sync":
                return refund.call(order="7")
            return asyncio.run(refund.acall(order="7"))

    output = once()
    (task,) = ax.tasks().tasks
    assert output.is_error
    assert output.content.startswith("PENDING APPROVAL")
    assert task.id in output.content
    ax.confirm(task.id, by="ops")
    assert once().content == "refunded 7 1"
    assert refunded == [("7", 1)]


def test_a_later_turn_asks_anew(refund: Any, refunded: list[Any]) -> None:
    """The same refund in another turn is another question."""
    cards: list[ApprovalRequired] = []

    async def main() -> None:
        made = ask(refund, {"order": "7"})
        ctx = Context(made)
        for _ in range(2):
            await asyncio.wait_for(
                turn(made.run("go", ctx=ctx), lambda card: card.answer("approve"), cards), 10
            )

    asyncio.run(main())
    assert len({card.ax_task_id for card in cards}) == 2
    assert refunded == [("7", 1), ("7", 1)]
