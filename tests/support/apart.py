"""Tools in processes of their own, which end in every way a process can end."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import Any

from ax_core import AX, Effect, NotApplied, Policy, current
from support import agent_tools
from support.outside import Outside, Row

TIMEOUT = 1.0
KINDS = ("read", "keyed", "unsafe", "undeclared", "unsafe_marked")
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(300)"
)


@dataclass
class Receipt:
    """What a tool returns: a type that only the codec can carry."""

    number: int
    pid: int


class OutOfStock(Exception):
    """An exception of the program's own."""

    def __init__(self, item: str, left: int) -> None:
        super().__init__(item, left)


def register(ax: AX, outside: Outside) -> None:
    """Register them, as ``apart_<kind>``."""
    for kind in KINDS:
        policy = agent_tools.policy_of(kind, TIMEOUT, retries=2, backoff=0.05, **_APART)
        ax.register(_acting(kind, outside), name=f"apart_{kind}", policy=policy)
    ax.register(lambda: _told(outside), name="apart_told", schema=_NOTHING, policy=_patient(Effect.READ))
    ax.register(_lent, name="apart_lent", policy=_patient(Effect.READ))
    ax.register(_asking(outside), name="apart_asking", policy=_patient(Effect.READ))
    ax.register(_acting("keyed", outside), name="apart_patient", policy=_patient(Effect.KEYED))
    ax.register(_looking(outside), name="apart_looking", policy=_patient(Effect.UNSAFE))
    ax.register(_calling(ax), name="apart_calling", policy=_patient(Effect.READ))


_APART: Row = {"isolation": "process", "where": "worker"}
_NOTHING: Row = {"type": "object", "properties": {}}


def _patient(effect: Effect) -> Policy:
    return Policy(effect, timeout=60.0, **_APART)


def _acting(kind: str, outside: Outside) -> Any:
    def act(subject: str, then: str = "", until: int = 99, first: str = "") -> Receipt:
        outside.ask("note", kind="begin", **agent_tools.who(subject))
        if current().attempt <= until:
            _end(first, outside, subject)
        if kind.endswith("_marked"):
            current().about_to_act()
        receipt = outside.ask(**agent_tools.question(kind, subject))
        if current().attempt <= until:
            _end(then, outside, subject)
        return Receipt(receipt.get("receipt", 0), os.getpid())

    return act


def _end(how: str, outside: Outside, subject: str) -> None:
    match how:
        case "hang":
            threading.Event().wait(300)
        case "hang in C":
            # Until it is killed the interpreter gets no say: neither signal handlers nor other threads run.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            ctypes.PyDLL(None).sleep(300)
        case "hang with a child":
            child = subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE)
            child.stdout.readline()
            outside.ask("note", kind="child", **{**agent_tools.who(subject), "pid": child.pid})
            child.wait()
        case "segfault":
            ctypes.string_at(0)
        case "exit":
            os._exit(3)
        case "sys.exit":
            sys.exit(3)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            raise OutOfStock("tea", 0)
        case "refuse":
            raise NotApplied("not today")


def _told(outside: Outside) -> Row:
    """What ``current()`` knows in here."""
    ctx = current()
    ctx.progress(0.5, "half")
    print("hello from apart", flush=True)
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "thread": threading.current_thread() is threading.main_thread(),
        "ids": [ctx.task_id, ctx.run_id, ctx.attempt, ctx.fence, ctx.idempotency_key],
        "remaining": ctx.remaining(),
        "cancelled": ctx.cancelled,
        "results": len(ctx.results),
        "resources": dict(ctx.resources),
    }


def _lent() -> Any:
    return current().connection


def _asking(outside: Outside) -> Any:
    def asking(subject: str) -> Row:
        outside.ask("gate", gate=subject, **agent_tools.who(subject))
        return {"pid": os.getpid()}

    return asking


def _looking(outside: Outside) -> Any:
    def looking(subject: str) -> Row:
        outside.ask("note", kind="begin", **agent_tools.who(subject))
        while True:
            current().raise_if_cancelled()
            threading.Event().wait(0.01)

    return looking


def _calling(ax: AX) -> Any:
    def calling(subject: str) -> Any:
        return {"pid": os.getpid(), "said": ax.call("unsafe_here", {"subject": subject})}

    return calling
