"""What operators need to know of tools without their code, and whether one is paused."""

from __future__ import annotations

from ..model import ToolRow
from .tx import Tx, columns


def publish(tx: Tx, row: ToolRow) -> None:
    """Make a tool's schema and policy known; whether it is paused stays as it is."""
    if tx.insert_new("ax_tool", row):
        return
    tx.run(
        "UPDATE ax_tool SET version = :version, schema = :schema, policy = :policy, seen_at = :seen_at "
        "WHERE ns = :ns AND name = :name",
        version=row.version,
        schema=row.schema,
        policy=row.policy,
        seen_at=row.seen_at,
        ns=row.ns,
        name=row.name,
    )


def get(tx: Tx, ns: str, name: str) -> ToolRow | None:
    """A tool as it was last published."""
    found = tx.one(
        f"SELECT {columns(ToolRow)} FROM ax_tool WHERE ns = :ns AND name = :name", ns=ns, name=name
    )
    return ToolRow(*found) if found else None


def every(tx: Tx, ns: str) -> list[ToolRow]:
    """Every published tool, by name."""
    return [
        ToolRow(*row)
        for row in tx.all(f"SELECT {columns(ToolRow)} FROM ax_tool WHERE ns = :ns ORDER BY name", ns=ns)
    ]


def pause(tx: Tx, ns: str, name: str, by: str | None) -> bool:
    """Pause a tool (``by`` somebody) or let it go on (None); False: it is not known, or was so already."""
    sql = (
        "UPDATE ax_tool SET paused = 1, paused_by = :actor WHERE ns = :ns AND name = :name AND paused = 0"
        if by is not None
        else "UPDATE ax_tool SET paused = 0, paused_by = NULL WHERE ns = :ns AND name = :name AND paused = 1"
    )
    params = {"actor": by} if by is not None else {}
    return tx.run(sql, ns=ns, name=name, **params) == 1


PAUSED = "SELECT 1 FROM ax_tool WHERE ns = ? AND name = ? AND paused = 1"


def paused(tx: Tx, ns: str, name: str) -> bool:
    """Whether a tool is paused."""
    found = tx.one("SELECT paused FROM ax_tool WHERE ns = :ns AND name = :name", ns=ns, name=name)
    return bool(found and found[0])


def all_paused(tx: Tx, ns: str) -> frozenset[str]:
    """The names of the tools that are paused."""
    return frozenset(
        name for (name,) in tx.all("SELECT name FROM ax_tool WHERE ns = :ns AND paused = 1", ns=ns)
    )
