"""The notebooks run from top to bottom, and hold no output of somebody's machine."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from support.cells import kernel

FOLDER = Path(__file__).resolve().parents[3] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

pytestmark = [pytest.mark.xdist_group("kernel"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def test_there_are_notebooks() -> None:
    """They are found where they are."""
    assert {each.stem for each in NOTEBOOKS} >= {"first_wrapped_tool", "approval_agent"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    """Every cell, in a fresh kernel."""
    notebook = nbformat.read(path, as_version=4)
    with kernel(tmp_path) as cells:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                ran = cells.run(cell.source)
                assert ran.error is None, (cell.source, ran.outputs)
                assert "Traceback" not in ran.text
    assert not (tmp_path / "ax.db").exists()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    """So that a change of it shows what was changed."""
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert cell.outputs == [] and cell.execution_count is None
