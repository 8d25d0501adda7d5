"""Forking: a child opens its own connections and threads, the parent goes on as if nothing had been."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.children import Nursery
from support.forking import CHILDREN
from support.outside import Row

EACH = 8


@pytest.fixture
def told(tmp_path: Path, nursery: Nursery, request: pytest.FixtureRequest) -> Row:
    spec = {"do": request.param, "db": str(tmp_path / "ax.db")}
    child = nursery.start("support.forking", spec, tmp_path / "log")
    heard = child.wait(60)
    assert child.ended, child.complaint()
    assert heard[0]["codes"], child.complaint()
    assert set(heard[0]["codes"]) == {0}, child.complaint()
    return heard[0]


@pytest.mark.parametrize("told", ["after_use"], indirect=True)
def test_children_of_a_used_ax_submit_and_claim_and_the_parent_goes_on(told: Row) -> None:
    assert told["states"] == ["SUCCESS"]
    assert told["tasks"] == EACH * (CHILDREN + 2) + 1
    assert told["owners"] == CHILDREN + 1


@pytest.mark.parametrize("told", ["before_use"], indirect=True)
def test_an_ax_made_before_the_fork_is_opened_in_each_child(told: Row) -> None:
    assert told["tasks"] == EACH * CHILDREN


@pytest.mark.parametrize("told", ["in_the_middle"], indirect=True)
def test_a_fork_in_the_middle_of_calls_leaves_no_lock_behind(told: Row) -> None:
    assert len(told["codes"]) == CHILDREN + 2


@pytest.mark.parametrize("told", ["in_memory"], indirect=True)
def test_a_store_in_memory_is_refused_in_a_child_and_the_parent_keeps_it(told: Row) -> None:
    assert told["tasks"] == EACH * 2


@pytest.mark.parametrize("told", ["outliving"], indirect=True)
def test_what_a_child_writes_after_its_parent_has_closed_is_not_lost(told: Row) -> None:
    """SQLite's locks do not survive a fork: with an inherited connection the log would be deleted under the child."""
    assert told["tasks"] == EACH * 3


@pytest.mark.parametrize("told", ["in_a_transaction"], indirect=True)
def test_a_fork_in_the_middle_of_a_transaction_is_refused_in_the_child_and_harms_nobody(told: Row) -> None:
    assert told["said"] == "written"
    assert told["tasks"] == EACH * 2 + 1
