"""What an adapter keeps with an AX."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ax_core import AX
from support.aside import together


class Notes:
    """What some adapter remembers."""

    def __init__(self, ax: AX) -> None:
        self.ax = ax


@pytest.fixture
def ax() -> Iterator[AX]:
    with AX("sqlite://") as made:
        yield made


def test_an_ax_has_one_object_of_a_kind_however_many_ask(ax: AX) -> None:
    found = together([lambda: ax.extension(Notes)] * 8)
    assert {id(notes) for notes in found} == {id(ax.extension(Notes))}
    assert ax.extension(Notes).ax is ax


def test_another_ax_and_another_tenant_have_their_own(ax: AX) -> None:
    tenant = ax.for_namespace("other")
    assert tenant.extension(Notes) is not ax.extension(Notes)
    assert tenant.extension(Notes).ax is tenant
    with AX("sqlite://") as second:
        assert second.extension(Notes) is not ax.extension(Notes)
