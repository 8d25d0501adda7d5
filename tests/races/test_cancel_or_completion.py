"""Cancel against completion, again and again: one end, and everybody is told that one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import pytest

from ax_core import AX, AXError, State, Verdict, current

TIMES = 125
FINAL = {"SUCCESS", "CANCELLED", "QUARANTINE", "FAILED", "TIMEOUT", "DEAD"}


@pytest.fixture
def pair(url: str) -> Iterator[tuple[AX, AX]]:
    """Two of them on one record: where the tool runs, and elsewhere."""
    with AX(url) as here, AX(url) as elsewhere:
        yield here, elsewhere


@pytest.mark.parametrize("looks", [True, False], ids=["looks", "deaf"])
@pytest.mark.parametrize("form", ["here", "thread", "loop", "transaction"])
def test_one_end_and_a_truthful_verdict(pair: tuple[AX, AX], form: str, looks: bool) -> None:
    here, elsewhere = pair
    meet, decided = threading.Barrier(2), threading.Semaphore(1)
    acted: list[int] = []
    running: queue.SimpleQueue[str] = queue.SimpleQueue()

    def act(n: int) -> int:
        ctx = current()
        assert ctx.task_id is not None
        running.put(ctx.task_id)
        meet.wait(20)
        if looks:
            ctx.raise_if_cancelled()
        acted.append(n)
        return n

    async def aact(n: int) -> int:
        return act(n)

    effect = "transactional" if form == "transaction" else "unsafe"
    here.register(
        aact if form == "loop" else act,
        name="act",
        policy={
            "effect": effect,
            "timeout": 60 if form in ("thread", "transaction") else None,
            "dedupe": "call",
        },
    )
    told: dict[int, str] = {}

    def call() -> None:
        for n in range(TIMES):
            assert decided.acquire(timeout=20)
            try:
                assert here.call("act", {"n": n}, request_id=str(n)) == n
                told[n] = "value"
            except AXError as error:
                told[n] = error.code

    caller = threading.Thread(target=call)
    caller.start()
    verdicts: list[Verdict] = []
    for n in range(TIMES):
        task_id = running.get(timeout=20)
        canceller = elsewhere if n % 2 else here
        meet.wait(20)
        verdicts.append(canceller.cancel(task_id, by="ops"))
        decided.release()
    caller.join(60)
    assert not caller.is_alive()
    for n, verdict in enumerate(verdicts):
        task = here.get(verdict.task_id)
        ends = [
            entry.target
            for entry in here.audit(task.id)
            if entry.source == "RUNNING" and entry.target in FINAL
        ]
        assert len(ends) == 1, ends
        assert here.verify(task.id) is None
        assert task.state == ends[0]
        if task.state == State.SUCCESS:
            assert (told[n], acted.count(n)) == ("value", 1)
        else:
            assert (task.state, told[n], acted.count(n)) == (State.CANCELLED, "cancelled", 0)
            assert verdict.done  # nobody else asked for it
        # What the canceller was told: asked to stop while it ran, or that it was too late.
        assert verdict.done is task.cancel_requested
        assert verdict.state == (State.RUNNING if verdict.done else task.state)
        assert verdict.done or "already" in verdict.message
