"""Limits that all workers of one deployment keep together. Needs the package ``limits``, of the extra ``redis``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import quote

from ...clock import SECOND
from ...errors import TransportError
from ...rates import Rate
from . import scripts
from .address import LOST, Refused
from .link import PATIENCE, Link

T = TypeVar("T")
SOON = 0.005


class RedisLimiter:
    """A :class:`~ax_core.ports.Limiter`.

    A rate is a moving window: no more than its amount in any time of its length, by the workers' clocks. Places are
    kept by the server's.
    """

    def __init__(self, link: Link) -> None:
        self._link = link

    def check(self) -> None:
        """Raises where the package ``limits`` is not installed."""
        _ = self._limiter

    def count(self, name: str, rate: Rate) -> float:
        """Count one more: 0, or the seconds after which to ask again."""
        limiter, item = self._limiter, self._item(rate)
        key = quote(name, safe="")
        if self._asked(lambda: limiter.hit(item, key)):
            return 0.0
        reset, _ = self._asked(lambda: limiter.get_window_stats(item, key))
        return max(SOON, float(reset) - self._link.clock.now() / SECOND)

    def take_place(self, name: str, most: int, holder: str, seconds: float) -> bool:
        """Take one of ``most`` places, for so long or again."""
        asked = (scripts.TAKE_PLACE, 1, self._link.keys.places(name), most, holder, int(seconds * 1000))
        return bool(self._link.ask(asked)[0])

    def keep_places(self, held: Sequence[tuple[str, str]], seconds: float) -> bool:
        """Hold on to places, given as (name, holder)."""
        keys, holders = [self._link.keys.places(name) for name, _ in held], [holder for _, holder in held]
        asked = (scripts.KEEP_PLACES, len(keys), *keys, int(seconds * 1000), *holders)
        return self._link.hint("keep places", asked)

    def give_place(self, name: str, holder: str) -> bool:
        """Give a place back."""
        return self._link.hint("give a place back", ("ZREM", self._link.keys.places(name), holder))

    @cached_property
    def _limiter(self) -> Any:
        try:
            from limits.storage import RedisStorage
            from limits.strategies import MovingWindowRateLimiter
        except ImportError as missing:  # pragma: no cover
            raise TransportError(
                "rate= needs the package limits: pip install 'ax-adapters[redis]'"
            ) from missing
        pool = self._link.address.pool(PATIENCE)
        storage = RedisStorage("redis://", connection_pool=pool, key_prefix=self._link.keys.rates)
        return MovingWindowRateLimiter(storage)

    def _item(self, rate: Rate) -> Any:
        from limits import RateLimitItemPerSecond

        return RateLimitItemPerSecond(rate.amount, rate.seconds)

    def _asked(self, question: Callable[[], T]) -> T:
        try:
            answer = question()
        except LOST as error:
            raise self._link.outage.begun(error) from error
        except Refused as refused:
            said = TransportError(f"the queue at {self._link.address.shown} refuses: {refused}")
            self._link.refused("count for a rate", said)
            raise said from refused
        self._link.went("count for a rate")
        self._link.outage.over()
        return answer
