"""The guard of a worker that cannot renew its leases: it ends for what may still act, and for nothing else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ax_core.clock import SystemClock
from ax_core.worker import FENCED, guard
from ax_core.worker.guard import Guard


class Left(BaseException):
    """The process has ended."""


class Core:
    """What the guard looks at, a few times: one open attempt, whose lease was last renewed long ago."""

    def __init__(self, **attempt: bool) -> None:
        self.settings, self.clock, self.owner = SimpleNamespace(lease=1.0, heartbeat=0.01), SystemClock(), "w"
        self._attempt = SimpleNamespace(**{"since": 0.0, "given_up": False, "ended": False, **attempt})
        self.live = SimpleNamespace(all=lambda: [self._attempt])
        self.guard = Guard(self, 8, lambda: None)  # type: ignore[arg-type]
        self.looks = 0

    @property
    def renewed(self) -> float:
        self.looks += 1
        if self.looks == 4:
            self.guard.end()
        return self.clock.monotonic() - 60


@pytest.fixture(autouse=True)
def _leaving(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(code: int) -> Any:
        raise Left(code)

    monkeypatch.setattr(guard.os, "_exit", leave)


def test_a_body_that_may_act_when_its_lease_is_over_ends_the_process() -> None:
    core = Core()
    with pytest.raises(Left) as left:
        core.guard._watch()
    assert (left.value.args, core.looks) == ((FENCED,), 1)


@pytest.mark.parametrize("over", ["ended", "given_up"])
def test_a_body_that_is_over_is_no_reason_to_end(over: str) -> None:
    """Its end waits to be recorded, and that would be lost with the process."""
    core = Core(**{over: True})
    core.guard._watch()
    assert core.looks == 4
