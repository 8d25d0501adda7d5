"""One chain per session, and the runs that chains are."""

from .lock import acquire, holds, release
from .runs import close, enter, leave, reopen, settle

__all__ = ["acquire", "close", "enter", "holds", "leave", "release", "reopen", "settle"]
