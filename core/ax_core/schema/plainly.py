"""The common call, admitted at a glance: flat arguments whose types the schema settles, with nothing to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ax_core.schema.problems import JSON_TYPES
from ax_core.schema.shape import Shape
from ax_core.schema.visible import Visible

_SCALARS = (str, int, float, bool, type(None))
_WORST = 6
"""Bytes that a character of ASCII text may take as JSON."""
_MOST = 64
"""Bits of an integer that is not looked at more closely."""


@dataclass(frozen=True, slots=True)
class Plainly:
    """What arguments must be for the gate to have nothing to do but copy them.

    Attributes:
        kinds: argument → the Python types that are valid for it whatever their value.
        needed: arguments that are required, or would be filled in.
        spelt: bytes that the names of all arguments take at most.
    """

    kinds: dict[str, frozenset[type]]
    needed: frozenset[str]
    spelt: int

    def copied(self, raw: Any, max_bytes: int) -> dict[str, Any] | None:
        """A copy of arguments that are valid as they stand; None: the gate has to look at them."""
        if type(raw) is not dict or not self.needed <= raw.keys():
            return None
        kinds, room = self.kinds, max_bytes - self.spelt
        for name, value in raw.items():
            kind = type(value)
            if type(name) is not str or kind not in kinds.get(name, ()):
                return None
            if kind is str:
                if not value.isascii():
                    return None
                room -= _WORST * len(value)
            elif kind is int:
                if value.bit_length() > _MOST:
                    return None
            elif kind is float and value - value != 0.0:
                return None
        return raw.copy() if room > 0 else None


def plainly(names: Visible, shape: Shape) -> Plainly | None:
    """The glance that a tool's shape allows; None: it says more of its arguments as a whole than their names."""
    if not shape.decides or shape.bounds or shape.tagged or len(shape.members) != 1:
        return None
    (members,) = shape.members
    kinds = {
        name: frozenset(kind for kind in _SCALARS if JSON_TYPES[kind] in inner.accepts)
        for name, inner in members.properties.items()
        if name in names.schemas and inner.decides and inner.choices is None and not inner.bounds
    }
    # An argument is at most its name in quotes, a colon, a number of so many bits, and a comma.
    spelt = 2 + sum(_WORST * len(name) + 40 for name in kinds)
    return Plainly(kinds, members.required | names.required | members.defaults.keys(), spelt)
