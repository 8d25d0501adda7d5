"""What is kept beside each object that a framework makes for one execution of a step."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Newest(Generic[T]):
    """A companion for each object, made when it is first asked for; kept for the newest objects of this process."""

    def __init__(self, make: Callable[[], T], keep: int = 1024) -> None:
        self._make, self._keep = make, keep
        self._kept: OrderedDict[int, tuple[object, T]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, beside: object) -> T:
        """The companion of an object: the same for all who ask."""
        with self._lock:
            # The object is held strongly, so that its id is never used again while it is a key here.
            known = self._kept.get(id(beside))
            if known is None:
                known = self._kept[id(beside)] = (beside, self._make())
                while len(self._kept) > self._keep:
                    self._kept.popitem(last=False)
            return known[1]
