"""Workers: processes that run what others submitted."""

from .guard import FENCED, RECYCLED
from .health import Health
from .scheduler import Scheduler
from .target import Program, found, load_target
from .worker import Worker

__all__ = ["FENCED", "RECYCLED", "Health", "Program", "Scheduler", "Worker", "found", "load_target"]
