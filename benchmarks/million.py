"""Does a call cost the same in a full file as in an empty one, and do people's questions stay quick?"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from ax_core import Effect
from benchmarks.bulk import fill
from benchmarks.measure import Contender, Duel, duel
from benchmarks.product import Product


def crowded(folder: Path, many: int, few: int = 1_000) -> tuple[Duel, dict[str, tuple[float, float]]]:
    """The duel of both files, and the (median, best) milliseconds of each question in the full one."""
    products, runs = [], []
    for tasks in (many, few):
        product = Product(folder / f"tasks-{tasks}.db", Effect.READ)
        shape = product.shape()
        with product.ax.run(session="bench", intent="one run to copy"):
            product.block(1)
        product.close()
        runs.append(fill(product.path, shape, tasks))
        products.append(Product(product.path, Effect.READ))
    big, small = products
    try:
        both = duel(
            Contender(f"{many:,} tasks in the file", big.block, 300),
            Contender(f"{few:,} tasks in the file", small.block, 300),
        )
        return both, _questions(big.ax, runs[0])
    finally:
        for product in products:
            product.close()


def _questions(ax: Any, runs: list[str]) -> dict[str, tuple[float, float]]:
    asked: dict[str, Callable[[int], Any]] = {
        "the tree of a run of 50": lambda n: ax.tree(runs[n % len(runs)]),
        "newest first, 50": lambda n: ax.tasks(limit=50),
        "by state, 50": lambda n: ax.tasks(state="QUARANTINE", limit=50),
        "by state and reason, 50": lambda n: ax.tasks(state="QUARANTINE", reason="outcome_unknown", limit=50),
        "by session, 50": lambda n: ax.tasks(session=f"s-{n * 7 % 1000}", limit=50),
    }
    return {name: _took(ask) for name, ask in asked.items()}


def _took(ask: Callable[[int], Any], times: int = 40) -> tuple[float, float]:
    """Median and best milliseconds: on a busy machine the two lie far apart."""
    taken = []
    for number in range(times):
        began = perf_counter()
        ask(number)
        taken.append(perf_counter() - began)
    return statistics.median(taken) * 1e3, min(taken) * 1e3
