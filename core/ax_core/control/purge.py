"""Purge: takes from old trees what they carry, and in the end the trees; never what still answers for something."""

from __future__ import annotations

from ..clock import Micros
from ..model import PURGED
from ..states import Reason, RunState
from ..store import Tx, retention, tasks, transitions
from ..store.audit import PURGE
from ..store.retention import SETTLED, Old

AT_ONCE = 200
"""Tasks that one transaction slims at most; a larger tree takes several."""


def slim(tx: Tx, run_id: str, before: Micros, now: Micros, by: str) -> int:
    """Slim the tree of a run, if all of it was settled before a time, to request, key and outcome; how many tasks."""
    tree = _tree(tx, run_id)
    if tree is None or not all(_settled(task, before) for task in tree.values()):
        return 0
    whole = [task for task in tree.values() if not task.slim]
    slimmed = 0
    for task in whole[:AT_ONCE]:
        row = tasks.get(tx, task.id)
        if row is None or row.state != task.state:
            return slimmed  # it was run again meanwhile: the rest of its tree stays as it is
        changes = {"payload": PURGED, "result": None, "error": None, "notes": None, "address": None}
        step = transitions.note(PURGE, {"head": row.audit_head}, **changes)
        if (moved := tasks.move(tx, row, step, now, by)) is None:
            return slimmed
        retention.drop_trail(tx, moved)
        slimmed += 1
    return slimmed


def forget(tx: Tx, run_id: str, before: Micros, now: Micros) -> int:
    """Remove the tree of a run, if all of it is slim, was settled before a time, and guards no key; how many tasks."""
    tree = _tree(tx, run_id)
    if tree is None or not all(_settled(t, before) and t.slim for t in tree.values()):
        return 0
    if any(retention.guards(tx, task, now) for task in tree.values()):
        return 0
    root = retention.root_of(tx, run_id)
    for task in tree.values():
        retention.remove(tx, task)
    for opened, _, _ in retention.runs_of(tx, root):
        retention.remove_run(tx, opened)
    return len(tree)


def _tree(tx: Tx, run_id: str) -> dict[str, Old] | None:
    """The tasks of a run's whole tree by id; None: a run of it is open, or being rolled back."""
    root = retention.root_of(tx, run_id)
    opened = retention.runs_of(tx, root)
    if any(
        state in (RunState.OPEN, RunState.PAUSED) or reason == Reason.ROLLING_BACK
        for _, state, reason in opened
    ):
        return None
    found: dict[str, Old] = {}
    for each in {root, run_id, *(run for run, _, _ in opened)}:
        found |= {task.id: task for task in retention.tasks_of(tx, each)}
    return dict(sorted(found.items()))  # locked in the order of their ids, as everybody does


def _settled(task: Old, before: Micros) -> bool:
    return (
        task.state in SETTLED
        and not task.maybe_applied
        and not task.attempt_open
        and task.ended_at is not None
        and task.ended_at < before
    )
