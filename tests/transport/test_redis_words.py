"""The words of commands as they are written."""

from __future__ import annotations

import hiredis
import pytest

from ax_core.ports import Job
from ax_core.testing.transport.bench import take
from ax_core.transport import open_transport
from ax_core.transport.redis import wire


def test_without_hiredis_it_says_the_same(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever package writes the words: umlauts, numbers and bytes arrive as they were sent."""
    assert wire.pack is hiredis.pack_command
    for pack in (wire.pack, None):
        monkeypatch.setattr(wire, "pack", pack)
        transport = open_transport(redis_url)
        source = transport.source("w", ["default"])
        assert transport.publish([Job("tâsk", "nämespace", reply_to="client")], [{"n": 1.5, "text": "ä"}])
        (delivery,) = take(source, 1)
        assert delivery.job == Job("tâsk", "nämespace", reply_to="client")
        assert transport.events("0", 0).events[-1] == {"n": 1.5, "text": "ä"}
        assert source.done([delivery])
        transport.close()
