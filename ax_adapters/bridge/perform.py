"""What is asked of an AX on the way of a call, written once: a generator that yields what it wants done."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from ax_core import AX

T = TypeVar("T")

Wants = Generator[tuple[Any, ...], Any, T]
"""Yields ``(method of AX, *arguments)``, is sent what that returns or thrown what it raises, and returns a T."""


def perform(wants: Wants[T], ax: AX) -> T:
    """Do what a generator wants, on this thread."""
    try:
        wanted = next(wants)
        while True:
            try:
                got = getattr(ax, wanted[0])(*wanted[1:])
            except BaseException as error:
                wanted = wants.throw(error)
            else:
                wanted = wants.send(got)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def aperform(wants: Wants[T], ax: AX) -> T:
    """:func:`perform` on an event loop: each method in its async form."""
    try:
        wanted = next(wants)
        while True:
            try:
                got = await getattr(ax, f"a{wanted[0]}")(*wanted[1:])
            except BaseException as error:
                wanted = wants.throw(error)
            else:
                wanted = wants.send(got)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
