"""A person decides: the call is on record first, then its workflow waits for an event, and the record is the truth."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.agent.workflow import ToolCallResult
from llama_index.core.tools import FunctionTool
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from pydantic import ValidationError

from ax_adapters.llama_index import ApprovalDecision, ApprovalRequired, wrap_tool
from ax_core import AX, Policy, State
from support.fresh import beat, fresh
from support.llama import Saved, agent, ask
from support.skew import Skew

Decide = Callable[[ApprovalRequired], ApprovalDecision | None]


@pytest.fixture
def refunded() -> list[tuple[str, int]]:
    return []


@pytest.fixture
def refund(ax: AX, refunded: list[tuple[str, int]]) -> Any:
    def refund(order: str, amount: int = 1) -> str:
        """Refund an order."""
        refunded.append((order, amount))
        return f"refunded {order} {amount}"

    return wrap_tool(refund, ax, policy=Policy("unsafe", confirm=True))


async def turn(handler: Any, decide: Decide, cards: list[ApprovalRequired] | None = None) -> list[Any]:
    """See a turn through, answering each card; what the tools told the model."""
    found = []
    async for event in handler.stream_events():
        if isinstance(event, ApprovalRequired):
            if cards is not None:
                cards.append(event)
            if (said := decide(event)) is not None:
                handler.ctx.send_event(said)
        if isinstance(event, ToolCallResult):
            found.append(event.tool_output)
    await handler
    return found


def decided(tool: Any, decide: Decide, args: Any = None, cards: Any = None) -> Any:
    """What one call told the model, once it was decided."""

    async def main() -> Any:
        handler = ask(tool, args or {"order": "7", "amount": 10}).run("go")
        (output,) = await asyncio.wait_for(turn(handler, decide, cards), 10)
        return output

    return asyncio.run(main())


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


@pytest.mark.parametrize("verb", ["confirm", "reject"])
def test_decided_elsewhere_a_waiting_workflow_goes_on(
    verb: str, refund: Any, refunded: list[Any], ax: AX
) -> None:
    """``await ax.aconfirm(…)`` in a web backend of this process: no event needs to be sent."""

    def elsewhere(card: ApprovalRequired) -> None:
        asyncio.get_running_loop().create_task(getattr(ax, f"a{verb}")(card.ax_task_id, by="ops"))

    output = decided(refund, elsewhere)
    assert output.is_error == (verb == "reject")
    assert refunded == ([("7", 10)] if verb == "confirm" else [])


@pytest.mark.guarantee
@pytest.mark.parametrize("verb", ["confirm", "reject"])
def test_decided_by_another_process_a_live_workflow_goes_on(verb: str, tmp_path: Path) -> None:
    """``axd confirm``, without a queue: the record is read again while the workflow waits."""
    done: list[str] = []

    def pay(order: str) -> str:
        """Pay."""
        done.append(order)
        return "paid"

    with fresh(path=tmp_path / "ax.db") as ax, AX(f"sqlite:///{tmp_path}/ax.db") as elsewhere:

        def there(card: ApprovalRequired) -> None:
            asyncio.get_running_loop().call_later(0.5, decide, card.ax_task_id)

        def decide(task_id: str) -> None:
            assert getattr(elsewhere, verb)(task_id, by="ops").done

        tool = wrap_tool(pay, ax, policy=Policy("unsafe", confirm=True))
        output = decided(tool, there, {"order": "7"})
    assert output.is_error == (verb == "reject")
    assert done == (["7"] if verb == "confirm" else [])


def test_decided_before_the_step_waited_is_heard_too(ax: AX, refund: Any, refunded: list[Any]) -> None:
    """A handler that confirms at once, before the workflow has begun to wait."""

    @ax.on("confirming")
    def at_once(event: Any) -> None:
        ax.confirm(event.task_id, by="policy")

    assert decided(refund, lambda card: None).content == "refunded 7 10"
    assert refunded == [("7", 10)]


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


def test_it_waits_in_a_serialised_context(refund: Any, refunded: list[Any]) -> None:
    """Saved while it waits, restored, and answered there."""

    async def main() -> list[str]:
        made = ask(refund, {"order": "7"})
        handler = made.run("go")
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                card = event
                saved = Saved.of(handler.ctx)
                await handler.cancel_run()
                break
        handler = made.run(ctx=Saved.again(made, saved))
        handler.ctx.send_event(card.answer("approve", by="ann"))
        return [each.content for each in await asyncio.wait_for(turn(handler, lambda card: None), 10)]

    assert asyncio.run(main()) == ["refunded 7 1"]
    assert refunded == [("7", 1)]


def test_decided_while_no_workflow_ran_it_is_not_asked_again(
    refund: Any, refunded: list[Any], ax: AX
) -> None:
    """Approved on record between the save and the restore: the restored workflow goes on by itself."""
    cards: list[ApprovalRequired] = []

    async def main() -> list[str]:
        made = ask(refund, {"order": "7"})
        handler = made.run("go")
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                saved = Saved.of(handler.ctx)
                await handler.cancel_run()
                await ax.aconfirm(event.ax_task_id, by="ops")
                break
        handler = made.run(ctx=Saved.again(made, saved))
        return [each.content for each in await asyncio.wait_for(turn(handler, lambda card: None, cards), 10)]

    assert asyncio.run(main()) == ["refunded 7 1"]
    assert refunded == [("7", 1)]
    assert cards == []


def test_two_workflows_resumed_from_one_context_refund_once(refund: Any, refunded: list[Any]) -> None:
    """Both are told to go on; one effect, and both read its result."""

    async def main() -> list[list[str]]:
        made = ask(refund, {"order": "7"})
        handler = made.run("go")
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                card = event
                saved = Saved.of(handler.ctx)
                await handler.cancel_run()
                break
        handlers = [made.run(ctx=Saved.again(made, saved)) for _ in range(3)]
        for each in handlers:
            each.ctx.send_event(card.answer("approve", by="ann"))
        ended = await asyncio.wait_for(
            asyncio.gather(*(turn(each, lambda card: None) for each in handlers)), 10
        )
        return [[output.content for output in outputs] for outputs in ended]

    assert asyncio.run(main()) == [["refunded 7 1"]] * 3
    assert refunded == [("7", 1)]


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


def test_a_decided_call_leaves_nothing_waiting_behind(ax: AX, refund: Any, refunded: list[Any]) -> None:
    """Decided while no workflow ran, so its event never came: the restored workflow does not go on waiting for it,
    or an event that comes later would have the call answered a second time."""
    waits: list[Any] = []

    async def main() -> None:
        made = agent([refund], [("refund", {"order": "7"})], [("refund", {"order": "8"})], "done")
        handler = made.run("go")
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                saved = Saved.of(handler.ctx)
                await handler.cancel_run()
                await ax.aconfirm(event.ax_task_id, by="ops")
                break
        handler = made.run(ctx=Saved.again(made, saved))
        async for event in handler.stream_events():
            if isinstance(event, ApprovalRequired):
                found = Saved.of(handler.ctx)["workers"]["call_tool"]["collected_waiters"]
                waits.extend(wait["waiter_id"] for wait in found)
                handler.ctx.send_event(event.answer("approve"))
        await handler

    asyncio.run(asyncio.wait_for(main(), 10))
    assert refunded == [("7", 1), ("8", 1)]
    assert len(waits) == 1
