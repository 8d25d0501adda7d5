"""Each promise of :mod:`ax_core.ports` as a test."""

from __future__ import annotations

from .broken import BrokenServer
from .fetching import Fetching
from .holding import Holding
from .limiting import Limiting
from .telling import Telling


class TransportContract(Fetching, Holding, Limiting, Telling, BrokenServer):
    """Subclass it and give it a ``where``; see :mod:`ax_core.testing.transport`."""
