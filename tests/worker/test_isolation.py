"""Bodies in processes of their own: what hangs is killed, what dies is told apart, and nothing of it stays behind."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ax_core import OutcomeUnknown, PolicyError, State, TaskCancelled, TaskTimeout, ToolFailed
from support.apart import TIMEOUT, OutOfStock, Receipt
from support.ledger import until
from support.pids import life
from support.shops import calling

WITHIN = 1.3 * TIMEOUT + 0.25 * TIMEOUT + 0.5  # its limit, its grace, and what a busy machine takes


def only(shop: Any) -> Any:
    """The one task there is, with its attempts."""
    (task,) = shop.ax.tasks().tasks
    return shop.ax.get(task.id)


def seconds(attempt: Any) -> float:
    """How long an attempt took."""
    return float((attempt.ended_at - attempt.started_at).total_seconds())


def pids(shop: Any, kind: str = "begin") -> list[int]:
    """Of whom the world heard."""
    return [e["pid"] for e in shop.world.seen() if e["kind"] == kind]


def test_a_result_of_a_type_of_the_program_comes_back_and_the_process_is_used_again(shop_on: Any) -> None:
    """By the codec, equal in type and content; the second call costs no second import."""
    worker = shop_on.worker()
    first = shop_on.ax.call("apart_keyed", {"subject": "a"})
    second = shop_on.ax.call("apart_keyed", {"subject": "b"})
    assert type(first) is Receipt
    assert first.pid == second.pid
    assert first.pid not in (os.getpid(), worker.child.pid)


def test_exceptions_come_back_with_their_type_and_what_they_were_made_of(on_file: Any) -> None:
    on_file.worker()
    with pytest.raises(ToolFailed) as failed:
        on_file.ax.call("apart_keyed", {"subject": "a", "then": "raise"})
    assert type(failed.value.__cause__) is OutOfStock
    assert failed.value.__cause__.args == ("tea", 0)
    with pytest.raises(ToolFailed) as failed:
        on_file.ax.call("apart_unsafe", {"subject": "b", "first": "refuse"})
    assert failed.value.maybe_applied is False  # NotApplied is what it says, also from there
    assert len(set(pids(on_file))) == 1  # an exception is a clean end
    error = only_of(on_file, "apart_keyed").history[-1].error
    assert "_end" in error["traceback"]


def only_of(shop: Any, tool: str) -> Any:
    """The task of a tool."""
    (task,) = shop.ax.tasks(tool=tool).tasks
    return shop.ax.get(task.id)


@pytest.mark.parametrize("how", ["hang", "hang in C", "hang with a child"])
def test_what_hangs_is_killed_at_the_deadline_with_all_it_has_started(on_file: Any, how: str) -> None:
    """However it hangs; the attempt is over at once, and the next one runs in another process."""
    worker = on_file.worker()
    said = on_file.ax.call("apart_keyed", {"subject": "a", "then": how, "until": 1})
    assert isinstance(said, Receipt)
    first, second = pids(on_file)
    assert first != second
    assert all(life(pid).status is None for pid in [first, *pids(on_file, "child")])
    attempts = only(on_file).history
    assert [(a.outcome, a.closed) for a in attempts] == [("timeout", True), ("returned", True)]
    assert seconds(attempts[0]) < WITHIN
    assert len({e["key"] for e in on_file.effects("a")}) == 1
    assert worker.health()["leaked_threads"] == 0


def test_an_unsafe_tool_that_was_killed_may_have_acted_and_its_attempt_is_closed(shop_on: Any) -> None:
    """In doubt, once; nothing runs any more that could act later, so a person may decide at once."""
    shop_on.worker()
    with pytest.raises(OutcomeUnknown):
        shop_on.ax.call("apart_unsafe", {"subject": "a", "then": "hang"})
    task = only(shop_on)
    assert (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")
    assert [a.closed for a in task.history] == [True]
    assert len(shop_on.effects("a")) == 1
    assert shop_on.ax.resolve(task.id, happened=False, rerun=True, by="ann")


def test_a_read_that_always_hangs_times_out_and_the_slot_is_free(on_file: Any) -> None:
    """As often as you like: no thread of the worker is lost by it."""
    worker = on_file.worker(concurrency=1)
    with pytest.raises(TaskTimeout):
        on_file.ax.call("apart_read", {"subject": "a", "then": "hang"})
    assert len(only(on_file).history) == 3
    assert isinstance(on_file.ax.call("apart_read", {"subject": "b"}), Receipt)
    assert until(lambda: worker.health()["running"] == 0)  # its caller may be told a little earlier
    assert worker.health()["leaked_threads"] == 0


@pytest.mark.parametrize("how", ["segfault", "exit", "sys.exit", "killed"])
def test_a_process_that_dies_by_itself_is_an_interruption(on_file: Any, how: str) -> None:
    """A repeatable tool runs again under its key; an unsafe one is in doubt; the worker lives."""
    worker = on_file.worker()
    said = on_file.ax.call("apart_keyed", {"subject": "a", "then": how, "until": 1})
    assert isinstance(said, Receipt)
    assert len({e["key"] for e in on_file.effects("a")}) == 1
    assert [a.outcome for a in only(on_file).history] == ["lost", "returned"]
    with pytest.raises(OutcomeUnknown):
        on_file.ax.call("apart_unsafe", {"subject": "b", "then": how})
    assert len(on_file.effects("b")) == 1
    assert worker.child.poll() is None
    assert "ended before its tool did" in worker.said


def test_a_tool_that_always_kills_its_process_is_given_up_as_poison(on_file: Any) -> None:
    on_file.worker()
    handle = on_file.ax.submit("apart_keyed", {"subject": "a", "then": "killed"})
    assert until(lambda: on_file.ax.get(handle).state is State.DEAD, 60)
    assert on_file.ax.get(handle).reason == "poison"


def test_the_mark_is_written_before_the_tool_goes_on(on_file: Any) -> None:
    """Killed before it: nothing can have happened, and it runs again; after it: in doubt."""
    on_file.worker()
    on_file.ax.call("apart_unsafe_marked", {"subject": "a", "first": "killed", "until": 1})
    assert len(on_file.effects("a")) == 1
    with pytest.raises(OutcomeUnknown):
        on_file.ax.call("apart_unsafe_marked", {"subject": "b", "then": "killed"})
    (doubtful,) = [t for t in on_file.ax.tasks(tool="apart_unsafe_marked").tasks if t.state == "QUARANTINE"]
    assert on_file.ax.get(doubtful.id).history[0].acted_at is not None


def test_a_cancelled_task_may_stop_by_itself_and_is_killed_where_it_does_not(on_file: Any) -> None:
    """The tool's own word that it did no more is worth more than its death."""
    on_file.worker()
    thread, said = calling(on_file, "apart_asking", subject="never")
    on_file.world.wait_for(kind="at never")
    (pid,) = {e["pid"] for e in on_file.world.seen()}
    on_file.ax.cancel(only(on_file).id, by="ann")
    thread.join(30)
    assert isinstance(said[0], TaskCancelled), said
    assert life(pid).status is None


