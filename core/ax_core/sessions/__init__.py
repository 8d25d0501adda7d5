"""One chain per session, and the runs that chains are."""

from .lock import acquire, holds, release
from .runs import close, enter, leave, pause, refusal, reopen, settle

__all__ = ["acquire", "close", "enter", "holds", "leave", "pause", "refusal", "release", "reopen", "settle"]
