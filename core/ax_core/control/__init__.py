"""What moves a task besides its executor: operator verbs, and the verdict on what dead processes left.

Every verb is a store operation, one compare-and-set, and says truthfully who decided.
"""

from .cancel import cancel, cancel_run
from .confirm import confirm, expire, reject
from .extend import extend
from .holding import holder, in_the_way, known_by, take_key
from .recover import lost
from .requeue import requeue
from .resolve import late, reconciled, resolve
from .rollback import all_tasks, begin_rollback, end_rollback
from .tell import Tell
from .tools import pause_tool, resume_tool

__all__ = [
    "Tell",
    "all_tasks",
    "begin_rollback",
    "cancel",
    "cancel_run",
    "confirm",
    "end_rollback",
    "expire",
    "extend",
    "holder",
    "in_the_way",
    "known_by",
    "late",
    "lost",
    "pause_tool",
    "reconciled",
    "reject",
    "requeue",
    "resolve",
    "resume_tool",
    "take_key",
]
