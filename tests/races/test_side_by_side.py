"""What SQLite's one write lock gives for nothing, and servers by locks: two that look at once do not both go on."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from ax_core import AX, AXError, Budget, ConfirmationPending, State, faults
from ax_core.dispatch import Call, RunScope
from ax_core.scheduler import sweep
from support.aside import Aside, outcome, together
from support.ledger import until

ROUNDS = 12
ANY = {"properties": {"n": {}}}


@pytest.fixture
def both(url: str) -> Iterator[tuple[AX, AX]]:
    """Two of them on one record, as two processes would have it."""
    with AX(url) as one, AX(url) as other:
        for ax in (one, other):
            ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})
            ax.register(lambda n: n, name="pay", schema=ANY, policy={"effect": "unsafe", "confirm": True})
            ax.tasks()
        yield one, other
    faults.disarm()


@pytest.mark.parametrize("url", ["postgresql", "mariadb"], indirect=True)
@pytest.mark.parametrize("same", ["request", "key", "twin"])
def test_the_second_admission_waits_for_the_first_and_sees_it(both: tuple[AX, AX], same: str) -> None:
    """Held between its INSERT and its COMMIT: an equal call comes, and gets the same task."""
    one, other = both
    tool, inside, go = ("pay" if same == "twin" else "act"), threading.Event(), threading.Event()

    def hold() -> None:
        inside.set()
        assert go.wait(20)

    def call(ax: AX) -> object:
        if same == "twin":
            return outcome(partial(in_session, ax, 1))
        return outcome(
            partial(ax.call, tool, {"n": 1}, **{"request_id" if same == "request" else "key": "k"})
        )

    faults.arm("admit.before_commit", hold)
    first = Aside(partial(call, one))
    assert inside.wait(20)
    second = Aside(partial(call, other))
    threading.Event().wait(0.2)  # there is no event for "it waits for a lock": it had time enough to go wrong
    assert not second.ended
    go.set()
    said = [first.result(), second.result()]
    (task,) = one.tasks().tasks
    if same == "twin":
        assert {type(answer) for answer in said} == {ConfirmationPending}
        assert {answer.task_id for answer in said if isinstance(answer, AXError)} == {task.id}
    else:
        assert said == [1, 1]
        assert task.attempts == 1


def test_equal_calls_that_need_a_person_make_one_card(both: tuple[AX, AX]) -> None:
    for round in range(ROUNDS):
        calls = [partial(in_session, ax, round) for ax in both for _ in range(4)]
        said = together(calls)
        assert {type(answer) for answer in said} == {ConfirmationPending}
        assert len({answer.task_id for answer in said}) == 1
    assert len(both[0].tasks(limit=100).tasks) == ROUNDS


def test_of_operators_that_decide_at_once_one_does(both: tuple[AX, AX]) -> None:
    for round in range(ROUNDS):
        with pytest.raises(ConfirmationPending) as pending:
            both[0].call("pay", {"n": round}, request_id=f"r{round}")
        task_id = str(pending.value.task_id)
        clicks = [partial(ax.confirm, task_id, by=f"op{n}") for ax in both for n in range(2)]
        clicks += [partial(ax.reject, task_id, by=f"op{n}") for n, ax in enumerate(both, 2)]
        said = together(clicks)
        assert [bool(verdict) for verdict in said].count(True) == 1, said
        verbs = [entry.verb for entry in both[0].audit(task_id)]
        assert len([verb for verb in verbs if verb in ("confirm", "reject")]) == 1
        assert both[0].verify(task_id) is None


def test_the_last_two_of_a_run_that_end_at_once_settle_it(both: tuple[AX, AX]) -> None:
    """Each sees the other still running, unless they look one after the other: then nobody would close the run."""
    one, _ = both
    meet, entered = threading.Barrier(2), threading.Semaphore(0)

    def last(n: int) -> int:
        entered.release()
        meet.wait(20)
        return n

    one.register(last, name="last", policy={"effect": "unsafe", "dedupe": "call"})
    for _ in range(ROUNDS):
        with one.run() as run:
            for n in range(2):
                one.submit("last", {"n": n})
            meet_is_left = entered.acquire(timeout=20)
            assert meet_is_left
        assert until(lambda run=run: one.tree(run.id).run.state == "DONE"), one.tree(run.id)
        assert entered.acquire(timeout=20)


def test_a_run_that_is_cancelled_keeps_no_call_that_came_at_the_same_moment(both: tuple[AX, AX]) -> None:
    one, other = both
    for round in range(ROUNDS):
        with pytest.raises(KeyboardInterrupt), one.run(key=f"k{round}", budget=Budget(tasks=None)) as run:
            raise KeyboardInterrupt  # its process had to leave: the run stays open
        calls = [partial(submitted, one, run.id, n) for n in range(6)]
        together([*calls, partial(other.cancel, run.id, by="ops")])
        left = [task for task in one.tree(run.id).tasks if task.state == State.CONFIRMING]
        assert left == []
        assert one.tree(run.id).run.state == "CANCELLED"


def in_session(ax: AX, n: int) -> object:
    """A call of one conversation, in a run of its own."""
    return ax.dispatch(Call(ax.tools.get("pay"), {"n": n}, session="s"))


def submitted(ax: AX, run_id: str, n: int) -> object:
    """A call in a run from outside of its block, as another process makes it."""
    scope = RunScope(run_id, run_id, ax.namespace, None, "")
    call = Call(ax.tools.get("pay"), {"n": n}, scope=scope)
    return outcome(partial(contextvars.Context().run, ax.dispatch, call))


def test_two_that_sweep_at_once_count_a_lost_attempt_once(both: tuple[AX, AX]) -> None:
    one, other = both
    for round in range(ROUNDS):
        task_id = left_behind(one, round)
        cores = [ax._core for ax in both]
        together(
            [lambda core=core: core.db.write(sweep(core.clock, core.owner, core.tell)) for core in cores]
        )
        task = other.get(task_id)
        assert (task.state, task.interruptions, len(task.history)) == (State.QUARANTINE, 1, 1)
        assert one.verify(task_id) is None


def left_behind(ax: AX, n: int) -> str:
    """An open attempt whose lease has run out."""
    ax.call("act", {"n": n}, request_id=f"left{n}")
    task = ax.find_request(f"left{n}")
    assert task is not None
    again = "UPDATE ax_task SET state = 'RUNNING', attempt_open = 1, lease_until = 1 WHERE id = :id"
    ax._core.db.write(lambda tx: tx.run(again, id=task.id))
    return task.id


def test_a_lease_that_is_renewed_while_it_is_judged_holds(both: tuple[AX, AX]) -> None:
    """Sweeper and owner at the same moment: the attempt is lost or it is not, and its history says the same."""
    one, other = both
    for round in range(ROUNDS):
        task_id = left_behind(one, round)
        fresh = one._core.clock.now() + 60_000_000
        renew = "UPDATE ax_task SET lease_until = :until WHERE id = :id AND state = 'RUNNING'"
        core = other._core
        together(
            [
                lambda until=fresh, id=task_id: one._core.db.write(
                    lambda tx: tx.run(renew, until=until, id=id)
                ),
                lambda: core.db.write(sweep(core.clock, core.owner, core.tell)),
            ]
        )
        task = one.get(task_id)
        (attempt,) = task.history
        assert (task.state, attempt.outcome) in ((State.RUNNING, "running"), (State.QUARANTINE, "lost"))
        if task.state == State.RUNNING:
            one._core.db.write(
                lambda tx, id=task_id: tx.run("UPDATE ax_task SET state = 'SUCCESS' WHERE id = :id", id=id)
            )
