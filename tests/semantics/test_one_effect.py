"""One effect: resumes, sweeps, long runs and lost replies, as they happen to agents in the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, Budget, Effect, OutcomeUnknown, RequestConflict, RunState, State, ToolFailed
from ax_core.dispatch import Call
from support.aside import Aside, outcome, together
from support.fresh import beat, fresh, watch
from support.probe import Held, Pause, Probe
from support.skew import Skew


class Refunds:
    """A payment service that honours an idempotency key, and whose first reply gets lost."""

    def __init__(self) -> None:
        self.made: dict[str | None, str] = {}
        self.asked: list[str | None] = []

    def refund(self, ctx: Any) -> str:
        key = ctx.idempotency_key
        self.asked.append(key)
        receipt = self.made.setdefault(key, f"receipt {len(self.made) + 1}")
        if len(self.asked) == 1:
            raise ConnectionResetError("the reply was lost")
        return receipt


def test_when_one_of_two_parallel_calls_pauses_the_finished_one_is_not_run_again(tmp_path: Path) -> None:
    """Both are invoked once more in the next process, with the same ids: one is replayed, the other gets its answer."""
    mail, human = Probe("sent"), Probe(Pause(), "yes")
    for start in range(2):
        with fresh(path=tmp_path / "ax.db") as ax:
            send, ask = mail.tool(ax, "send_mail", effect=Effect.UNSAFE), human.tool(ax, "ask_human")
            assert ax.dispatch(Call(send, {}, request_id="1")).how == ("replayed" if start else "new")
            if start == 0:
                with pytest.raises(Pause):
                    ax.dispatch(Call(ask, {}, request_id="2"), passes=(Pause,))
            else:
                assert ax.dispatch(Call(ask, {}, request_id="2"), passes=(Pause,)).get() == "yes"
            states = [t.state for t in ax.tasks().tasks]
    assert (mail.count, states) == (1, [State.SUCCESS, State.SUCCESS])


def test_a_lost_reply_of_a_service_that_honours_the_key_is_one_refund(ax: AX) -> None:
    service = Refunds()
    Probe(service.refund, service.refund).tool(ax, effect=Effect.KEYED, retries=1, backoff=0)
    assert ax.call("pay") == "receipt 1"
    assert len(service.asked) == 2
    assert len(set(service.asked)) == len(service.made) == 1


def test_a_lost_reply_of_any_other_service_is_not_tried_again_and_said_so(ax: AX) -> None:
    """A read timeout after the request was sent: no retry by policy, and a re-issue under a new id meets the doubt."""
    service = Refunds()
    probe = Probe(service.refund, service.refund)
    probe.tool(ax, effect=Effect.UNSAFE, retries=2, backoff=0)
    with ax.run():
        for request in ("call-1", "call-2"):
            answer = outcome(lambda request=request: ax.call("pay", request_id=request))
            assert isinstance(answer, ToolFailed)
            assert answer.maybe_applied
            assert "do not issue it again" in answer.for_model
    assert (probe.count, len(service.made)) == (1, 1)


def test_a_sweep_never_adopts_what_this_very_process_has_just_started(ax: AX) -> None:
    """It looks at owners and leases, never at when something was created."""
    held = Held("exported")
    probe = Probe(held)
    probe.tool(ax)
    call = Aside(lambda: ax.call("pay"))
    held.wait_entered()
    for _ in range(3):
        beat(ax)
    assert ax.tasks().tasks[0].state is State.RUNNING
    held.go.set()
    assert (call.result(), probe.count) == ("exported", 1)


class Stopped(Skew):
    """A clock on which everything happens in the same microsecond."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = self.now()

    def now(self) -> Any:
        return getattr(self, "moment", None) or super().now()


def test_a_restart_in_the_very_moment_of_a_start_adopts_nothing(tmp_path: Path) -> None:
    """Created, claimed and swept at one and the same time: what has a lease is left alone."""
    clock, path, held = Stopped(), tmp_path / "ax.db", Held("exported")
    probe = Probe(held)
    with fresh(clock, path) as ax:
        probe.tool(ax, effect=Effect.IDEMPOTENT)
        call = Aside(lambda: ax.call("pay"))
        held.wait_entered()
        with fresh(clock, path) as started:
            probe.tool(started, effect=Effect.IDEMPOTENT)
            beat(started)
            with started.serve() as serving:
                assert serving.round() == 0
            (task,) = started.tasks().tasks
            (attempt,) = started.get(task.id).history
            assert (task.state, task.created_at) == (State.RUNNING, attempt.started_at)
        held.go.set()
        assert (call.result(), probe.count) == ("exported", 1)


