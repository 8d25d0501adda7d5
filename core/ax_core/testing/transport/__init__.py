"""The contract of a transport as tests, for whoever writes one::

    from ax_core.testing.transport import TransportContract

    class TestMyTransport(TransportContract):
        opener = "my_package:open_it"           # called with `where`, here and in other processes

        @pytest.fixture
        def where(self) -> str:
            return "mine://127.0.0.1:7000/fresh-and-empty"

Where a fixture that breaks the server is not given (``forgets``, ``restarts``, ``stands_still``, ``garbage``), the
tests that need it are skipped. Needs pytest.
"""

import pytest

# Before they are imported: so that a failing assertion shows its values, as in a test of one's own.
for _part in ("bench", "broken", "fetching", "holding", "telling"):
    pytest.register_assert_rewrite(f"{__name__}.{_part}")

from .contract import TransportContract  # noqa: E402
from .peer import Peer  # noqa: E402

__all__ = ["Peer", "TransportContract"]
