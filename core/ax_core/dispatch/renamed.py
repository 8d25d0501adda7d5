"""A tool under a new name: its calls go on under what an equal call of its old name is known by."""

from __future__ import annotations

from dataclasses import replace

from ..control import known_by
from ..store import Tx, bindings, queries
from .call import Submission


def as_known(tx: Tx, sub: Submission) -> Submission:
    """The submission under the key and the twin by which an equal call is on record, if those are an old name's.

    One key then stands for one intent, by whichever name a release calls the tool.
    """
    row = sub.row
    keys = (row.dedupe_key, *(name.key for name in sub.formerly))
    twins = (row.twin, *(name.twin for name in sub.formerly))
    key = next((key for key in keys if key and bindings.holder(tx, row.ns, key)), row.dedupe_key)
    twin = next((twin for twin in twins if twin and queries.twins(tx, twin)), row.twin)
    return replace(sub, row=row.but(dedupe_key=key, twin=twin))


def known_before(sub: Submission) -> list[str]:
    """:func:`known_by`, of the call under the former names of its tool."""
    rows = (sub.row.but(request_id=None, dedupe_key=name.key, twin=name.twin) for name in sub.formerly)
    return [name for row in rows for name in known_by(row)]
