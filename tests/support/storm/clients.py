"""Those who make the calls of a plan, each as often as it takes to get an answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ax_core import AX, AXError, StillRunning, StoreError, UnknownTask
from support.outside import Row
from support.storm.plan import Call

AT_ONCE = 64
WAIT = 5.0


class Clients:
    """Threads of this process over one AX; use as a context manager, which waits for all the answers.

    Args:
        now: seconds since the storm began.

    Attributes:
        told: what callers heard, for the oracle.
        asked_last: when each request was last sent, as seconds since the epoch.
    """

    def __init__(self, ax: AX, calls: tuple[Call, ...], now: Callable[[], float]) -> None:
        self._ax, self._calls, self._now = ax, calls, now
        self.told: list[Row] = []
        self.asked_last: dict[str, float] = {}
        self._given_up = threading.Event()
        self._pool = ThreadPoolExecutor(AT_ONCE)
        self._all = [self._pool.submit(self._see, call) for call in calls]

    @property
    def waiting(self) -> list[str]:
        """The requests that have no answer yet."""
        return [call.request for call, asked in zip(self._calls, self._all, strict=True) if not asked.done()]

    def close(self) -> None:
        """Nobody asks again."""
        self._given_up.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _see(self, call: Call) -> None:
        self._given_up.wait(max(0.0, call.at - self._now()))
        while not self._given_up.is_set():
            self.asked_last[call.request] = time.time()
            try:
                value = self._ask(call)
            except (StoreError, StillRunning, UnknownTask):
                # Nobody knows what became of it: the same request again does no harm.
                self._given_up.wait(0.2)
            except AXError as error:
                return self._tell(call, error.code, message=str(error))
            else:
                return self._tell(call, "value", value=value)

    def _ask(self, call: Call) -> object:
        if call.waits:
            return self._ax.call(call.tool, call.args, request_id=call.request)
        handle = self._ax.submit(call.tool, call.args, request_id=call.request)
        while True:
            try:
                return self._ax.wait_for_result(handle, timeout=WAIT)
            except (StoreError, StillRunning):
                if self._given_up.wait(0.2):
                    raise

    def _tell(self, call: Call, said: str, **more: object) -> None:
        self.told.append({"request": call.request, "said": said, **more})
