"""The schema as SQLAlchemy metadata, derived from the row types: what the migrations must add up to."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Index, MetaData, Table, text

from .. import model
from .columns import key, long_text, options

metadata = MetaData()

_WIDTHS = {
    # Columns that are part of a key have a bounded width, so that every database can index them.
    **dict.fromkeys(
        ("id", "task_id", "run_id", "root_id", "parent_id", "parent_run_id", "parent_task_id"), 64
    ),
    **dict.fromkeys(
        ("ns", "idempotency_key", "effect", "origin", "state", "reason", "verb", "source", "target"), 64
    ),
    **dict.fromkeys(
        ("submitted_hash", "args_hash", "fingerprint", "twin", "dedupe_key", "audit_head", "hash"), 64
    ),
    **dict.fromkeys(("request_id", "run_key", "session", "tool", "name", "lock_token", "token"), 255),
    **dict.fromkeys(("tool_version", "version", "digest"), 64),
}


def _table(name: str, row: Any, keys: tuple[str, ...]) -> Table:
    columns: list[Column[Any]] = []
    for field, annotation in row.__annotations__.items():
        kind = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", "str")
        whole = "int" in kind or "Micros" in kind
        width = _WIDTHS.get(field)
        columns.append(
            Column(
                field,
                BigInteger() if whole else key(width) if width else long_text(),
                primary_key=field in keys,
                autoincrement=False,
                nullable="None" in kind,
            )
        )
    return Table(name, metadata, *columns, **options())


task = _table("ax_task", model.TaskRow, ("id",))
run = _table("ax_run", model.RunRow, ("id",))
attempt = _table("ax_attempt", model.AttemptRow, ("task_id", "number", "fence"))
audit = _table("ax_audit", model.AuditRow, ("task_id", "seq"))
approval = _table("ax_approval", model.ApprovalRow, ("task_id", "number"))
request = _table("ax_request", model.RequestRow, ("ns", "request_id"))
idempotency = _table("ax_idempotency", model.IdempotencyRow, ("ns", "dedupe_key"))
lock = _table("ax_lock", model.LockRow, ("ns", "session"))
tool = _table("ax_tool", model.ToolRow, ("ns", "name"))

for _wide in (audit, attempt, approval, request, idempotency, lock, tool):
    # Their key is their only index: one B-tree instead of two.
    _wide.dialect_options["sqlite"]["with_rowid"] = False


def _index(name: str, *columns: Any, unique: bool = False, where: str | None = None) -> None:
    """An index; of the rows ``where`` only, but on MySQL, which has no such indexes."""
    only: dict[str, Any] = {f"{of}_where": text(where) for of in ("sqlite", "postgresql")} if where else {}
    Index(name, *columns, unique=unique, **only)


_index("ux_task_request", task.c.ns, task.c.request_id, unique=True, where="request_id IS NOT NULL")
# The tree of a run, and how often it did the same thing (the repeat guard).
_index("ix_task_run", task.c.run_id, task.c.fingerprint)
# Newest first by state, without the bulk of the successes: those are found by walking the ids.
_index("ix_task_state", task.c.state, task.c.ns, task.c.id, where="state <> 'SUCCESS'")
# Attempts that were given up and may still be running; none on the way of a call that ends well.
_index("ix_task_half_open", task.c.attempt_open, task.c.id, where="attempt_open = 1 AND state <> 'RUNNING'")
# What may stand in the way of an equal call.
_index("ix_task_twin", task.c.twin, where="twin IS NOT NULL AND state <> 'SUCCESS'")
_index("ix_task_session", task.c.ns, task.c.session, task.c.id, where="session IS NOT NULL")
_index("ux_run_key", run.c.ns, run.c.run_key, unique=True, where="run_key IS NOT NULL")
_index("ix_run_root", run.c.root_id)
_index(
    "ix_run_state",
    run.c.ns,
    run.c.state,
    run.c.id,
    where="state IN ('OPEN', 'PAUSED') OR reason = 'rolling_back'",
)
_index("ix_run_session", run.c.ns, run.c.session, run.c.id, where="session IS NOT NULL")
_index("ix_request_task", request.c.task_id)
_index("ix_run_rolling", run.c.reason, run.c.id, where="reason = 'rolling_back'")


def declared(database: str) -> MetaData:
    """What the migrations must add up to on ``sqlite``, ``postgresql`` or ``mysql``: servers have two tables more."""
    if database == "sqlite":
        return metadata
    whole = MetaData()
    for table in metadata.sorted_tables:
        table.to_metadata(whole)
    # The proof that a transaction was committed, for those that leave no other (see servers/proof.py).
    Table("ax_commit", whole, Column("id", key(64), primary_key=True), _whole("at"), **options())
    if database == "mysql":  # what PostgreSQL has advisory locks for
        Table("ax_stripe", whole, _whole("n", primary_key=True), **options())
    return whole


def _whole(name: str, primary_key: bool = False) -> Column[Any]:
    return Column(name, BigInteger(), primary_key=primary_key, autoincrement=False, nullable=False)
