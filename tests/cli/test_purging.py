"""``axd purge``: letting go of what is old."""

from __future__ import annotations

import pytest

from ax_core import AX
from support.axd import Axd


def test_what_is_old_is_slimmed_and_it_says_how_much(axd: Axd) -> None:
    """Nothing that is younger; and a second time there is nothing to do."""
    with AX(axd.url) as ax:
        ax.register(lambda: "done", name="look", policy={"effect": "read"})
        ax.call("look")
    assert axd.json("purge", "--older-than", "1d") == {"slimmed": 0, "forgotten": 0}
    said = axd("purge", "--older-than", "0s")
    assert (said.code, said.out.strip()) == (0, "1 tasks slimmed, 0 forgotten")
    assert axd.json("purge", "--older-than", "0s", "--forget-after", "0s") == {"slimmed": 0, "forgotten": 1}


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "90 days", "1.5d"])
def test_an_age_that_is_none_is_refused(axd: Axd, text: str) -> None:
    with AX(axd.url) as ax:
        ax.tasks()
    said = axd("purge", "--older-than", text)
    assert said.code == 2
    assert "is no age, like 90d" in said.err or "usage" in said.err or "older-than" in said.err.lower()


def test_it_is_not_done_by_default(axd: Axd) -> None:
    """How old must be said."""
    with AX(axd.url) as ax:
        ax.tasks()
    assert axd("purge").code == 2
