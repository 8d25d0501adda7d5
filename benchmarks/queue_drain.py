"""The process that submits very many tasks while there is no worker, and says when the last of them has ended."""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from benchmarks.queue_ax import ax

PATIENCE = 300.0


def main(tasks: int) -> None:
    """Two rows: the seconds the submitting took; the seconds from then to the end, and how many never ended well."""
    began = perf_counter()
    with ThreadPoolExecutor(16) as pool:
        ids = list(pool.map(lambda number: str(ax.submit("nothing", {"x": number})), range(tasks)))
    print(json.dumps({"seconds": perf_counter() - began}), flush=True)
    began, left = perf_counter(), deque(ids)
    while left and perf_counter() - began < PATIENCE:
        time.sleep(0.1)  # what looks too often takes the time of what works
        while left and ax.get(left[-1]).state == "SUCCESS":
            left.pop()
    lost = sum(ax.get(task_id).state != "SUCCESS" for task_id in ids)
    print(json.dumps({"seconds": perf_counter() - began, "lost": lost + tasks - len(set(ids))}), flush=True)
    ax.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
