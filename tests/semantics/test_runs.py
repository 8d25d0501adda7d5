"""Runs: one intent, its identity, its states, what stands under it, and its clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from ax_core import (
    AX,
    AXError,
    ConfirmationPending,
    Effect,
    NotAllowed,
    RunState,
    State,
    TaskCancelled,
    TaskDead,
    ToolFailed,
    UnknownTask,
    current,
)
from ax_core.model import Run
from support.aside import Aside, outcome
from support.ears import late
from support.expiry import LIMIT, expiring
from support.fresh import beat, fresh
from support.probe import Held, Interrupt, Probe
from support.skew import Skew


def run_of(ax: AX, run_id: str) -> Run:
    return ax.tree(run_id).run


# -- identity ------------------------------------------------------------------------------------------------


def test_calls_belong_to_the_run_around_them_and_to_no_other(ax: AX) -> None:
    Probe().tool(ax)
    with ax.run(session="s", intent="refund order 7") as run:
        ax.call("pay")
    ax.call("pay")
    inside = ax.tree(run.id)
    assert [t.run_id for t in inside.tasks] == [run.id]
    assert (inside.run.session, inside.run.intent, inside.run.implicit) == ("s", "refund order 7", False)
    assert inside.tasks[0].session == "s"
    alone = ax.tasks().tasks[0]
    assert run_of(ax, alone.run_id).implicit
    assert alone.run_id == alone.id


def test_a_run_is_entered_again_by_its_key_and_goes_on(tmp_path: Path) -> None:
    ids = set()
    for start in range(2):
        with fresh(path=tmp_path / "ax.db") as ax:
            Probe().tool(ax)
            with ax.run(key="turn-1") as run:
                ax.call("pay", request_id=str(start))
                ids.add(run.id)
            assert len(ax.tree(run.id).tasks) == start + 1
    assert len(ids) == 1


def test_runs_without_a_key_are_two_runs_and_keys_are_per_namespace(ax: AX) -> None:
    with ax.run() as a, ax.run(key="k") as b:
        pass
    with ax.run() as c, ax.for_namespace("acme").run(key="k") as d:
        pass
    assert len({a.id, b.id, c.id, d.id}) == 4


def test_a_run_inside_a_run_is_a_subtree_of_it(ax: AX) -> None:
    Probe().tool(ax)
    with ax.run(session="s") as outer:
        ax.call("pay")
        with ax.run(intent="sub-agent") as inner:
            ax.call("pay")
    tree = ax.tree(outer.id)
    assert [len(tree.tasks), len(tree.runs), len(tree.runs[0].tasks)] == [1, 1, 1]
    assert (tree.runs[0].run.id, tree.runs[0].run.parent_run_id, tree.runs[0].run.session) == (
        inner.id,
        outer.id,
        "s",
    )


def test_a_call_inside_a_tool_is_its_child_and_belongs_to_the_same_run(ax: AX) -> None:
    Probe().tool(ax)

    @ax.tool
    def agent() -> str:
        with ax.run(intent="nested"):
            ax.call("pay")
        return str(ax.call("pay"))

    with ax.run() as run:
        assert agent() == "done"
    tree = ax.tree(run.id)
    parent = next(t for t in tree.tasks if t.tool == "agent")
    assert [t.parent_id for t in tree.tasks if t.tool == "pay"] == [parent.id]
    assert [t.parent_id for t in tree.runs[0].tasks] == [parent.id]


def test_a_tool_called_outside_a_run_makes_one_with_what_it_calls(ax: AX) -> None:
    Probe().tool(ax)

    @ax.tool
    def agent() -> str:
        return str(ax.call("pay"))

    agent()
    child, parent = ax.tasks().tasks
    assert (child.parent_id, child.run_id) == (parent.id, parent.id)


def test_what_came_before_in_the_run_can_be_read_inside_it(ax: AX) -> None:
    Probe("first").tool(ax)

    @ax.tool
    def look() -> list[object]:
        return list(current().results.values())

    with ax.run():
        ax.call("pay")
        assert look() == ["first"]


# -- states --------------------------------------------------------------------------------------------------


def test_a_block_that_ends_is_done_and_one_that_raises_has_failed(ax: AX) -> None:
    Probe(RuntimeError("no")).tool(ax)
    with ax.run() as done:
        outcome(lambda: ax.call("pay"))  # the model may live with a tool's no
    with pytest.raises(LookupError), ax.run() as failed:
        raise LookupError
    assert run_of(ax, done.id).state is RunState.DONE
    assert run_of(ax, failed.id).state is RunState.FAILED
    assert run_of(ax, failed.id).ended_at is not None


def test_a_run_in_which_only_people_are_waited_for_is_paused_until_they_have_spoken(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with pytest.raises(ConfirmationPending), ax.run(session="s") as run:
        ax.call("pay", request_id="r")
    assert run_of(ax, run.id).state is RunState.PAUSED
    ax.reject(ax.inbox()[0].id, by="ann")
    assert run_of(ax, run.id).state is RunState.DONE


@pytest.mark.parametrize("verdict", ["happened", "did not"])
def test_a_run_with_an_effect_in_doubt_is_paused_until_that_is_settled(ax: AX, verdict: str) -> None:
    held = Held()
    Probe(held).tool(ax, timeout=LIMIT)
    with ax.run() as run, expiring(held):
        outcome(lambda: ax.call("pay"))
    assert run_of(ax, run.id).state is RunState.PAUSED
    ax.resolve(ax.inbox()[0].id, happened=verdict == "happened", by="ann")
    assert run_of(ax, run.id).state is RunState.DONE
    held.go.set()


def test_late_evidence_settles_the_run_too(ax: AX) -> None:
    held = Held()
    Probe(held).tool(ax, timeout=LIMIT)
    with ax.run() as run, expiring(held):
        outcome(lambda: ax.call("pay"))
    settled = late(ax)
    held.go.set()
    settled.wait()
    assert run_of(ax, run.id).state is RunState.DONE


def test_an_approved_run_goes_on_where_it_was_when_it_is_entered_again(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax, confirm=True)
    with ax.run(key="k") as run:
        outcome(lambda: ax.call("pay", request_id="r"))
    ax.confirm(ax.inbox()[0].id, by="ann")
    assert run_of(ax, run.id).state is RunState.PAUSED
    with ax.run(key="k") as again:
        assert run_of(ax, run.id).state is RunState.OPEN
        assert ax.call("pay", request_id="r") == "done"
    assert (again.id, run_of(ax, run.id).state) == (run.id, RunState.DONE)


def test_a_run_is_paused_while_a_run_under_it_waits_for_people(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with ax.run() as outer, ax.run() as inner:
        outcome(lambda: ax.call("pay"))
    assert run_of(ax, inner.id).state is run_of(ax, outer.id).state is RunState.PAUSED
    ax.reject(ax.inbox()[0].id, by="ann")
    assert run_of(ax, inner.id).state is run_of(ax, outer.id).state is RunState.DONE


def test_a_run_whose_block_ended_before_its_tasks_is_done_with_the_last_of_them(ax: AX) -> None:
    held = Held()
    Probe(held).tool(ax)
    with ax.run() as run:
        handle = ax.submit("pay")
        held.wait_entered()
    assert run_of(ax, run.id).state is RunState.OPEN
    held.go.set()
    ax.wait_for_result(handle, timeout=10)
    assert run_of(ax, run.id).state is RunState.DONE


def test_a_run_whose_last_task_was_lost_is_paused_for_a_person(ax: AX, clock: Skew) -> None:
    held = Held()
    Probe(held).tool(ax)
    with ax.run() as run:
        ax.submit("pay")
        held.wait_entered()
    clock.ahead(31)
    beat(ax)
    assert run_of(ax, run.id).state is RunState.PAUSED
    held.go.set()


def test_an_interrupted_block_stays_open_for_whoever_comes_back(ax: AX) -> None:
    """Ctrl-C is no failure: the session is free, and the run is entered again by its key."""
    probe = Probe(Interrupt(), "done")
    probe.tool(ax, effect=Effect.READ)
    with pytest.raises(Interrupt), ax.run(session="s", key="k") as run:
        ax.call("pay", request_id="r")
    assert run_of(ax, run.id).state is RunState.OPEN
    with ax.run(session="s", key="k"):
        assert ax.call("pay", request_id="r") == "done"
    assert run_of(ax, run.id).state is RunState.DONE


def test_a_cancelled_run_takes_no_more_calls_and_is_not_entered_again(ax: AX) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(key="k") as run:
        ax.cancel(run.id, by="ops")
        with pytest.raises(TaskCancelled, match="cancelled"):
            ax.call("pay")
    assert run_of(ax, run.id).state is RunState.CANCELLED
    with pytest.raises(TaskCancelled), ax.run(key="k"):
        pass
    assert probe.count == 0


def test_cancelling_a_run_ends_what_waits_under_it_and_signals_what_runs(ax: AX) -> None:
    held = Held(lambda ctx: ctx.raise_if_cancelled())
    running, waiting = Probe(held), Probe()
    running.tool(ax, "run")
    waiting.tool(ax, "wait", confirm=True)
    with ax.run() as run:
        handle = ax.submit("run")
        held.wait_entered()
        with ax.run() as inner:
            outcome(lambda: ax.call("wait"))
        verdict = ax.cancel(run.id, by="ops")
    assert verdict
    assert "1 running" in verdict.message
    assert run_of(ax, inner.id).state is RunState.CANCELLED
    assert ax.tasks(tool="wait").tasks[0].state is State.CANCELLED
    held.go.set()
    with pytest.raises(TaskCancelled):
        ax.wait_for_result(handle, timeout=10)
    assert not ax.cancel(run.id, by="bob")


def test_an_ended_run_says_how_to_go_on(ax: AX) -> None:
    Probe().tool(ax)
    with ax.run(key="k") as run:
        pass
    with ax.run(key="k"):
        ax.call("pay")
    assert run_of(ax, run.id).state is RunState.DONE
    from ax_core.dispatch import Call, RunScope

    stale = RunScope(run.id, run.id, "default", None, "")
    with pytest.raises(TaskDead, match="enter it again by its key"):
        ax.dispatch(Call(ax.tools.get("pay"), {}, scope=stale))


def test_unknown_runs_and_runs_of_others_are_unknown(ax: AX) -> None:
    with ax.run() as run:
        pass
    for ask in (
        lambda: ax.tree("nope"),
        lambda: ax.for_namespace("acme").tree(run.id),
        lambda: ax.cancel("x", by="o"),
    ):
        with pytest.raises(UnknownTask):
            ask()
    with pytest.raises(UnknownTask):
        ax.for_namespace("acme").cancel(run.id, by="mallory")


@pytest.mark.parametrize("more", [{}, {"tasks": -1}, {"tasks": 0, "seconds": 0}, {"seconds": -5}])
def test_extending_by_nothing_is_refused(ax: AX, more: dict[str, int]) -> None:
    with ax.run() as run, pytest.raises(NotAllowed):
        ax.extend(run.id, by="ops", **more)


def test_a_run_that_did_not_end_by_its_budget_is_not_extended(ax: AX) -> None:
    with ax.run() as run:
        pass
    with pytest.raises(NotAllowed, match="DONE"):
        ax.extend(run.id, tasks=1, by="ops")
    Probe().tool(ax)
    ax.call("pay")
    with pytest.raises(UnknownTask, match="implicit"):
        ax.extend(ax.tasks().tasks[0].run_id, tasks=1, by="ops")


def test_a_digest_of_its_tasks_heads_closes_a_run(ax: AX) -> None:
    from ax_core.store import runs

    Probe().tool(ax)
    with ax.run() as run:
        ax.call("pay")
    row = ax._core.db.read(lambda tx: runs.get(tx, run.id))
    assert row is not None
    assert len(row.digest) == 64


async def test_the_async_block_is_the_same_block(ax: AX) -> None:
    Probe(RuntimeError("no")).tool(ax)
    async with ax.run(session="s", key="k") as run:
        with pytest.raises(ToolFailed):
            await ax.acall("pay")
    assert (await ax.atree(run.id)).run.state is RunState.DONE
    async with ax.run(session="s", key="k") as again:
        assert await ax.acall("pay") == "done"
    assert again.id == run.id


def test_what_a_thread_of_the_block_calls_belongs_to_it_only_if_it_carries_the_context(ax: AX) -> None:
    import contextvars

    Probe().tool(ax)
    with ax.run() as run:
        context = contextvars.copy_context()
        Aside(lambda: context.run(ax.call, "pay")).result()
        Aside(lambda: ax.call("pay")).result()
    assert len(ax.tree(run.id).tasks) == 1


def test_a_run_under_a_closed_ax_is_refused_clearly(clock: Skew) -> None:
    with fresh(clock) as ax:
        pass
    with pytest.raises(AXError, match="closed"), ax.run():
        pass
