"""The table of endings, as the design states it."""

from __future__ import annotations

from ax_core import Effect

READ, IDEMPOTENT, KEYED = Effect.READ, Effect.IDEMPOTENT, Effect.KEYED
TRANSACTIONAL, UNDECLARED, UNSAFE = Effect.TRANSACTIONAL, Effect.UNDECLARED, Effect.UNSAFE
EFFECTS = (READ, IDEMPOTENT, KEYED, TRANSACTIONAL, UNDECLARED, UNSAFE)
SAFE = (READ, IDEMPOTENT, KEYED, TRANSACTIONAL)

# The table as the design states it. A cell is (with no retry left, with retries left).
FAILS, FAILS_MAYBE = "FAILED", "FAILED maybe_applied"
AGAIN, UNKNOWN, READY = "RETRY_WAIT", "QUARANTINE outcome_unknown", "QUEUED interrupted"
TABLE: dict[str, dict[Effect, tuple[str, str]]] = {
    "returned": dict.fromkeys(EFFECTS, ("SUCCESS", "SUCCESS")),
    "not applied": {
        **dict.fromkeys((*SAFE, UNSAFE), (FAILS, AGAIN)),
        UNDECLARED: (FAILS, FAILS),
    },
    "raised": {
        **dict.fromkeys(SAFE, (FAILS, AGAIN)),
        UNDECLARED: (FAILS, FAILS),
        UNSAFE: (FAILS_MAYBE, FAILS_MAYBE),
    },
    "timeout": {
        **dict.fromkeys(SAFE, ("TIMEOUT", AGAIN)),
        UNDECLARED: (UNKNOWN, UNKNOWN),
        UNSAFE: (UNKNOWN, UNKNOWN),
    },
    "lost": {
        **dict.fromkeys(SAFE, (READY, READY)),
        UNDECLARED: (UNKNOWN, UNKNOWN),
        UNSAFE: (UNKNOWN, UNKNOWN),
    },
}
# With marks_effect and before the mark nothing can have happened: only "undeclared" still never retries.
UNMARKED: dict[str, dict[Effect, tuple[str, str]]] = {
    "raised": {UNSAFE: (FAILS, AGAIN), UNDECLARED: (FAILS, FAILS)},
    "timeout": {UNSAFE: ("TIMEOUT", AGAIN), UNDECLARED: ("TIMEOUT", "TIMEOUT")},
    "lost": {UNSAFE: (READY, READY), UNDECLARED: (READY, READY)},
}
CELLS = [(ending, effect, retries) for ending in TABLE for effect in EFFECTS for retries in (0, 2)]


def said(state: str, reason: str | None, maybe_applied: bool) -> str:
    return " ".join(filter(None, [state, reason, "maybe_applied" if maybe_applied else ""]))
