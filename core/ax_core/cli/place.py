"""Opening the record: one that is there, for nothing here may make a new one by looking for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import PolicyError, StoreError
from .options import Where

if TYPE_CHECKING:
    from ..app import AX


@dataclass(frozen=True, slots=True)
class Place:
    """Where the record is, and who said so."""

    url: str
    path: str
    source: str

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return os.path.isfile(self.path)


def located(where: Where) -> Place:
    """The file that the record is in, where it is one.

    Raises:
        StoreError: the URL names no file.
    """
    from ..store.dialects import sqlite_path
    from ..store.opening import default_url

    url = where.url or default_url()
    source = "--url" if where.url else "AX_URL" if os.environ.get("AX_URL") else "the default"
    try:
        path = sqlite_path(url)
    except PolicyError as odd:
        raise StoreError(f"{source}: {odd}") from None
    if path is None:
        raise StoreError(f"{source} names a database in memory, which only its own process can see")
    return Place(url, path.removeprefix("file:").partition("?")[0], source)


@contextmanager
def opened(where: Where, queue: str | None = None) -> Iterator[AX]:
    """The record, for reading and for verbs; no tool is registered in it, so none can run.

    Raises:
        StoreError: there is none, or it cannot be opened.
    """
    from ..app import AX
    from ..store.opening import default_url, in_a_file

    url = where.url or default_url()
    if in_a_file(url):
        _there(where)
    with AX(url, queue=queue) as ax:
        yield ax if where.ns == ax.namespace else ax.for_namespace(where.ns)


def _there(where: Where) -> None:
    from ..store import inspect

    place = located(where)
    if not place.exists:
        raise StoreError(f"there is no database at {place.path} ({place.source}): {ADVICE}")
    with inspect.looking(place.path) as tx:
        if inspect.schema(tx) is None:
            raise StoreError(f"{place.path} ({place.source}) holds no record of AX: {ADVICE}")


ADVICE = "point --url or AX_URL at the one that your program uses, or run the program first"
