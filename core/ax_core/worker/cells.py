"""The cells of one worker: kept warm, one for each isolated task that runs, and killed rather than waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..decide import Lost, Outcome
from ..dispatch.steps import Enter
from ..dispatch.wiring import Wiring
from .cell import Cell, CellFailed
from .target import Program
from .visit import INTERRUPT, Visit
from .warden import Warden

if TYPE_CHECKING:
    from ..app.core import Core

DISMISS_SECONDS = 2.0
"""What idle processes get to close what they have open, once the worker ends."""


class Cells:
    """The processes in which isolated tools run. They are spawned, never forked.

    A process imports the program once and is used again after a body came back or raised; never after it was killed.
    """

    def __init__(self, core: Core, program: Program) -> None:
        self._core, self._program = core, program
        self._warden = Warden()
        self._idle: list[Cell] = []
        self._ready: dict[str, Cell] = {}
        self._busy: dict[Cell, None] = {}
        self._lock = threading.Lock()
        self._interrupted = False

    @contextmanager
    def ready_for(self, task_id: str) -> Iterator[None]:
        """Keep a process ready for a task before it is claimed: the import does not count as its time.

        Raises:
            CellFailed: the program cannot be started in a process of its own.
        """
        cell = self._take()
        self._ready[task_id] = cell
        try:
            yield
        finally:
            if self._ready.pop(task_id, None) is cell:  # it was not claimed here
                self._give(cell)

    def run(self, step: Enter, wiring: Wiring) -> Outcome:
        """Run a body in a process, and return once it is over."""
        try:
            cell = self._ready.pop(step.attempt.row.id, None) or self._take()
        except (CellFailed, OSError) as error:
            self._core.hooks.complain(f"task {step.attempt.row.id} has no process to run in", error)
            return Lost(entered=False)
        visit = Visit(step, cell, wiring)
        with self._lock:
            self._busy[cell] = None
            if self._interrupted:
                cell.heard.put(INTERRUPT)
        step.attempt.stop = visit.cancel
        try:
            return visit.outcome()
        except BaseException:
            visit.ended = True
            cell.end(0.0)
            raise
        finally:
            with self._lock:
                del self._busy[cell]
            if not visit.ended:
                self._give(cell)

    def interrupt(self) -> bool:
        """Kill what runs: the worker leaves, and its tasks are interrupted. Whether there is any."""
        with self._lock:
            self._interrupted = True
            for cell in self._busy:
                cell.heard.put(INTERRUPT)
            return bool(self._busy)

    def close(self) -> None:
        """End every process; those that are idle may close what they have open."""
        with self._lock:
            self._interrupted = True
            idle, self._idle = self._idle, []
        ending = [threading.Thread(target=cell.dismiss, args=[DISMISS_SECONDS]) for cell in idle]
        for each in ending:
            each.start()
        for each in ending:
            each.join()
        for cell in [*self._busy, *self._ready.values()]:
            cell.end(0.0)
        self._warden.close()

    def _take(self) -> Cell:
        with self._lock:
            while self._idle:
                if (cell := self._idle.pop()).alive:
                    return cell
                cell.end(0.0)
        cell = Cell(self._program, self._warden, self._core.threads.spawn)
        cell.wait_ready()
        return cell

    def _give(self, cell: Cell) -> None:
        with self._lock:
            if cell.alive and not self._interrupted:
                self._idle.append(cell)
                return
        cell.end(0.0)
