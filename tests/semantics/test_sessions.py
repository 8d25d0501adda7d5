"""One chain per session: who is refused, who waits, who takes over, and who may let go."""

from __future__ import annotations

import asyncio
import contextvars
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, PolicyError, RunState, SessionBusy, State, TaskCancelled, current
from ax_core.model import LockRow
from ax_core.store import locks
from support.aside import Aside, outcome, together
from support.fresh import fresh, watch
from support.probe import Held, Probe
from support.skew import Skew


def lock(ax: AX, session: str = "s") -> LockRow:
    row = ax._core.db.read(lambda tx: locks.get(tx, ax.namespace, session))
    assert row is not None
    return row


def elsewhere(fn: Callable[[], Any]) -> Any:
    """What a call on another thread, outside every run, gives."""
    return outcome(Aside(fn).result)


def enter(ax: AX, **how: Any) -> str:
    with ax.run(session="s", **how) as run:
        return run.id


def test_a_second_chain_is_refused_at_once_and_told_which_run_is_there(ax: AX) -> None:
    with ax.run(session="s") as run:
        busy = elsewhere(lambda: enter(ax))
        assert isinstance(busy, SessionBusy)
        assert (busy.run_id, busy.safe_to_repeat) == (run.id, True)
        assert "Nothing was done" in busy.for_model
        assert isinstance(elsewhere(lambda: enter(ax.for_namespace("acme"))), str)
    assert isinstance(enter(ax), str)


def test_of_many_chains_at_once_exactly_one_gets_in(ax: AX) -> None:
    """Threads: the check and the entry are one step in the store."""
    go = Held()

    def chain() -> str:
        with ax.run(session="s") as run:
            go.go.wait(10)
            return run.id

    calls = [Aside(chain) for _ in range(8)]
    refused = []
    while len(refused) < 7:
        refused = [c for c in calls if c.ended]
        go.go.wait(0.005)
    go.go.set()
    answers = [outcome(c.result) for c in calls]
    assert sorted(type(a).__name__ for a in answers) == ["SessionBusy"] * 7 + ["str"]


async def test_of_many_coroutines_at_once_exactly_one_gets_in(ax: AX) -> None:
    done = asyncio.Event()

    async def chain() -> str:
        async with ax.run(session="s") as run:
            await done.wait()
            return run.id

    chains = [asyncio.create_task(chain()) for _ in range(16)]
    refused = 0
    for first in asyncio.as_completed(chains):
        try:
            await first
        except SessionBusy:
            refused += 1
        if refused == 15:
            done.set()
    assert refused == 15


def test_a_chain_may_wait_for_the_one_before_it(ax: AX) -> None:
    held = Held()
    probe = Probe(held, "second")
    probe.tool(ax)

    def first() -> Any:
        with ax.run(session="s"):
            return ax.call("pay")

    def second() -> Any:
        with ax.run(session="s", on_busy="wait"):
            return ax.call("pay")

    one = Aside(first)
    held.wait_entered()
    two = Aside(second)
    with pytest.raises(SessionBusy), ax.run(session="s", on_busy="wait", wait=0.0):
        pass
    assert probe.count == 1
    held.go.set()
    assert (one.result(), two.result()) == ("done", "second")


async def test_a_coroutine_may_wait_too_and_blocks_nobody_meanwhile(ax: AX) -> None:
    async def second() -> str:
        async with ax.run(session="s", on_busy="wait") as run:
            return run.id

    async def third() -> None:
        async with ax.run(session="s"):
            pass

    async with ax.run(session="s"):
        waiting = asyncio.create_task(asyncio.wait_for(second(), 10), context=contextvars.Context())
        with pytest.raises(SessionBusy):
            await asyncio.create_task(third(), context=contextvars.Context())
        assert not waiting.done()
    assert isinstance(await waiting, str)


