"""Settings: one class, from arguments or the environment (``lease=`` or ``AX_LEASE``), checked at once."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from math import inf
from typing import Any

from .errors import PolicyError


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be set for one AX. Durations are seconds, sizes bytes.

    Args:
        lease: how long a claim or a session holds without renewal.
        heartbeat: how often what runs long is renewed, and what dead processes left is looked for.
        overdue: after how long a running attempt raises an alert and holds equal calls back.
        wait: how long a call waits for a task that somebody else runs, before it says so.
        payload_cap: most bytes of submitted arguments.
        result_cap: most bytes of a stored result; a larger one is kept as a placeholder.
    """

    lease: float = 30.0
    heartbeat: float = 5.0
    overdue: float = 30.0
    wait: float = 600.0
    payload_cap: int = 1_048_576
    result_cap: int = 1_048_576

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < inf:
                raise PolicyError(f"{field.name}={value!r} must be a number above zero, and not infinite")
        if self.result_cap < 1024:
            raise PolicyError(
                f"result_cap={self.result_cap} must be at least 1024 bytes: a placeholder has to fit in"
            )
        if self.lease < 3 * self.heartbeat:
            raise PolicyError(
                f"lease={self.lease:g} must be at least three heartbeats ({3 * self.heartbeat:g}): "
                "one that is missed must not lose a task"
            )

    @classmethod
    def of(cls, given: dict[str, Any]) -> Settings:
        """Settings from keyword arguments, then ``AX_…`` variables, then defaults.

        Raises:
            PolicyError: an unknown name or a value that is no number.
        """
        values: dict[str, Any] = {}
        for field in dataclasses.fields(cls):
            variable = f"AX_{field.name.upper()}"
            if field.name in given:
                values[field.name] = given.pop(field.name)
            elif variable in os.environ:
                kind = int if field.name.endswith("cap") else float
                try:
                    values[field.name] = kind(os.environ[variable])
                except ValueError:
                    raise PolicyError(f"{variable}={os.environ[variable]!r} is not a number") from None
        if given:
            known = ", ".join(f.name for f in dataclasses.fields(cls))
            raise PolicyError(f"no setting named {', '.join(map(repr, given))}; there are: {known}")
        return cls(**values)