def test_a_tool_that_looks_stops_by_itself(on_file: Any) -> None:
    on_file.worker()
    handle = on_file.ax.submit("apart_looking", {"subject": "a"})
    on_file.world.wait_for(kind="begin")
    on_file.ax.cancel(handle, by="ann")
    assert until(lambda: on_file.ax.get(handle).state is State.CANCELLED, 30)
    (pid,) = set(pids(on_file))
    assert life(pid).status is not None  # a clean end: it is kept for the next
    assert on_file.effects("a") == []


@pytest.mark.parametrize("how", ["hang in C", "hang with a child"])
def test_a_worker_that_is_killed_leaves_no_process_behind(on_file: Any, how: str) -> None:
    """Neither what its tool hangs in, nor what that has started, nor an idle one."""
    worker = on_file.worker()
    on_file.ax.call("apart_keyed", {"subject": "idle"})
    on_file.ax.submit("apart_asking", {"subject": "gate"})
    on_file.world.wait_for(kind="at gate", seconds=60)
    thread, said = calling(on_file, "apart_patient", then=how, until=1)
    on_file.world.wait_for(kind="child" if how == "hang with a child" else "keyed", subject="a", seconds=60)
    left = [life(pid) for pid in {*pids(on_file), *pids(on_file, "child"), *pids(on_file, "at gate")}]
    worker.kill()
    assert until(lambda: all(each.status is None for each in left), 5), left
    on_file.worker()
    on_file.world.open("gate")
    thread.join(60)
    assert isinstance(said[0], Receipt), said


