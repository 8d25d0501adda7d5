"""Fixtures for tests with processes: a nursery and an outside world per test session, and a stage per test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support import record
from support.children import Child, Nursery
from support.oracle import violations
from support.outside import Row, World


class Stage:
    """One record file, one outside world, and the agents that share them."""

    def __init__(self, folder: Path, nursery: Nursery, world: World) -> None:
        self.db, self.world = folder / "ax.db", world
        self._log, self._nursery = folder / "agents.log", nursery
        self.told: list[Row] = []
        record.prepare(self.db)

    def start(self, *calls: Row, **spec: Any) -> Child:
        """An agent that carries out these calls."""
        spec = {"db": str(self.db), "port": self.world.port, "calls": calls, **spec}
        return self._nursery.start("support.agent_process", spec, self._log)

    def over(self, child: Child) -> list[Row]:
        """Wait until an agent has ended, or was killed; what it told."""
        heard = child.wait()
        self.told += heard
        return heard

    def kill(self, child: Child) -> list[Row]:
        """kill -9; what it had told."""
        child.kill()
        return self.over(child)

    def run(self, *calls: Row, **spec: Any) -> list[Row]:
        """An agent from its start to its own end; what it answered."""
        child = self.start(*calls, **spec)
        heard = self.over(child)
        assert child.ended, f"the agent was cut off\n{child.complaint()}"
        return [line for line in heard if "said" in line or "verb" in line]

    def killed(self, *calls: Row, faults: list[str], **spec: Any) -> None:
        """An agent that is killed at a fault point, before it could answer anybody."""
        child = self.start(*calls, faults=faults, **spec)
        heard = self.over(child)
        assert not child.ended, f"the agent never came to {faults}: {heard}\n{child.complaint()}"
        assert not [line for line in heard if "said" in line or "verb" in line]

    def record(self) -> dict[str, record.Kept]:
        """What AX's record says, by request id."""
        return record.read(f"sqlite:///{self.db}")

    def judge(self, **more: Any) -> list[str]:
        """What the oracle finds."""
        kept = self.record()
        return violations(self.world.seen(), kept, record.business(f"sqlite:///{self.db}"), self.told, **more)


@pytest.fixture(scope="session")
def nursery(request: pytest.FixtureRequest) -> Iterator[Nursery]:
    with Nursery(remembers=not request.config.getoption("thorough")) as ready:
        yield ready


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(tmp_path_factory.mktemp("world")) as running:
        yield running


@pytest.fixture
def stage(tmp_path: Path, nursery: Nursery, world: World) -> Iterator[Stage]:
    world.begin_anew(tmp_path)
    yield Stage(tmp_path, nursery, world)
    nursery.clear()


def call(tool: str, request: str, **args: Any) -> Row:
    """A call whose subject is its own request."""
    return {"tool": tool, "request": request, "args": {"subject": request, **args}}
