"""Leases: renewed by who lives, classified once their owner is gone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..clock import Clock, Micros
from ..control import Tell, lost
from ..control.recover import closed, is_lost
from ..owners import certainly_gone
from ..store import Op, Tx, locks, queries


def renew(attempts: Sequence[tuple[str, int]], lease: Micros, clock: Clock) -> Op[list[str]]:
    """Hold on to open attempts, given as (task id, fence); returns the ids that are no longer held."""

    def op(tx: Tx) -> list[str]:
        until = clock.now() + lease  # from when it is written: it may have waited long for that
        return [
            task_id
            for task_id, fence in attempts
            if tx.run(_RENEW, until=until, task_id=task_id, fence=fence) != 1
        ]

    return op


def renew_sessions(held: Iterable[tuple[str, str, str]], lease: Micros, clock: Clock) -> Op[None]:
    """Hold on to sessions, given as (namespace, session, token)."""

    def op(tx: Tx) -> None:
        until = clock.now() + lease
        for ns, session, token in held:
            locks.renew(tx, ns, session, token, until)

    return op


def sweep(clock: Clock, actor: str, tell: Tell) -> Op[int]:
    """Classify every attempt whose owner is gone, and close those that were given up open; how many there were."""

    def op(tx: Tx) -> int:
        found, now = 0, clock.now()
        for row in queries.running(tx):
            if is_lost(row, now) and lost(tx, row, now, actor, tell) is not None:
                found += 1
        for row in queries.half_open(tx):
            # Given up by its own process, which may still run it; only its death closes it from outside.
            if (
                row.owner is not None
                and certainly_gone(row.owner)
                and closed(tx, row, now, actor) is not None
            ):
                found += 1
        return found

    return op


def anything_lost(now: Micros) -> Op[bool]:
    """Whether :func:`sweep` would find something: asked on a snapshot, so that a healthy store is not written to."""

    def op(tx: Tx) -> bool:
        return any(is_lost(row, now) for row in queries.running(tx)) or any(
            row.owner is not None and certainly_gone(row.owner) for row in queries.half_open(tx)
        )

    return op


def asked_to_stop(attempts: Sequence[tuple[str, int]]) -> Op[set[tuple[str, int]]]:
    """Which of these open attempts, given as (task id, fence), should stop: cancelled, or no longer the task's.

    One that is in doubt is let finish: its end is the evidence that settles it.
    """

    def op(tx: Tx) -> set[tuple[str, int]]:
        names = {f"id{i}": task_id for i, (task_id, _) in enumerate(attempts)}
        marks = ", ".join(f":{name}" for name in names)
        sql = f"SELECT id, fence, state, cancel_requested FROM ax_task WHERE id IN ({marks})"
        on = {
            (task_id, fence)
            for task_id, fence, state, cancelled in tx.all(sql, **names)
            if not cancelled and state in ("RUNNING", "QUARANTINE")
        }
        return set(attempts) - on

    return op


_RENEW = (
    "UPDATE ax_task SET lease_until = :until WHERE id = :task_id AND fence = :fence AND state = 'RUNNING'"
)
