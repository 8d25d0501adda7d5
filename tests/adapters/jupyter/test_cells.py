"""Wrapped tools in a notebook: a loop is always running, Ctrl-C is a button, and cells are run again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.cells import Cells, kernel

pytestmark = [pytest.mark.xdist_group("kernel"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PREPARED = """
import asyncio, os, time
from pathlib import Path
from langchain_core.tools import tool
from ax_core import AX
from ax_adapters.langchain import wrap_tool, wrap_tools

ax = AX("sqlite:///ax.db")

def sign(name):
    Path(name).write_text("")

@tool
def plain(n: int) -> str:
    "Adds one."
    return f"plain {n}"

@tool
async def soon(n: int) -> str:
    "Adds one, later."
    await asyncio.sleep(0.001)
    return f"soon {n}"
"""


@pytest.fixture(scope="module", params=["as it is", "nest_asyncio"])
def cells(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cells]:
    """One kernel for all of them, as in a notebook."""
    with kernel(tmp_path_factory.mktemp("cells")) as made:
        if request.param == "nest_asyncio":
            assert made.run("import nest_asyncio; nest_asyncio.apply()").error is None
        done = made.run(PREPARED)
        assert done.error is None, done.outputs
        yield made


def test_calls_of_every_form(cells: Cells) -> None:
    """Sync and async tools, both ways, with and without a timeout; AX's own; an agent run by both."""
    ran = cells.run("""
for limit in (None, 20):
    box = AX("sqlite://")
    a, b = wrap_tools([plain, soon], box, timeout=limit, sync_bridge=True)
    print(a.invoke({"n": 1}), await a.ainvoke({"n": 2}), b.invoke({"n": 3}), await b.ainvoke({"n": 4}))
    print(await asyncio.gather(*[b.ainvoke({"n": n}) for n in range(3)]))
    print(len(box.tasks().tasks))

@ax.tool(effect="read")
async def look(n: int) -> int:
    return n

with ax.run(session="s"):
    print(ax.call("look", {"n": 1}), await ax.acall("look", {"n": 2}), ax.wait_for_result(ax.submit("look", {"n": 3})))
async with ax.run(session="s"):
    print(await look(4))
""")
    assert ran.error is None, ran.outputs
    each = "plain 1 plain 2 soon 3 soon 4\n['soon 0', 'soon 1', 'soon 2']\n7\n"
    assert ran.text == each * 2 + "1 2 3\n4\n"


def test_stopping_a_cell_leaves_the_truth(cells: Cells) -> None:
    """Control comes back at once; run again under the same key, the cell is told what is known, and nothing is done
    twice; what a person then says is what it gets."""
    cells.run("""
did = []

@tool
def pay(n: int) -> str:
    "Pays."
    did.append(n)
    sign("paying")
    time.sleep(30)
    return "paid"

paying = wrap_tool(pay, ax, policy="unsafe")
""")
    cell = """
with ax.override(request_id="pay order 7"):
    print(paying.invoke({"n": 7}))
"""
    stopped = cells.run(cell, interrupt_once="paying")
    assert stopped.error == "KeyboardInterrupt" and stopped.seconds < 15
    again = cells.run(cell)
    assert again.error is None and again.text.startswith("UNKNOWN OUTCOME")
    settled = cells.run("""
task = ax.find_request("pay order 7")
print(task.state, task.reason, did)
ax.resolve(task.id, happened=True, result="paid after all", by="me")
""")
    assert settled.text == "QUARANTINE outcome_unknown [7]\n"
    assert cells.run(cell).text == "paid after all\n"


def test_a_body_with_a_limit_goes_on_and_is_found_again(cells: Cells) -> None:
    """It has a thread of its own: stopped, the cell leaves it; run again, it waits for the same one."""
    cells.run("""
did = []

@tool
def build(n: int) -> str:
    "Builds."
    did.append(n)
    sign("building")
    time.sleep(3)
    return f"built {n}"

building = wrap_tool(build, ax, policy={"effect": "unsafe", "timeout": 60})
""")
    cell = """
with ax.override(request_id="build"):
    print(building.invoke({"n": 1}), did)
"""
    assert cells.run(cell, interrupt_once="building").error == "KeyboardInterrupt"
    assert cells.run(cell).text == "built 1 [1]\n"


def test_stopping_an_async_cell(cells: Cells) -> None:
    """The tool is cancelled; what may be repeated is, what may not is told."""
    cells.run("""
did = []

async def work(n: int) -> str:
    "Works."
    did.append(n)
    sign(f"at {n}")
    for _ in range(3000 if did.count(n) == 1 else 1):
        await asyncio.sleep(0.01)  # a kernel's loop looks for the stop button only when it wakes up
    return f"worked {n}"

safe = wrap_tool(tool("safe")(work), ax, policy="idempotent")
acts = wrap_tool(tool("acts")(work), ax, policy="unsafe")
""")
    for name, n, answer in (("safe", 1, "worked 1"), ("acts", 2, "UNKNOWN OUTCOME")):
        cell = f"""
with ax.override(request_id="{name}"):
    print(await {name}.ainvoke({{"n": {n}}}))
"""
        stopped = cells.run(cell, interrupt_once=f"at {n}")
        assert stopped.error == "CancelledError" and stopped.seconds < 15
        assert cells.run(cell).text.startswith(answer)
    assert cells.run("print(did)").text == "[1, 1, 2]\n"


def test_what_a_cell_shows(cells: Cells) -> None:
    """A table for a run, a task and a list of tasks; the wrapped tool shows itself as the bare one does."""
    cells.run("""
made = wrap_tool(plain, ax, policy="read")
with ax.run(intent="<show>") as run:
    made.invoke({"n": 1})
""")
    tree = cells.run("ax.tree(run.id)").html
    assert "<table>" in tree and "&lt;show&gt;" in tree and "plain 1" in tree
    assert "<table>" in cells.run("ax.tasks()").html
    assert "plain" in cells.run("ax.get(ax.tasks().tasks[0].id)").html
    assert cells.run("print(repr(made) == repr(plain))").text == "True\n"
