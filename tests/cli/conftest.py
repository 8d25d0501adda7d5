"""A record with one task of every kind that an operator meets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ax_core import AX, AXError
from support.axd import Axd


@pytest.fixture
def ax(tmp_path: Path) -> Iterator[AX]:
    """An AX on a file, with tools that go wrong in every way."""
    ax = AX(f"sqlite:///{tmp_path}/ax.db")

    @ax.tool(effect="unsafe", confirm=lambda args: args["amount"] > 100)
    def refund(order: str, amount: int) -> dict[str, int]:
        return {"refunded": amount}

    @ax.tool(effect="unsafe")
    def mail(to: str) -> str:
        raise OSError("the reply was lost")

    @ax.tool
    def search(text: str) -> str:
        return f"found {text}"

    @ax.tool(effect="keyed", timeout=None)
    def poisonous() -> str:
        raise KeyboardInterrupt

    @ax.tool(effect="unsafe", timeout=None)
    def charge(order: str) -> str:
        raise KeyboardInterrupt

    with ax:
        yield ax


@pytest.fixture
def axd(ax: AX, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Axd:
    monkeypatch.delenv("AX_URL", raising=False)
    return Axd(ax._core.url or "", capsys)


class Record:
    """The ids of what :func:`record` left."""

    def __init__(self, ax: AX) -> None:
        with ax.run(session="user-42", intent="refund order 7", key="k1") as run:
            self.run = run.id
            ax.call("refund", {"order": "7", "amount": 10})
            for tool, payload in (
                ("refund", {"order": "8", "amount": 500}),
                ("refund", {"order": "9", "amount": 600}),
                ("mail", {"to": "jane"}),
                ("refund", {"orders": "9"}),
            ):
                with suppress(AXError):
                    ax.call(tool, payload)
            ax.call("search", {"text": "boots"})
            with suppress(KeyboardInterrupt):
                ax.call("charge", {"order": "7"})
        for _ in range(5):
            with suppress(KeyboardInterrupt, AXError):
                ax.call("poisonous", request_id="p1")
        by_tool = {(task.tool, task.state.value): task.id for task in ax.tasks().tasks}
        self.success = by_tool["refund", "SUCCESS"]
        self.asked = by_tool["refund", "CONFIRMING"]
        self.maybe = by_tool["mail", "FAILED"]
        self.invalid = by_tool["refund", "QUARANTINE"]
        self.unknown = by_tool["charge", "QUARANTINE"]
        self.dead = by_tool["poisonous", "DEAD"]


@pytest.fixture
def record(ax: AX) -> Record:
    return Record(ax)
