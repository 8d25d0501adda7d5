"""Whether a transaction was committed whose COMMIT was not answered: looked up, never guessed.

Every transaction that wrote anything leaves a row that no other can have written: the last entry of an audit trail, a
task that is born, else one of ``ax_commit``. After the connection broke, its other end is cut off, and the same row is
inserted once more and taken back. The server lets that wait for the old transaction to end, so the answer is final.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from .tx import ServerTx

KEPT = "ax_commit"
KEEP_SECONDS = 3600
"""How long a row of ``ax_commit`` is kept: longer than anybody looks for it."""


class Proof(NamedTuple):
    """A row by which a transaction is known."""

    table: str
    row: tuple[Any, ...]


def leave(tx: ServerTx, token: str, now: int) -> None:
    """See to it that a transaction that wrote anything can be known by a row."""
    if tx.wrote and tx.proof is None:
        tx.proof = Proof(KEPT, (token, now))
        tx.insert(*tx.proof)


def landed(tx: ServerTx, proof: Proof) -> bool:
    """Whether the row is there for good; asked in a transaction that is to be rolled back."""
    if tx.insert_new(proof.table, proof.row):
        return False
    if proof.table == "ax_audit":
        # Somebody else may have written the next entry of the same trail: theirs has another hash.
        found = tx.one(
            "SELECT hash FROM ax_audit WHERE task_id = :task_id AND seq = :seq",
            task_id=proof.row[0],
            seq=proof.row[1],
        )
        return bool(found and found[0] == proof.row[-1])
    if proof.table == "ax_task":
        # Somebody else's task may have the same request: it has another id.
        return tx.one("SELECT 1 FROM ax_task WHERE id = :id", id=proof.row[0]) is not None
    return True
