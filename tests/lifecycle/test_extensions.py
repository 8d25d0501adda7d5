"""What an adapter keeps with an AX."""

from __future__ import annotations

import threading

from ax_core import AX
from support.aside import together


class Notes:
    """What some adapter remembers."""

    def __init__(self, ax: AX) -> None:
        self.ax = ax


def test_an_ax_has_one_object_of_a_kind_however_many_ask(ax: AX) -> None:
    """Also where all ask at a time when there is none yet."""
    begun = threading.Barrier(8)

    def notes(asked: AX) -> Notes:
        begun.wait(10)
        return Notes(asked)

    found = together([lambda: ax.extension(notes)] * 8)
    assert {id(each) for each in found} == {id(ax.extension(notes))}
    assert ax.extension(notes).ax is ax


def test_another_ax_and_another_tenant_have_their_own(ax: AX) -> None:
    tenant = ax.for_namespace("other")
    assert tenant.extension(Notes) is not ax.extension(Notes)
    assert tenant.extension(Notes).ax is tenant
    with AX("sqlite://") as second:
        assert second.extension(Notes) is not ax.extension(Notes)
