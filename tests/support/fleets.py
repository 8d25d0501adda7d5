"""A shop whose workers are Celery's."""

from __future__ import annotations

import os
import subprocess
import sys

from ax_core.worker.warden import Warden
from support.celery_shop import QUEUE
from support.shops import Shop
from support.surroundings import SURROUNDINGS


class Fleet(Shop):
    """A client in this process, Celery workers in processes of their own, and a scheduler where one is wanted."""

    broker: str

    def celery(self, *options: str) -> subprocess.Popen[bytes]:
        """One more Celery worker."""
        return self._started(
            "celery", "-m", "celery", "-A", "support.celery_shop", "worker", "--without-gossip", *options
        )

    def scheduler(self) -> subprocess.Popen[bytes]:
        """``axd scheduler``."""
        command = "import sys; from ax_core.cli import main; sys.exit(main())"
        return self._started("scheduler", "-c", command, "scheduler", "support.workshop:make", "--factory")

    def _started(self, name: str, *words: str) -> subprocess.Popen[bytes]:
        surroundings = {
            **os.environ,
            **SURROUNDINGS,
            "AX_TEST_BROKER": self.broker,
            "SHOP_URL": self.url,
            "SHOP_QUEUE": QUEUE,
            "SHOP_WORLD": str(self.world.port),
        }
        warden = Warden()
        self._ending.callback(warden.close)
        with (self.folder / f"{name}.log").open("ab") as log:
            child = subprocess.Popen(
                [sys.executable, *words],
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        warden.watch(child.pid)
        self._ending.callback(child.wait)
        self._ending.callback(child.kill)
        return child