def test_what_a_lost_process_did_is_taken_up_after_its_lease_and_not_after_the_tools_limit(
    tmp_path: Path, clock: Skew
) -> None:
    """A tool that may take hours is not started twice while its lease lives, and does not wait for hours after it."""
    path, held = tmp_path / "ax.db", Held("zombie")
    probe = Probe(held, "mailed")
    with fresh(clock, path) as ax, fresh(clock, path, wait=0.01) as other:
        for each in (ax, other):
            probe.tool(each, effect=Effect.KEYED, timeout=4 * 3600)
        dying = Aside(lambda: ax.call("pay", request_id="r"))
        held.wait_entered()
        clock.ahead(25)
        beat(other)
        assert outcome(lambda: other.call("pay", request_id="r")).code == "still_running"
        clock.ahead(6)
        assert other.call("pay", request_id="r") == "mailed"
        held.go.set()
        outcome(dying.result)
    assert (probe.count, len(probe.keys)) == (2, 1)


def test_a_long_run_with_a_healthy_heartbeat_is_never_started_a_second_time(
    tmp_path: Path, clock: Skew
) -> None:
    """Four leases long; another process looks all the time, and the same request comes in again."""
    path = tmp_path / "ax.db"
    held = Held("mailed everybody")
    probe = Probe(held)
    with fresh(clock, path) as one, fresh(clock, path, wait=0.01) as two:
        probe.tool(one, effect=Effect.KEYED)
        probe.tool(two, effect=Effect.KEYED)
        call = Aside(lambda: one.call("pay", request_id="r"))
        held.wait_entered()
        for _ in range(6):
            clock.ahead(20)
            watch(one).beat(one._core.live.all())
            beat(two)
            assert outcome(lambda: two.call("pay", request_id="r")).code == "still_running"
        held.go.set()
        assert call.result() == "mailed everybody"
    assert (probe.count, len(probe.keys)) == (1, 1)


def test_a_conflict_over_an_id_leaves_the_first_task_to_be_recovered(tmp_path: Path, clock: Skew) -> None:
    path = tmp_path / "ax.db"
    held = Held("zombie")
    export, ping = Probe(held, "exported"), Probe()
    with fresh(clock, path) as ax:
        export.tool(ax, "export", effect=Effect.IDEMPOTENT)
        ping.tool(ax, "ping")
        dying = Aside(lambda: ax.call("export", request_id="K"))
        held.wait_entered()
        with pytest.raises(RequestConflict):
            ax.call("ping", request_id="K")
        clock.ahead(31)
        with fresh(clock, path) as restarted:
            export.tool(restarted, "export", effect=Effect.IDEMPOTENT)
            assert restarted.call("export", request_id="K") == "exported"
        held.go.set()
        outcome(dying.result)
    assert (export.count, ping.count, len(export.keys)) == (2, 0, 1)


def test_what_a_process_left_is_classified_before_the_next_ones_first_call(
    tmp_path: Path, clock: Skew
) -> None:
    path = tmp_path / "ax.db"
    held = Held()
    with fresh(clock, path) as ax:
        Probe(held).tool(ax)
        dying = Aside(lambda: ax.call("pay", request_id="r"))
        held.wait_entered()
        clock.ahead(31)
        with fresh(clock, path) as restarted:
            task = restarted.tasks().tasks[0]
            assert (task.state, task.reason) == (State.QUARANTINE, "outcome_unknown")
            probe = Probe()
            probe.tool(restarted)
            with pytest.raises(OutcomeUnknown):
                restarted.call("pay", request_id="r")
            assert probe.count == 0
        held.go.set()
        outcome(dying.result)


def test_a_burst_of_parallel_failures_in_one_turn_is_that_many_answers_and_no_more(ax: AX) -> None:
    """Five missing files at once: five failures for the model, and every other tool goes on."""
    import contextvars

    read, other = Probe(*[FileNotFoundError("no such file")] * 5), Probe()
    read.tool(ax, "read_file", effect=Effect.READ)
    other.tool(ax, "other")
    with ax.run(budget=Budget(tasks=10)) as run:
        contexts = [contextvars.copy_context() for _ in range(5)]
        answers = together(
            [lambda c=c, n=n: c.run(ax.call, "read_file", {"order": str(n)}) for n, c in enumerate(contexts)]
        )
        assert [type(a) for a in answers] == [ToolFailed] * 5
        assert ax.call("other") == "done"
    assert ax.tree(run.id).run.state is RunState.DONE
