"""Cancel: at once where nothing runs; a signal where something does. The answer tells which."""

from __future__ import annotations

from ..clock import Micros
from ..errors import NotAllowed, UnknownTask
from ..limits import give_back
from ..model import Verdict
from ..sessions import release
from ..sessions import settle as settle_run
from ..states import Reason, RunState, State
from ..store import Tx, queries, runs, tasks, transitions
from .decided import standing, state_of
from .tell import Tell

_AT_ONCE = frozenset({State.QUEUED, State.WAITING, State.CONFIRMING, State.RETRY_WAIT})


def cancel(
    tx: Tx, ns: str, task_id: str, by: str, now: Micros, tell: Tell, reason: Reason = Reason.BY_USER
) -> Verdict:
    """Cancel a task; one that only waits for a person to look at it is put away.

    Raises:
        UnknownTask: there is none of that id.
        NotAllowed: nobody knows whether it acted, and cancelling would not say.
    """
    row = tasks.get(tx, task_id)
    if row is None or row.ns != ns:
        raise UnknownTask(f"no task {task_id}", task_id=task_id)
    while True:
        state = state_of(row)
        if state in _AT_ONCE:
            moved = tasks.move(tx, row, transitions.cancel(reason, None, now), now, by, tell())
            if moved is not None:
                if row.attempt == 0:
                    give_back(tx, row.run_id)
                settle_run(tx, row.run_id, now)
                return Verdict(True, task_id, State.CANCELLED, "cancelled before it ran")
        elif state is State.RUNNING:
            if row.cancel_requested:
                return Verdict(
                    False, task_id, state, f"a cancel was requested before; it is {standing(tx, row)}"
                )
            if tasks.move(tx, row, transitions.request_cancel(), now, by, tell()) is not None:
                return Verdict(
                    True, task_id, state, "it runs: asked to stop, and its end will be recorded as it is"
                )
        elif state in (State.QUARANTINE, State.DEAD):
            if row.reason == Reason.OUTCOME_UNKNOWN or row.maybe_applied:
                raise NotAllowed(
                    f"nobody knows whether task {task_id} ({row.tool}) acted: say so with resolve, then it is settled",
                    task_id=task_id,
                )
            if tasks.move(tx, row, transitions.cancel(reason, None, now), now, by, tell()) is not None:
                settle_run(tx, row.run_id, now)
                return Verdict(
                    True, task_id, State.CANCELLED, f"put away by {by}: it is not run again by itself"
                )
        else:
            return Verdict(False, task_id, state, f"already {standing(tx, row)}: nothing to cancel")
        row = tasks.get(tx, task_id) or row


def cancel_run(
    tx: Tx,
    ns: str,
    run_id: str,
    by: str,
    now: Micros,
    tell: Tell,
    reason: Reason = Reason.BY_USER,
    let_go: bool = False,
) -> Verdict:
    """Cancel a run and everything under it: what waits is cancelled, what runs is asked to stop.

    ``let_go`` frees its session too, once nothing of it runs any more.

    Raises:
        UnknownTask: there is no run of that id.
    """
    row = runs.get(tx, run_id)
    tasks_of_run = [task for task in queries.of_run(tx, run_id) if task.ns == ns]
    if (row is None and not tasks_of_run) or (row is not None and row.ns != ns):
        raise UnknownTask(f"no task or run {run_id}", task_id=run_id)
    done = False
    if row is not None and row.state in (RunState.OPEN, RunState.PAUSED):
        done = runs.move(tx, row, RunState.CANCELLED, now, reason) is not None
    stopping = 0
    for task in tasks_of_run:
        if task.state in _AT_ONCE or task.state == State.RUNNING:
            verdict = cancel(tx, ns, task.id, by, now, tell, reason)
            done = done or verdict.done
            stopping += verdict.state == State.RUNNING
    for child in runs.children(tx, run_id):
        cancel_run(tx, ns, child.id, by, now, tell, reason)
    if let_go and row is not None and row.session is not None and row.lock_token is not None and not stopping:
        release(tx, ns, row.session, row.lock_token)
    after = runs.get(tx, run_id)
    state = after.state if after is not None else State.CANCELLED.value
    if not done:
        return Verdict(False, run_id, state, f"the run is {state}: nothing to cancel")
    tail = f"; {stopping} running tasks were asked to stop" if stopping else ""
    return Verdict(True, run_id, state, f"the run is cancelled{tail}")
