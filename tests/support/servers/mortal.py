"""A process with an AX on a server that may be killed at a fault point, or that forks and goes on in its children."""

from __future__ import annotations

import json
import os
from typing import Any

from ax_core import AX, faults
from support.outside import Row


def main(spec: Row) -> None:
    """Make one call with the tool ``effect``; ``fault`` says where to die, ``forks`` how many children call too."""
    ax = AX(spec["url"])
    register(ax, spec["effects"])
    ax.tasks()
    if spec.get("forks"):
        _fork(ax, spec["forks"])
    else:
        if spec.get("fault"):
            faults.arm_from(spec["fault"])
        said = ax.call(spec["effect"], {"n": 1}, request_id="r")
        print(json.dumps({"said": said}), flush=True)
    ax.close()
    print(json.dumps({"ended": True}), flush=True)


def register(ax: AX, effects: str) -> None:
    """One tool for each effect, named by it; what it does is a line in a file."""

    def act(n: int) -> int:
        faults.point("effect.before")
        with open(effects, "a") as file:
            file.write(f"{n}\n")
        faults.point("effect.after")
        return n

    for effect in ("read", "idempotent", "keyed", "unsafe"):
        ax.register(act, name=effect, policy={"effect": effect, "dedupe": "call"})


def _fork(ax: AX, count: int) -> None:
    children: list[Any] = []
    for number in range(count):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if ax.call("unsafe", {"n": number}, request_id=f"child{number}") == number else 2
                ax.close()
            finally:
                os._exit(code)
        children.append(pid)
        assert ax.call("unsafe", {"n": 100 + number}, request_id=f"parent{number}") == 100 + number
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
    print(json.dumps({"codes": codes}), flush=True)
