"""How often each call was answered within one execution of a framework's step."""

from __future__ import annotations

import threading
from itertools import count

from .newest import Newest

Seat = tuple[str, ...]


class _Counts:
    """Of one call in one execution: which ordinals were answered, and which are under way."""

    def __init__(self) -> None:
        self.answered: set[int] = set()
        self.taken: set[int] = set()


class Ordinals:
    """Counts by the object that a framework makes for each execution of a step, for the newest of this process.

    A repeat within one execution is a new decision only once a success was delivered: after any other ending it is
    the same call again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: Newest[dict[Seat, _Counts]] = Newest(dict)

    def of(self, pad: object, seat: Seat) -> int:
        """The first ordinal of this call that was not answered so far."""
        with self._lock:
            return self._free(self._counts(pad, seat).answered)

    def take(self, pad: object, seat: Seat) -> int:
        """The first ordinal that was not answered and is not under way: for calls that nothing else tells apart."""
        with self._lock:
            counts = self._counts(pad, seat)
            ordinal = self._free(counts.answered | counts.taken)
            counts.taken.add(ordinal)
            return ordinal

    def leave(self, pad: object, seat: Seat, ordinal: int) -> None:
        """The call that took an ordinal ended; unless it was answered, the next one is the same call again."""
        with self._lock:
            self._counts(pad, seat).taken.discard(ordinal)

    def advance(self, pad: object, seat: Seat, ordinal: int) -> None:
        """The call of that ordinal was answered."""
        with self._lock:
            self._counts(pad, seat).answered.add(ordinal)

    def _counts(self, pad: object, seat: Seat) -> _Counts:
        return self._steps.of(pad).setdefault(seat, _Counts())

    def _free(self, used: set[int]) -> int:
        return next(n for n in count() if n not in used)


ordinals = Ordinals()
