"""Listing runs: those that were opened on purpose, newest first, page by page, for one tenant."""

from __future__ import annotations

import asyncio

import pytest

from ax_core import AX, RunState
from support.aside import outcome
from support.probe import Probe


def ids(ax: AX, **asked: object) -> list[str]:
    return [run.id for run in ax.runs(**asked).runs]  # type: ignore[arg-type]


def opened(ax: AX, **given: object) -> str:
    with ax.run(**given) as run:  # type: ignore[arg-type]
        pass
    return str(run.id)


def test_runs_are_listed_newest_first_and_sub_runs_are_among_them(ax: AX) -> None:
    first = opened(ax, intent="one")
    with ax.run(intent="two") as outer, ax.run(intent="within") as inner:
        assert [(run.intent, run.state) for run in ax.runs(state="OPEN").runs] == [
            ("within", RunState.OPEN),
            ("two", RunState.OPEN),
        ]
    assert ids(ax) == [inner.id, outer.id, first]
    assert [run.parent_run_id for run in ax.runs().runs] == [outer.id, None, None]
    assert asyncio.run(ax.aruns()) == ax.runs()


def test_a_run_that_nobody_opened_is_not_listed(ax: AX) -> None:
    Probe().tool(ax)
    ax.call("pay")
    assert ids(ax) == []


def test_they_are_chosen_by_state_and_by_session(ax: AX) -> None:
    Probe().tool(ax, confirm=True)
    with ax.run(session="s") as waiting:
        outcome(lambda: ax.call("pay", request_id="r"))
    done = opened(ax, session="s")
    opened(ax, session="t")
    assert ids(ax, session="s") == [done, waiting.id]
    assert ids(ax, state=["PAUSED", "OPEN"]) == [waiting.id]
    assert ids(ax, state=RunState.PAUSED, session="t") == []
    assert waiting.id in ids(ax, state=list(RunState))


def test_pages_of_runs_follow_each_other_without_a_gap(ax: AX) -> None:
    whole = [opened(ax) for _ in range(5)][::-1]
    page = ax.runs(limit=2)
    seen = [run.id for run in page.runs]
    while page.after is not None:
        page = ax.runs(limit=2, after=page.after)
        seen += [run.id for run in page.runs]
    assert seen == whole


def test_a_tenant_sees_its_own_runs_only(ax: AX) -> None:
    mine = opened(ax)
    theirs = opened(ax.for_namespace("theirs"))
    assert (ids(ax), ids(ax.for_namespace("theirs"))) == ([mine], [theirs])


@pytest.mark.parametrize("limit", [0, 1001])
def test_a_limit_out_of_bounds_is_refused(ax: AX, limit: int) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        ax.runs(limit=limit)


def test_a_state_that_is_none_is_refused(ax: AX) -> None:
    with pytest.raises(ValueError, match="SLEEPING"):
        ax.runs(state="SLEEPING")
