"""Workers: processes that run what others submitted."""

from .health import Health
from .target import found, load_target
from .worker import RECYCLED, Worker

__all__ = ["RECYCLED", "Health", "Worker", "found", "load_target"]
