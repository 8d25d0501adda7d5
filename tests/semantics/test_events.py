"""Events: told after the commit, in order, to whoever asked."""

from __future__ import annotations

import threading

from ax_core import AX
from ax_core.hooks import Event


def test_a_listener_hears_of_the_first_attempt_and_of_its_end() -> None:
    """`started` comes with the claim that admission makes, not only with later ones."""
    ax, heard, done = AX("sqlite://"), [], threading.Event()

    @ax.on("started", "succeeded")
    def hear(event: Event) -> None:
        heard.append(event.name)
        if event.name == "succeeded":
            done.set()

    @ax.tool(effect="read")
    def look() -> str:
        return "seen"

    assert look() == "seen"
    assert done.wait(10)
    assert heard == ["started", "succeeded"]
    ax.close()
