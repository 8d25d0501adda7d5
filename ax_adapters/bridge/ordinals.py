"""How often each call was answered within one execution of a framework's step."""

from __future__ import annotations

from collections import OrderedDict

_KEEP = 1024

Seat = tuple[str, ...]


class Ordinals:
    """Counts by the object that a framework makes for each execution of a step, for the newest of this process.

    A repeat within one execution is a new decision only once a success was delivered: after any other ending it is
    the same call again.
    """

    def __init__(self) -> None:
        self._pads: OrderedDict[int, tuple[object, dict[Seat, int]]] = OrderedDict()

    def of(self, pad: object, seat: Seat) -> int:
        """How often this call was answered so far."""
        return self._counts(pad).get(seat, 0)

    def advance(self, pad: object, seat: Seat, ordinal: int) -> None:
        """The call of that ordinal was answered."""
        counts = self._counts(pad)
        counts[seat] = max(counts.get(seat, 0), ordinal + 1)

    def _counts(self, pad: object) -> dict[Seat, int]:
        # Held strongly, so that an id is never used again while it is a key here.
        known = self._pads.get(id(pad))
        if known is None:
            known = self._pads[id(pad)] = (pad, {})
            while len(self._pads) > _KEEP:
                self._pads.popitem(last=False)
        return known[1]


ordinals = Ordinals()