def test_a_chain_may_supersede_the_one_before_it(ax: AX) -> None:
    """What runs is asked to stop and seen to end first: no two chains ever write interleaved."""
    stopping = Held(lambda ctx: ctx.raise_if_cancelled())
    probe = Probe(stopping, "second")
    probe.tool(ax)
    runs: list[str] = []

    def first() -> Any:
        with ax.run(session="s") as run:
            runs.append(run.id)
            outcome(lambda: ax.call("pay"))
            return ax.call("pay")

    def second() -> Any:
        with ax.run(session="s", on_busy="supersede"):
            return ax.call("pay")

    one = Aside(first)
    stopping.wait_entered()
    two = Aside(second)
    asked = Held()
    while not ax.tasks().tasks[-1].cancel_requested:
        asked.go.wait(0.005)
    assert not two.ended
    stopping.go.set()
    assert two.result() == "second"
    assert isinstance(outcome(one.result), TaskCancelled)
    assert (ax.tree(runs[0]).run.state, ax.tree(runs[0]).run.reason) == (RunState.CANCELLED, "superseded")
    assert probe.count == 2


def test_a_superseded_chain_does_not_let_go_what_is_no_longer_its_own(ax: AX) -> None:
    def second() -> Any:
        with ax.run(session="s", on_busy="supersede") as run:
            inside.entered.set()
            inside.go.wait(10)
            return run.id

    inside = Held()
    with ax.run(session="s"):
        two = Aside(second)
        inside.wait_entered()
    held = lock(ax)
    assert held.expires_at > ax._core.clock.now()
    assert isinstance(outcome(lambda: enter(ax)), SessionBusy)
    inside.go.set()
    assert held.run_id == two.result()


def test_the_lock_is_let_go_by_its_token_only(ax: AX) -> None:
    with ax.run(session="s"):
        before = lock(ax)
        for token in ("", "somebody/else", before.run_id):
            assert not ax._core.db.write(lambda tx, t=token: locks.release(tx, "default", "s", t))
            assert not ax._core.db.write(lambda tx, t=token: locks.renew(tx, "default", "s", t, 0))
        assert lock(ax) == before
    assert lock(ax).expires_at == 0


def test_every_new_holder_gets_a_higher_fence(ax: AX) -> None:
    fences = []
    for _ in range(3):
        with ax.run(session="s"):
            fences.append(lock(ax).fence)
    assert fences == [1, 2, 3]


def test_a_lease_that_ran_out_frees_the_session_and_the_old_chain_is_refused(ax: AX, clock: Skew) -> None:
    """A holder that was stopped for too long wakes up: it is told, and does nothing."""
    probe = Probe()
    probe.tool(ax)
    with ax.run(session="s"):
        ax.call("pay")
        clock.ahead(31)
        other = Held()

        def second() -> Any:
            with ax.run(session="s"):
                other.entered.set()
                other.go.wait(10)

        two = Aside(second)
        other.wait_entered()
        with pytest.raises(SessionBusy):
            ax.call("pay")
        other.go.set()
        two.result()
    assert probe.count == 1


def test_a_lease_that_merely_lapsed_is_taken_up_again_by_its_own_chain(ax: AX, clock: Skew) -> None:
    probe = Probe()
    probe.tool(ax)
    with ax.run(session="s"):
        clock.ahead(31)
        assert ax.call("pay") == "done"
        assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)


def test_a_long_chain_keeps_its_session_while_it_lives(ax: AX, clock: Skew) -> None:
    with ax.run(session="s"):
        for _ in range(5):
            clock.ahead(20)
            watch(ax).beat([])
            assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)


def test_a_dead_holder_on_this_host_frees_its_session_at_once(tmp_path: Path, clock: Skew) -> None:
    path = tmp_path / "ax.db"
    with fresh(clock, path) as ax:
        die = f"""
import os
from ax_core import AX
run = AX("sqlite:///{path}").run(session="s")
run.__enter__()
print(run.id, flush=True)
os._exit(9)
"""
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        gone = subprocess.run(
            [sys.executable, "-c", die], env=env, capture_output=True, text=True, check=False
        )
        assert gone.returncode == 9, gone.stderr
        assert lock(ax).run_id == gone.stdout.strip()
        assert lock(ax).expires_at > clock.now()
        assert isinstance(enter(ax), str)


