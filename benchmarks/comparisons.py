"""The comparisons: what is held against what, on which durability, and the limit each must keep."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from ax_core import Effect
from benchmarks.measure import Contender, duel
from benchmarks.product import Product
from benchmarks.queue_alone import workers_alone
from benchmarks.queues import among_queues
from benchmarks.raw import RawLoop
from benchmarks.report import Findings, Line

FLIGHT = 16


def against_raw(found: Findings, folder: Path) -> None:
    """A no-op call and a loop that writes the same rows in the same two transactions."""
    for mode, effect, calls in (("NORMAL", Effect.READ, 400), ("FULL", Effect.UNSAFE, 150)):
        with closing(Product(folder / f"raw-{mode}-ax.db", effect)) as product:
            shape = product.shape()
            raw = RawLoop(folder / f"raw-{mode}.db", product.path, shape, full=mode == "FULL")
            with closing(raw):
                both = duel(
                    Contender("ax.call", product.block, calls),
                    Contender(f"raw sqlite3, {shape.rows} rows", raw.block, calls),
                )
        found.duel(f"a call and a raw loop, {mode}", both, 2.5)


def against_dbos(found: Findings, folder: Path) -> None:
    """A no-op call and a DBOS workflow with one step."""
    from benchmarks.rival_dbos import Dbos, missing

    if lacking := missing():
        found.skipped["DBOS"] = f"pip install 'ax-adapters[bench]' (not found: {', '.join(lacking)})"
        return
    sides = (("tuned to WAL/NORMAL", True, Effect.READ, 15), ("as shipped, FULL", False, Effect.UNSAFE, 8))
    for name, tuned, effect, share in sides:
        product = Product(folder / f"dbos-{tuned}-ax.db", effect)
        with closing(product), closing(Dbos(folder / f"dbos-{tuned}", tuned=tuned)) as rival:
            found.machine["dbos"] = rival.about
            both = duel(Contender("ax.call", product.block, 400), Contender("DBOS", rival.block, 40))
        found.duel(f"a call and a DBOS workflow with one step, {name}", both, 1 / share)


def against_langgraph(found: Findings, folder: Path) -> None:
    """A no-op call and LangGraph's tool node."""
    from benchmarks.rival_langgraph import ToolNodeGraph

    for name, saver, limit in (
        ("without a checkpointer", None, 1 / 8),
        ("with SqliteSaver", folder / "lg.db", None),
    ):
        product = Product(folder / f"lg-{saver is None}-ax.db", Effect.READ)
        with closing(product), closing(ToolNodeGraph(saver)) as rival:
            both = duel(Contender("ax.call", product.block, 300), Contender("ToolNode", rival.block, 50))
        found.duel(f"a call and a LangGraph tool node {name}", both, limit)


def wrapping(found: Findings, folder: Path) -> None:
    """What wrapping adds to `StructuredTool.invoke`, in units of what that costs bare."""
    from ax_adapters.langchain import wrap_tools
    from benchmarks.rival_langgraph import Invoking, bare_tool

    for name, effect, limit in (("declared read", "read", 1.0), ("undeclared, claim fsynced", None, None)):
        with closing(Product(folder / f"wrap-{effect}.db", Effect.READ)) as product:
            policies: dict[str, Any] = {"nothing_at_all": effect} if effect else {}
            tool = bare_tool().model_copy(update={"name": "nothing_at_all"})
            [wrapped] = wrap_tools([tool], product.ax, policies=policies)
            both = duel(
                Contender("wrapped", Invoking(wrapped).block, 200),
                Contender("bare", Invoking(bare_tool()).block, 200),
            )
            apart = Invoking(bare_tool())
            seam = duel(
                Contender("wrapped", Invoking(wrapped).block, 200),
                Contender(
                    "bare, then ax.call",
                    lambda calls, apart=apart, product=product: apart.block(calls) + product.block(calls),
                    200,
                ),
            )
        found.duel(f"what wrapping adds to StructuredTool.invoke, {name}", both, limit, figure=both.ratio - 1)
        if effect is not None:  # the call beside it is of a read
            over = (seam.a_ms - seam.b_ms) / both.b_ms
            found.duel("what the seam adds to both, in StructuredTool.invokes", seam, 0.5, figure=over)


def in_flight(found: Findings, folder: Path) -> None:
    """Shared commits: the rate with 16 in flight at FULL over the rate of one at a time."""
    product = Product(folder / "flight.db", Effect.UNSAFE)
    with closing(product):
        for name, block in (("threads", product.threads(FLIGHT)), ("coroutines", product.coroutines(FLIGHT))):
            both = duel(
                Contender("one at a time", product.block, 160),
                Contender(f"{FLIGHT} {name}", block, FLIGHT * 30),
            )
            found.lines.append(
                Line(
                    what=f"calls per second with {FLIGHT} {name} in flight, FULL",
                    ours=f"{1e3 / both.b_ms:,.0f}/s",
                    theirs=f"one at a time {1e3 / both.a_ms:,.0f}/s",
                    figure=both.ratio,
                    unit="×",
                    limit=3.0,
                    at_least=True,
                    load=both.load,
                    ratios=both.ratios,
                )
            )


def full_file(found: Findings, folder: Path, tasks: int = 1_000_000) -> None:
    """A call and the usual questions with very many tasks in the file."""
    from benchmarks.million import crowded

    both, questions = crowded(folder, tasks)
    found.duel("a call in a full file and in an empty one", both, 1.4)
    for question, (median, best) in questions.items():
        found.lines.append(
            Line(f"{question}, of {tasks:,} tasks", f"best {best:.2f} ms", "", median, "ms", 5.0, both.load)
        )


COMPARISONS: dict[str, Callable[..., None]] = {
    "raw": against_raw,
    "dbos": against_dbos,
    "langgraph": against_langgraph,
    "wrapping": wrapping,
    "flight": in_flight,
    "million": full_file,
    "queues": among_queues,
    "workers": workers_alone,
}
