"""Decided by somebody else, or while nobody ran: the record is the truth, and wakes whoever waits."""

# No postponed annotations: LlamaIndex compares the raw ones of a tool with Context.
import asyncio
from pathlib import Path
from typing import Any

import pytest

from ax_adapters.llama_index import ApprovalRequired, wrap_tool
from ax_core import AX, Policy
from support.fresh import fresh
from support.llama import Saved, agent, ask
from support.llama_deciding import decided, turn


async def put_away(made: Any) -> tuple[ApprovalRequired, dict[str, Any]]:
    """Run a workflow until it asks a person, save it there and end it: the question, and the context as text."""
    handler = made.run("go")
    async for event in handler.stream_events():
        if isinstance(event, ApprovalRequired):
            saved = Saved.of(handler.ctx)
            await handler.cancel_run()
            return event, saved
    raise AssertionError("nobody was asked")


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


def test_it_waits_in_a_serialised_context(refund: Any, refunded: list[Any]) -> None:
    """Saved while it waits, restored, and answered there."""

    async def main() -> list[str]:
        made = ask(refund, {"order": "7"})
        card, saved = await put_away(made)
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
        card, saved = await put_away(made)
        await ax.aconfirm(card.ax_task_id, by="ops")
        handler = made.run(ctx=Saved.again(made, saved))
        return [each.content for each in await asyncio.wait_for(turn(handler, lambda card: None, cards), 10)]

    assert asyncio.run(main()) == ["refunded 7 1"]
    assert refunded == [("7", 1)]
    assert cards == []


def test_two_workflows_resumed_from_one_context_refund_once(refund: Any, refunded: list[Any]) -> None:
    """Both are told to go on; one effect, and both read its result."""

    async def main() -> list[list[str]]:
        made = ask(refund, {"order": "7"})
        card, saved = await put_away(made)
        handlers = [made.run(ctx=Saved.again(made, saved)) for _ in range(3)]
        for each in handlers:
            each.ctx.send_event(card.answer("approve", by="ann"))
        ended = await asyncio.wait_for(
            asyncio.gather(*(turn(each, lambda card: None) for each in handlers)), 10
        )
        return [[output.content for output in outputs] for outputs in ended]

    assert asyncio.run(main()) == [["refunded 7 1"]] * 3
    assert refunded == [("7", 1)]


def test_a_decided_call_leaves_nothing_waiting_behind(ax: AX, refund: Any, refunded: list[Any]) -> None:
    """Decided while no workflow ran, so its event never came: the restored workflow does not go on waiting for it,
    or an event that comes later would have the call answered a second time."""
    waits: list[Any] = []

    async def main() -> None:
        made = agent([refund], [("refund", {"order": "7"})], [("refund", {"order": "8"})], "done")
        card, saved = await put_away(made)
        await ax.aconfirm(card.ax_task_id, by="ops")
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
