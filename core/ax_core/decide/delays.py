"""How long to wait before the next attempt: tenacity's wait strategies, used as arithmetic."""

from __future__ import annotations

from typing import Any

from ..clock import Micros, micros


def delay(backoff: Any, failures: int, retry_after: float | None, chance: float) -> Micros:
    """The delay before the next attempt, drawn once; the caller stores it.

    Args:
        backoff: seconds, a tenacity wait strategy, or None for 1 s doubling to 60 s with full jitter.
        failures: how many attempts have failed, this one included.
        retry_after: what the downstream asked for, in seconds; never undercut, and spread above by up to a half.
        chance: a number in [0, 1).
    """
    if backoff is None:
        seconds = min(60.0, 2.0 ** (failures - 1)) * (0.5 + chance / 2)
    elif callable(backoff):
        seconds = float(backoff(_state(failures)))
    else:
        seconds = float(backoff)
    if retry_after is not None:
        seconds = max(seconds, retry_after * (1 + chance / 2))
    return micros(max(0.0, seconds))


def _state(failures: int) -> Any:
    from tenacity import RetryCallState, Retrying

    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return state
