"""Arguments that an approver changed: through the gate again, and given the keys of the new intent they are."""

from __future__ import annotations

import json
from typing import Any

from .. import keys
from ..control.confirm import Edited
from ..dispatch import Call
from ..dispatch.call import dedupe_key
from ..errors import InvalidArguments, UnknownTool
from ..model import TaskRow
from ..policy import Policy
from ..registry import Registry, Tool
from ..schema import Invalid
from ..store import Tx, tools

_OF_A_REPEAT = ("effect", "dedupe", "key", "normalise", "window", "on_duplicate", "redact")
"""What of a published policy says whether two calls are the same call."""


def edited(tx: Tx, registry: Registry, row: TaskRow, payload: dict[str, Any], cap: int) -> Edited:
    """What becomes of a task whose arguments are now ``payload``, of at most ``cap`` bytes.

    Raises:
        InvalidArguments: they do not fit the tool.
        UnknownTool: the tool was never published.
    """
    tool = registry.find(row.tool) or published(tx, row.ns, row.tool)
    answer = tool.gate.admit(payload, cap)
    if isinstance(answer, Invalid):
        raise InvalidArguments(
            f"the edited arguments do not fit {row.tool!r}: {answer.for_model()}", task_id=row.id
        )
    args_hash = keys.args_hash(answer.args)
    fingerprint = keys.fingerprint(row.tool, args_hash)
    call, in_run = Call(tool, payload), row.run_id != row.id
    key = None
    try:
        if row.dedupe_key is not None:
            key = dedupe_key(call, row.ns, answer.args, args_hash, row.session, row.run_id, in_run)
    except keys.NotCanonical as odd:
        raise InvalidArguments(
            f"the edited arguments do not fit {row.tool!r}: {odd}", task_id=row.id
        ) from odd
    return Edited(
        payload=json.dumps(answer.args, separators=(",", ":")),
        args_hash=args_hash,
        fingerprint=fingerprint,
        twin=None if row.twin is None else keys.digest(row.ns, row.session or row.run_id, fingerprint)[:32],
        dedupe_key=key,
        idempotency_key=keys.idempotency_key(row.ns, row.tool, row.id, args_hash),
        window=tool.policy.window,
    )


def published(tx: Tx, ns: str, name: str) -> Tool[..., Any]:
    """A tool as it was last published, for a process that has not registered it: it checks arguments, and runs nothing.

    Raises:
        UnknownTool: it was never published.
    """
    row = tools.get(tx, ns, name)
    if row is None:
        raise UnknownTool(
            f"tool {name!r} has never been seen in this database, so its arguments cannot be checked"
        )
    said = json.loads(row.policy)
    policy = Policy.of({field: said[field] for field in _OF_A_REPEAT if said.get(field) is not None})
    return Tool(name=name, description="", schema=json.loads(row.schema), policy=policy, fn=_elsewhere)


def _elsewhere(**_: Any) -> Any:
    raise AssertionError("a published tool is not run here")
