"""Tools that act on the outside world: one per effect class and form, each with a place to be stopped in.

``here`` is a plain function on the caller's thread, ``thread`` a plain function with a timeout (so on a thread of its
own), ``loop`` a coroutine function. Every body notes its begin and end, and reaches the fault points
``effect.before`` and ``effect.after`` around its one effect. Arguments make it wait at a gate ``before`` or ``after``
the effect, ``dwell`` some seconds on both sides of it, and end its first attempts in an exception: ``refuses`` of them
before it acted, ``raises`` of them after.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import Any

from ax_core import AX, Effect, NotApplied, Policy, current, faults
from support.outside import Outside, Row

KINDS = (
    "read",
    "idempotent",
    "keyed",
    "transactional",
    "undeclared",
    "unsafe",
    "undeclared_marked",
    "unsafe_marked",
)
FORMS = ("here", "thread", "loop")
BUSINESS = "CREATE TABLE IF NOT EXISTS business (subject TEXT NOT NULL, task TEXT NOT NULL, attempt INTEGER NOT NULL)"


def policy_of(kind: str, timeout: float | None, **more: Any) -> Policy:
    """The policy that a tool of this kind declares."""
    effect = Effect(kind.removesuffix("_marked"))
    return Policy(effect, timeout=timeout, marks_effect=kind.endswith("_marked"), **more)


def register(ax: AX, outside: Outside, names: Iterable[str], timeout: float = 60.0, **more: Any) -> None:
    """Register tools by their names, ``<kind>_<form>``."""
    for name in names:
        kind, _, form = name.rpartition("_")
        assert kind in KINDS, name
        assert form in FORMS, name
        make = _a_coroutine if form == "loop" and kind != "transactional" else _a_function
        limit = None if form == "here" else timeout
        ax.register(make(kind, outside), name=name, policy=policy_of(kind, limit, **more))


def said(kind: str, receipt: Row) -> Any:
    """What a tool of this kind returns."""
    return {"receipt": receipt.get("receipt", receipt.get("value"))}


def who(subject: str) -> Row:
    """Which attempt speaks."""
    ctx = current()
    return {
        "subject": subject,
        "task": ctx.task_id,
        "attempt": ctx.attempt,
        "fence": ctx.fence,
        "pid": os.getpid(),
    }


def question(kind: str, subject: str) -> Row:
    """What a tool of this kind asks of the world."""
    kind = kind.removesuffix("_marked")
    if kind == "keyed":
        return {"do": "keyed", "key": current().idempotency_key, **who(subject)}
    if kind == "idempotent":
        return {"do": "idempotent", "value": f"value of {subject}", **who(subject)}
    return {"do": "read" if kind == "read" else "unsafe", **who(subject)}


def _a_function(kind: str, outside: Outside) -> Any:
    def act(
        subject: str, before: str = "", after: str = "", refuses: int = 0, raises: int = 0, dwell: float = 0
    ) -> Any:
        outside.ask("note", kind="begin", **who(subject))
        try:
            if before:
                outside.ask("gate", gate=before, **who(subject))
            if current().attempt <= refuses:
                raise NotApplied("not yet")
            if dwell:
                time.sleep(dwell)
            faults.point("effect.before")
            if kind.endswith("_marked"):
                current().about_to_act()
            receipt = _row(subject) if kind == "transactional" else outside.ask(**question(kind, subject))
            faults.point("effect.after")
            if dwell:
                time.sleep(dwell)
            if after:
                outside.ask("gate", gate=after, **who(subject))
            if current().attempt <= raises:
                raise RuntimeError("the reply was lost")
            return said(kind, receipt)
        finally:
            outside.ask("note", kind="end", **who(subject))

    return act


def _a_coroutine(kind: str, outside: Outside) -> Any:
    async def act(
        subject: str, before: str = "", after: str = "", refuses: int = 0, raises: int = 0, dwell: float = 0
    ) -> Any:
        await outside.aask("note", kind="begin", **who(subject))
        try:
            if before:
                await outside.aask("gate", gate=before, **who(subject))
            if current().attempt <= refuses:
                raise NotApplied("not yet")
            if dwell:
                await asyncio.sleep(dwell)
            faults.point("effect.before")
            if kind.endswith("_marked"):
                current().about_to_act()
            receipt = await outside.aask(**question(kind, subject))
            faults.point("effect.after")
            if dwell:
                await asyncio.sleep(dwell)
            if after:
                await outside.aask("gate", gate=after, **who(subject))
            if current().attempt <= raises:
                raise RuntimeError("the reply was lost")
            return said(kind, receipt)
        finally:
            await outside.aask("note", kind="end", **who(subject))

    return act


def _row(subject: str) -> Row:
    """The effect of a TRANSACTIONAL tool: a row in the same database, through AX's own transaction."""
    from sqlalchemy import text

    ctx = current()
    insert = text("INSERT INTO business (subject, task, attempt) VALUES (:subject, :task, :attempt)")
    ctx.connection.execute(insert, {"subject": subject, "task": ctx.task_id, "attempt": ctx.attempt})
    return {"receipt": f"row of {subject}"}
