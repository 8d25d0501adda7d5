"""A pytest plugin: every tool object that is made while a suite runs is put under AX.

``AX_WRAP`` is ``bare`` (nothing is hooked), ``plain`` or ``timeout``; ``AX_FRAMEWORK`` is one of the :data:`SEAMS`.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from typing import Any

import pytest

from ax_core import AX

from .seams import SEAMS, Seam

WAY = os.environ.get("AX_WRAP", "bare")
LIMIT = {"plain": None, "timeout": 30.0}
MARK = "__ax_binding__"


class Making:
    """Wraps tools as they are made; each gets an AX of its own on one file, for tests reuse names freely."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="ax-frameworks-")
        self.made = 0
        self._busy = threading.local()
        self._open: list[AX] = []

    def install(self) -> None:
        """Hook the metaclass of all tools."""
        seam = SEAMS[os.environ["AX_FRAMEWORK"]]()

        def call(cls: Any, /, *args: Any, **kwargs: Any) -> Any:
            tool = type.__call__(cls, *args, **kwargs)
            if getattr(self._busy, "now", False) or not issubclass(cls, seam.tool) or hasattr(cls, MARK):
                return tool
            self._busy.now = True
            try:
                return self.wrapped(tool, seam)
            finally:
                self._busy.now = False

        seam.metaclass.__call__ = call

    def wrapped(self, tool: Any, seam: Seam) -> Any:
        """The tool under an AX that knows no other."""
        ax = AX(f"sqlite:///{self.folder.name}/ax.db")
        self._open.append(ax)
        self.made += 1
        return seam.wrap(tool, ax, timeout=LIMIT[WAY])

    def rest(self) -> list[AX]:
        """What was opened since this was last asked."""
        opened, self._open = self._open, []
        return opened


making = Making()


def pytest_load_initial_conftests() -> None:
    """Before any test module is imported."""
    if WAY != "bare":
        making.install()


def pytest_collection_finish() -> None:
    """Tools made at import live as long as the suite."""
    making.rest()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """The tools of a test end with it."""
    for ax in making.rest():
        ax.close(drain=0)


def pytest_sessionfinish(session: Any) -> None:
    """A worker of pytest-xdist tells the controller how many tools it wrapped."""
    told = getattr(session.config, "workeroutput", None)
    if told is not None:
        told["ax_wrapped"] = making.made


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A worker has ended."""
    making.made += getattr(node, "workeroutput", {}).get("ax_wrapped", 0)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Leave every test's outcome where the comparison reads it."""
    ends = {
        report.nodeid: name
        for name in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(name, [])
    }
    with open(os.environ["AX_OUTCOMES"], "w") as file:
        json.dump({"ends": ends, "wrapped": making.made}, file)
