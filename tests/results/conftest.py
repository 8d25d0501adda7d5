"""The same record before and after a restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ax_core import AX
from support.fresh import fresh

Restart = Callable[[], AX]


@pytest.fixture
def restart(tmp_path: Path) -> Iterator[Restart]:
    """An AX on one file; called again, the old one is closed and another process's would begin."""
    with ExitStack() as open:

        def again() -> AX:
            open.close()
            return open.enter_context(fresh(path=tmp_path / "ax.db"))

        yield again
