"""A hanging tool costs a thread, never the end of the interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.surroundings import SURROUNDINGS

SCRIPT = """
import sys, threading, time
from ax_core import AX, AXError

ax = AX("sqlite:///" + sys.argv[1])
ax.register(lambda: threading.Event().wait(), name="hang", policy={"effect": "unsafe", "timeout": 0.3})

async def never():
    while True:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            pass

def block():
    time.sleep(60)

import asyncio
ax.register(never, policy={"effect": "unsafe", "timeout": 0.3})

def call(tool):
    try:
        ax.call(tool)
    except AXError as error:
        print(tool, error.code, flush=True)

LEAVE
print("leaving", time.monotonic(), flush=True)
"""
CLOSED = "\nax.close(drain=0.2)"


@pytest.mark.parametrize("closes", [False, True], ids=["as it is", "closed"])
@pytest.mark.parametrize("tool", ["hang", "never"])
def test_the_interpreter_exits_at_once_with_a_tool_that_hangs(
    tmp_path: Path, tool: str, closes: bool
) -> None:
    script = SCRIPT.replace("LEAVE", f"call({tool!r})" + (CLOSED if closes else ""))
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "ax.db")],
        env={**os.environ, **SURROUNDINGS},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    told, left = done.stdout.splitlines()
    assert told == f"{tool} outcome_unknown"
    assert time.monotonic() - float(left.split()[1]) < 5
