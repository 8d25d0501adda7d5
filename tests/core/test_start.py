"""The start of an AX in a process: whole, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, StoreError
from ax_core.store import Database


def test_a_start_that_failed_is_tried_again_and_watched(tmp_path: Path) -> None:
    refusals = [StoreError("locked")]

    class Refusing(Database):
        def write(self, op: Any, name: str = "control", durable: bool = False) -> Any:
            if name == "recover" and refusals:
                raise refusals.pop()
            return super().write(op, name, durable)

    url = f"sqlite:///{tmp_path}/ax.db"
    ax, other = AX(url), AX(url)
    other._core.opens = Refusing

    @ax.tool(effect="unsafe", timeout=None)
    def look() -> None:
        ax._core.db.write(lambda tx: tx.run("UPDATE ax_task SET lease_until = 1"))
        with pytest.raises(StoreError, match="locked"):
            other.tasks()
        assert other._core._watch is None
        assert len(other.tasks().tasks) == 1

    ax.call("look")
    assert other._core._watch is not None
    assert [entry.verb for entry in other.audit(other.tasks().tasks[0].id)][:2] == ["claim", "lost"]
    other.close()
    ax.close()