def test_a_worker_that_drains_out_kills_what_does_not_end(on_file: Any) -> None:
    """Interrupted, not failed: the next worker runs it again."""
    worker = on_file.worker("--drain", "0.2")
    handle = on_file.ax.submit("apart_asking", {"subject": "gate"})
    on_file.world.wait_for(kind="at gate")
    (pid,) = {e["pid"] for e in on_file.world.seen()}
    worker.terminate()
    assert worker.wait() == 0
    assert life(pid).status is None
    task = on_file.ax.get(handle)
    assert (task.state, task.reason) == (State.QUEUED, "interrupted")
    on_file.world.open("gate")
    on_file.worker()
    assert on_file.ax.wait_for_result(handle, timeout=30)["pid"] != pid


def test_what_current_knows_in_there(on_file: Any) -> None:
    """Its ids, its limit, earlier results, resources made in its own process; and its output is in the log."""
    worker = on_file.worker("--lifespan", "support.workshop:lifespan")
    handle = on_file.ax.submit("apart_told", {})
    told = on_file.ax.wait_for_result(handle, timeout=30)
    task = on_file.ax.get(handle)
    assert told["ids"] == [task.id, task.run_id, 1, 1, told["ids"][4]]
    assert len(told["ids"][4]) == 36
    assert 50 < told["remaining"] <= 60
    assert told["parent"] == worker.child.pid
    assert told["thread"] is True
    assert told["cancelled"] is False
    assert told["results"] == 0
    assert told["resources"] == {"till": f"till of {told['pid']}"}
    assert "hello from apart" in worker.said
    worker.terminate()
    worker.wait()
    closed = [e["pid"] for e in on_file.world.seen() if e["kind"] == "closed"]
    assert set(closed) == {told["pid"], worker.child.pid}


def test_the_connection_does_not_reach_in_there(on_file: Any) -> None:
    on_file.worker()
    with pytest.raises(ToolFailed, match="does not reach into a process of its own"):
        on_file.ax.call("apart_lent", {})


def test_a_tool_that_calls_another_runs_it_in_its_own_process(on_file: Any) -> None:
    """Recorded as a task of its own under it; no worker waits for another."""
    on_file.worker(concurrency=1)
    said = on_file.ax.call("apart_calling", {"subject": "a"})
    (effect,) = on_file.effects("a")
    assert effect["pid"] == said["pid"]
    assert on_file.ax.get(effect["task"]).parent_id == only_of(on_file, "apart_calling").id


def test_each_running_task_has_a_process_of_its_own_and_no_more_are_kept(on_file: Any) -> None:
    on_file.worker(concurrency=3)
    handles = [on_file.ax.submit("apart_asking", {"subject": "gate"}, dedupe="call") for _ in range(6)]
    on_file.world.wait_for(3, kind="at gate")
    on_file.world.open("gate")
    ran = [on_file.ax.wait_for_result(h, timeout=30)["pid"] for h in handles]
    assert len(set(ran)) == 3


@pytest.mark.parametrize(
    "policy, says",
    [
        ({"effect": "transactional", "isolation": "process"}, "shares AX's connection"),
        ({"isolation": "process", "where": "here"}, "never goes to one"),
        ({"isolation": "process"}, "runs in the process that calls it"),
        ({"isolation": "thred"}, "did you mean 'thread'"),
    ],
    ids=str,
)
def test_isolation_that_nothing_would_keep_is_refused_at_registration(
    on_file: Any, policy: dict[str, Any], says: str
) -> None:
    with pytest.raises(PolicyError, match=says):
        on_file.ax.register(lambda: 1, name="other", schema={}, policy=policy)


def test_an_async_tool_cannot_have_a_process_of_its_own(on_file: Any) -> None:
    async def other() -> None: ...

    with pytest.raises(PolicyError, match="is for plain functions"):
        on_file.ax.register(other, policy={"isolation": "process", "where": "worker"})


def test_a_worker_that_does_not_know_how_its_program_is_started_refuses_to_begin(on_file: Any) -> None:
    from ax_core.worker import Worker
    from support.workshop import shop

    with shop(on_file.url, on_file.queue, 1) as ax, pytest.raises(PolicyError, match="axd worker"):
        Worker(ax).run()
