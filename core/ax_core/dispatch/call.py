"""A call before it is admitted: what the caller asks, and what can be told of it without the store."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .. import keys
from ..clock import Micros, micros
from ..errors import PolicyError
from ..frozen import frozen
from ..model import TaskRow
from ..policy import DEDUPE, Effect
from ..registry import Tool
from ..schema import Admitted, Invalid, Problem, oversized
from ..states import State
from .scope import RunScope, current_override, current_run, current_task
from .wiring import Wiring

MAX_ID = 255
_RUNNING = State.RUNNING.value


@frozen(eq=False)
class Call:
    """What a caller asks.

    Attributes:
        payload: the model-visible arguments, as submitted.
        body: runs the tool with the admitted arguments; None: the registered function. Never stored.
        body_is_async: ``body`` is a coroutine function.
        portable: the tool's ``apart`` with the admitted arguments does what ``body`` does.
        problem: the framework, or its adapter, has found that the arguments do not fit.
        run_id: an implicit run that the framework names; ``scope`` is one that was opened on purpose.
        address: where the framework can be woken (thread, checkpoint, interrupt …), as plain data.
        origin: ``call``, ``submit`` or ``compensation``.
    """

    tool: Tool[..., Any]
    payload: Any
    body: Callable[[dict[str, Any]], Any] | None = None
    body_is_async: bool = False
    portable: bool = False
    problem: Invalid | None = None
    request_id: str | None = None
    run_id: str | None = None
    scope: RunScope | None = None
    session: str | None = None
    parent_id: str | None = None
    address: Mapping[str, Any] | None = None
    origin: str = "call"
    key: str | None = None
    dedupe: str | None = None
    repeat: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.request_id is not None:
            bounded("request_id", self.request_id)
        if self.key is not None:
            bounded("key", self.key)
        if self.run_id is not None:
            bounded("run_id", self.run_id)
        if self.session is not None:
            bounded("session", self.session)
        if self.dedupe is not None and self.dedupe not in DEDUPE:
            raise PolicyError(f"dedupe={self.dedupe!r} is unknown; one of {', '.join(map(repr, DEDUPE))}")
        if self.dedupe == "global" and self.tool.policy.window is None:
            raise PolicyError(f"dedupe='global' needs a window in the policy of {self.tool.name!r}")


@frozen(eq=False)
class Submission:
    """A call with everything worked out that needs no store.

    Attributes:
        row: the task as it will be stored if nothing stands in the way: RUNNING, attempt 1.
        args: the admitted arguments.
        invalid: why they do not fit, else None.
        explicit_key: the caller gave the key, so other arguments under it are a conflict.
        confirm: a person must approve.
        in_run: ``row.run_id`` may stand for more than this call.
        here: this process runs it, and no worker.
        formerly: how the call would be known under each name that the tool had before.
    """

    call: Call
    row: TaskRow
    args: dict[str, Any]
    invalid: Invalid | None
    explicit_key: bool
    confirm: bool
    in_run: bool
    timeout: Micros | None
    here: bool
    formerly: tuple[Names, ...] = ()


@frozen()
class Names:
    """What an equal call under another name of the tool is found by.

    Attributes:
        key: the idempotency key; None: only its own request is the same call.
        twin: None: nothing stands in its way.
    """

    key: str | None
    twin: str | None


def placed(call: Call) -> Call:
    """The call with what its surroundings say: the run and task it is made in, and ``ax.override``."""
    over, scope, inside = current_override.get(), current_run.get(), current_task.get()
    if over is None and scope is None and inside is None:
        return call
    changes: dict[str, Any] = {}
    if over is not None:
        for name in ("request_id", "key", "dedupe", "repeat", "timeout"):
            if getattr(call, name) is None and (value := getattr(over, name)) is not None:
                changes[name] = value
    if call.scope is None and scope is not None:
        changes["scope"] = scope
    if inside is not None and (left := inside.remaining()) is not None:
        own = changes.get("timeout", call.timeout)
        changes["timeout"] = (
            left if own is None else min(own, left)
        )  # an inner limit is cut to the outer's rest
    if call.parent_id is None and inside is not None and inside.row is not None:
        changes["parent_id"] = inside.row.id
        if call.run_id is None:
            changes["run_id"] = inside.row.run_id
        if call.session is None:
            changes["session"] = inside.row.session
    return replace(call, **changes) if changes else call


def prepare(call: Call, wiring: Wiring) -> Submission:
    """Work out everything about a call that needs no store: gate, hashes, keys, scope and the row itself."""
    tool, policy, now = call.tool, call.tool.policy, wiring.clock.now()
    task_id = wiring.clock.new_id()
    scope = call.scope
    run_id = scope.id if scope else call.run_id or task_id
    session = scope.session if scope else call.session
    in_run = run_id != task_id
    args, invalid, notes, args_hash, submitted_hash, payload = _gated(call, wiring, task_id)
    fingerprint = keys.fingerprint(tool.name, args_hash)
    where = session or (run_id if in_run else None)
    if policy.effect is Effect.READ or invalid is not None:
        where = None
    twin = None if where is None else keys.digest(wiring.ns, where, fingerprint)[:32]
    timeout = None
    if call.timeout is not None or policy.timeout is not None:
        timeout = _least(call.timeout, policy.timeout)
    bound_key = None
    if invalid is None and not call.repeat:
        try:
            bound_key = dedupe_key(call, wiring.ns, args, args_hash, session, run_id, in_run)
        except keys.NotCanonical as odd:
            invalid, twin = unkeyed(odd), None
    # By place: to pass forty columns by name takes longer than all the rest of this function.
    # fmt: off
    row = TaskRow(
        task_id,  # id
        wiring.ns,
        run_id,
        call.parent_id,
        session,
        tool.name,  # tool
        tool.version,  # tool_version
        str(policy.effect),  # effect
        call.origin,
        _RUNNING,  # state
        None,  # reason
        call.request_id,
        # The same for the same request, even in a database that lost it.
        task_id if call.request_id is None else keys.idempotency_key(wiring.ns, tool.name, call.request_id),
        submitted_hash,
        args_hash,
        fingerprint,
        twin,
        bound_key,  # dedupe_key
        payload,
        None,  # result
        None,  # error
        json.dumps(notes) if notes else None,  # notes
        json.dumps(dict(call.address), default=str) if call.address else None,  # address
        1,  # attempt
        0,  # failures
        0,  # interruptions
        policy.retries + 1,  # max_attempts
        1,  # fence
        wiring.owner,
        now + wiring.lease,  # lease_until
        1,  # attempt_open
        int(policy.marks_effect),  # marks_effect
        None,  # acted_at
        0,  # maybe_applied
        0,  # cancel_requested
        0,  # approved
        0,  # overdue
        0,  # replays
        None,  # due_at
        None if timeout is None else now + timeout,  # deadline_at
        now,  # created_at
        now,  # started_at
        None,  # ended_at
        0,  # audit_seq
        "",  # audit_head
    )
    # fmt: on
    confirm = (
        policy.confirm if isinstance(policy.confirm, bool) else invalid is None and bool(policy.confirm(args))
    )
    here = wiring.post is None or not wiring.post.takes(tool, call.body is None or call.portable)
    formerly: tuple[Names, ...] = ()
    if tool.aliases and invalid is None:
        formerly = tuple(_names(call, name, row, args, where, in_run) for name in tool.aliases)
    return Submission(
        call, row, args, invalid, call.key is not None, confirm, in_run, timeout, here, formerly
    )


def _names(
    call: Call, name: str, row: TaskRow, args: dict[str, Any], where: str | None, in_run: bool
) -> Names:
    """What the call would be known by if its tool were called ``name``."""
    key = row.dedupe_key
    if key is not None:
        key = dedupe_key(call, row.ns, args, row.args_hash, row.session, row.run_id, in_run, name)
    equal = keys.fingerprint(name, row.args_hash)
    return Names(key, None if where is None else keys.digest(row.ns, where, equal)[:32])


def unkeyed(odd: keys.NotCanonical) -> Invalid:
    """Arguments of which it cannot be told whether they are those of an earlier call."""
    place = odd.path.removeprefix("$.")
    return Invalid((Problem(place, "value", f"{place}: {odd.why}"),))


def dedupe_key(
    call: Call,
    ns: str,
    args: dict[str, Any],
    args_hash: str,
    session: str | None,
    run_id: str,
    in_run: bool,
    name: str | None = None,
) -> str | None:
    """The key under which an equal call is the same call, in the scope that applies; None: only its own request is.

    Args:
        name: of the tool, as it is called or was.
    """
    tool, policy = call.tool, call.tool.policy
    if call.key is not None:
        return keys.digest(ns, "key", call.key)[:48]
    scope = call.dedupe or policy.scope
    if policy.on_duplicate == "run" or scope == "call":
        return None
    if scope == "session" and session is None:
        scope = "run"
    if scope == "run" and not in_run:
        return None
    place = {"run": run_id, "session": session or "", "global": ""}[scope]
    parts = keys.business_key(policy.key, args, policy.normalise) if policy.key else (args_hash,)
    return keys.digest(ns, scope, place, name or tool.name, *parts)[:48]


def _gated(
    call: Call, wiring: Wiring, task_id: str
) -> tuple[dict[str, Any], Invalid | None, tuple[str, ...], str, str, str]:
    """(arguments, why not, notes, hash, hash as submitted, text): what is hashed, stored and run is the same."""
    tool = call.tool
    notes: tuple[str, ...] = ()
    if call.problem is not None:
        raw = _raw_hash(call.payload)
        return {}, call.problem, (), raw, raw, _raw_text(call.payload, wiring.payload_cap)
    if tool.validated_elsewhere:
        try:
            args = keys.plain(call.payload)
            digest, text = keys.args_hash_and_text(args)
        except keys.NotCanonical as odd:
            # The framework accepted them, so they run; but they have no identity, and equal nothing.
            notes = (f"arguments are not plain data ({odd}); this call equals no other",)
            args, digest = {"unstorable": str(odd)}, keys.args_hash({"unstorable": task_id})
            text = json.dumps(args)
        if len(text) > wiring.payload_cap:
            big = _raw_text(call.payload, wiring.payload_cap)
            return {}, oversized(wiring.payload_cap), (), digest, digest, big
        return args, None, notes, digest, digest, text
    answer = tool.gate.admit(call.payload, wiring.payload_cap)
    if isinstance(answer, Admitted):
        args, notes = answer.args, answer.notes
        digest, text = keys.args_hash_and_text(args)
        submitted = digest if args == call.payload and not notes else _raw_hash(call.payload)
        return args, None, notes, digest, submitted, text
    raw = _raw_hash(call.payload)
    return {}, answer, (), raw, raw, _raw_text(call.payload, wiring.payload_cap)


def _raw_hash(payload: Any) -> str:
    try:
        return keys.args_hash(keys.plain(payload))
    except keys.NotCanonical:
        return keys.digest("raw", repr(type(payload)), _raw_text(payload, 100_000))[:32]


def _raw_text(payload: Any, cap: int) -> str:
    """Arguments that were refused, as JSON a person can read, capped."""
    try:
        text = json.dumps(payload, default=lambda o: f"<{type(o).__name__}>")
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(f"<{type(payload).__name__} that is not JSON>")
    limit = min(cap, 4096)
    return text if len(text) <= limit else json.dumps(text[:limit] + "…")


def _least(*seconds: float | None) -> Micros | None:
    given = [s for s in seconds if s is not None]
    return micros(max(0.0, min(given))) if given else None


def bounded(name: str, value: Any) -> None:
    """Refuse what is no short printable name."""
    if value is None:
        return
    if not isinstance(value, str) or not value:
        raise PolicyError(f"{name} must be text, not {type(value).__name__}")
    if len(value) > MAX_ID:
        raise PolicyError(f"{name} has {len(value)} characters; {MAX_ID} are allowed (hash a longer one)")
    if not value.isprintable():
        raise PolicyError(f"{name} must be printable text without line breaks")
