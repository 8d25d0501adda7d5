"""A client that forks after it was used (a preloading web server): each child has connections of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from support.surroundings import SURROUNDINGS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")

PROGRAM = """
import json, os, sys
from support.workshop import shop

ax = shop(sys.argv[1], sys.argv[2], int(sys.argv[3]))
answers = {"before": ax.call("keyed_here", {"subject": "before"})}
children = []
for n in range(4):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            ax.call("unsafe_here", {"subject": f"child {n}"})
            ax.wait_for_result(ax.submit("keyed_here", {"subject": f"later {n}"}), timeout=60)
            code = 0
        finally:
            os._exit(code)
    children.append(pid)
    ax.call("unsafe_here", {"subject": f"parent {n}"})
answers["codes"] = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
ax.call("keyed_here", {"subject": "after"})
ax.close()
print(json.dumps(answers))
"""


def test_children_of_a_used_client_call_workers_and_the_parent_goes_on(shop_on: Any) -> None:
    """Each call runs once and its answer comes to who asked, with the queue and the database on either side."""
    shop_on.worker(concurrency=8)
    words = [sys.executable, "-c", PROGRAM, shop_on.url, shop_on.queue, str(shop_on.world.port)]
    done = subprocess.run(
        words, env={**os.environ, **SURROUNDINGS}, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["codes"] == [0] * 4
    subjects = [f"{who} {n}" for who in ("child", "later", "parent") for n in range(4)]
    assert [len(shop_on.effects(s)) for s in ("before", "after", *subjects)] == [1] * 14
