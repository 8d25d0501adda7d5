"""Workers: processes that run what others submitted."""

from .health import Health
from .target import load_target
from .worker import Worker

__all__ = ["Health", "Worker", "load_target"]