def test_a_refreshed_request_with_the_same_key_enters_its_run_before_the_lock_is_asked(ax: AX) -> None:
    with ax.run(session="s", key="turn") as first:
        assert isinstance(elsewhere(lambda: enter(ax, key="another")), SessionBusy)
        assert elsewhere(lambda: enter(ax, key="turn")) == first.id


def test_who_was_refreshed_away_does_not_end_the_run_of_the_one_that_came_back(ax: AX) -> None:
    inside = Held()

    def refreshed() -> Any:
        with ax.run(session="s", key="turn"):
            inside.entered.set()
            inside.go.wait(10)

    with ax.run(session="s", key="turn") as run:
        two = Aside(refreshed)
        inside.wait_entered()
    assert ax.tree(run.id).run.state is RunState.OPEN
    assert isinstance(outcome(lambda: enter(ax)), SessionBusy)
    inside.go.set()
    two.result()
    assert ax.tree(run.id).run.state is RunState.DONE


def test_nested_calls_and_runs_of_the_same_chain_pass(ax: AX) -> None:
    """Three levels deep, sync in sync, each of them in the session that the outermost holds."""
    Probe().tool(ax)

    @ax.tool
    def level_two() -> Any:
        with ax.run(session="s"):
            return ax.call("pay")

    @ax.tool
    def level_one() -> Any:
        return ax.call("level_two")

    with ax.run(session="s") as run:
        assert level_one() == "done"
        assert lock(ax).run_id == run.id
        assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)


def test_a_nested_run_in_a_session_of_its_own_lets_go_of_it_at_its_end(ax: AX) -> None:
    with ax.run(session="s"):
        with ax.run(session="t"):
            assert isinstance(elsewhere(lambda: enter_in(ax, "t")), SessionBusy)
        assert isinstance(elsewhere(lambda: enter_in(ax, "t")), str)
        assert isinstance(elsewhere(lambda: enter(ax)), SessionBusy)


def enter_in(ax: AX, session: str) -> str:
    with ax.run(session=session) as run:
        return run.id


def test_a_paused_run_lets_others_in_and_must_ask_again(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with ax.run(session="s", key="turn"):
        outcome(lambda: ax.call("pay"))
    with ax.run(session="s"):
        assert isinstance(elsewhere(lambda: enter(ax, key="turn")), SessionBusy)
    assert isinstance(enter(ax, key="turn"), str)


def test_a_chain_that_enters_reads_what_the_one_before_it_left(ax: AX) -> None:
    """Budget, approvals and cancels are read in the transaction that admits, never from before the lock."""
    Probe().tool(ax)
    with ax.run(session="s", key="turn") as first:
        ax.cancel(first.id, by="ops")
    refused = outcome(lambda: enter(ax, key="turn"))
    assert isinstance(refused, TaskCancelled)
    assert isinstance(enter(ax), str)


def test_two_sessions_in_one_process_never_see_each_others_run(ax: AX) -> None:
    seen: dict[str, set[Any]] = {"a": set(), "b": set()}

    @ax.tool
    def who(session: str, turn: int) -> None:
        seen[session].add((current().run_id, ax.get(current().task_id or "").session))

    def chain(session: str) -> str:
        with ax.run(session=session) as run:
            for turn in range(10):
                who(session, turn)
            return run.id

    ids = together([lambda: chain("a"), lambda: chain("b")])
    assert seen == {"a": {(ids[0], "a")}, "b": {(ids[1], "b")}}


def test_a_misspelt_way_to_be_busy_is_refused(ax: AX) -> None:
    with pytest.raises(PolicyError, match="on_busy='queue'"):
        ax.run(session="s", on_busy="queue")


def test_without_a_session_nothing_is_locked(ax: AX) -> None:
    Probe().tool(ax)
    with ax.run():
        assert Aside(lambda: ax.call("pay")).result() == "done"
        with ax.run():
            assert ax.call("pay") == "done"
    assert all(t.state is State.SUCCESS for t in ax.tasks().tasks)
