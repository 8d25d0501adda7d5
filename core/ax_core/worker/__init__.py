"""Workers: processes that run what others submitted."""

from .health import Health
from .scheduler import Scheduler
from .target import Program, found, load_target
from .worker import RECYCLED, Worker

__all__ = ["RECYCLED", "Health", "Program", "Scheduler", "Worker", "found", "load_target"]
