"""Tenants: one store, one set of tools, and nobody sees or disturbs the other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ax_core import AX, Budget, ConfirmationPending, PolicyError, UnknownTask
from support.fresh import fresh


@pytest.fixture
def pair() -> Iterator[tuple[AX, AX]]:
    with fresh() as ax:
        ax.register(lambda n: n, name="act", schema={"properties": {"n": {}}}, policy={"effect": "unsafe"})
        ax.register(
            lambda n: n,
            name="ask",
            schema={"properties": {"n": {}}},
            policy={"effect": "unsafe", "confirm": True},
        )
        yield ax.for_namespace("acme"), ax.for_namespace("evil")


def test_a_request_a_key_and_a_run_key_mean_something_else_in_each(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    for mine, n in ((acme, 1), (evil, 2)):
        assert mine.call("act", {"n": n}, request_id="r") == n
        assert mine.call("act", {"n": n}, key="k") == n
        with mine.run(key="run", session="s", budget=Budget(tasks=1)) as run:
            assert mine.call("act", {"n": n}) == n
        assert mine.tree(run.id).run.used_tasks == 1
    assert [len(mine.tasks().tasks) for mine in pair] == [3, 3]
    mine, theirs = (mine.find_request("r") for mine in pair)
    assert mine is not None
    assert theirs is not None
    assert mine.idempotency_key != theirs.idempotency_key


def test_a_session_of_one_does_not_block_the_other(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    with acme.run(session="s"), evil.run(session="s"):
        assert evil.call("act", {"n": 1}) == 1


def test_nothing_of_one_can_be_seen_by_the_other(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    with acme.run() as run:
        acme.call("act", {"n": 1}, request_id="r")
    task = acme.find_request("r")
    assert task is not None
    for look in (evil.get, evil.audit, evil.verify, evil.wait_for_result):
        with pytest.raises(UnknownTask):
            look(task.id)
    with pytest.raises(UnknownTask):
        evil.tree(run.id)
    assert evil.find_request("r") is None
    assert evil.tasks().tasks == ()
    assert evil.inbox() == []


def test_nothing_of_one_can_be_decided_by_the_other(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    with acme.run() as run, pytest.raises(ConfirmationPending) as pending:
        acme.call("ask", {"n": 1})
    task_id = pending.value.task_id or ""
    attempts = (
        lambda: evil.confirm(task_id, by="evil"),
        lambda: evil.reject(task_id, by="evil"),
        lambda: evil.cancel(task_id, by="evil"),
        lambda: evil.requeue(task_id, by="evil"),
        lambda: evil.resolve(task_id, happened=True, by="evil"),
        lambda: evil.cancel(run.id, by="evil"),
        lambda: evil.extend(run.id, by="evil", tasks=5),
        lambda: evil.rollback(run.id, by="evil"),
    )
    for attempt in attempts:
        with pytest.raises(UnknownTask):
            attempt()
    assert acme.get(task_id).state == "CONFIRMING"
    assert [task.id for task in acme.inbox()] == [task_id]


def test_a_tool_paused_in_one_goes_on_in_the_other(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    acme.call("act", {"n": 1})
    evil.call("act", {"n": 1})
    assert acme.pause("act", by="ops").done
    handle = acme.submit("act", {"n": 2})
    assert acme.get(handle).state == "QUEUED"
    assert evil.call("act", {"n": 2}) == 2
    assert acme.resume("act", by="ops").done


def test_a_tool_registered_later_is_known_in_all(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    acme.register(lambda: 7, name="later")
    assert evil.call("later") == 7
    assert acme.namespace == "acme"


@pytest.mark.parametrize("ns", ["", "x" * 65, "a\nb", None, 7])
def test_a_namespace_is_a_short_printable_name(pair: tuple[AX, AX], ns: object) -> None:
    with pytest.raises(PolicyError, match="1 to 64 printable"):
        pair[0].for_namespace(ns)  # type: ignore[arg-type]


def test_closing_one_closes_all(pair: tuple[AX, AX]) -> None:
    acme, evil = pair
    acme.call("act", {"n": 1})
    acme.close()
    with pytest.raises(Exception, match="closed"):
        evil.call("act", {"n": 1})
