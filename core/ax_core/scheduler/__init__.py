"""Small duties that keep the record true when nobody calls: each is a store operation, none needs a leader."""

from .approvals import anything_due, expire_due
from .doubts import to_reconcile
from .leases import anything_lost, asked_to_stop, renew, renew_sessions, sweep

__all__ = [
    "anything_due",
    "anything_lost",
    "asked_to_stop",
    "expire_due",
    "renew",
    "renew_sessions",
    "sweep",
    "to_reconcile",
]
