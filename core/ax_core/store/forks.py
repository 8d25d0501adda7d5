"""Forking: SQLite keeps locks and mutexes per process, so a child must inherit no connection, open or in use.

Before a fork every open store comes to rest and closes its connections; the parent opens them again when it next
needs them, and so does the child. Where something does not come to rest in time, the child refuses that file: what it
wrote there could be lost without a word.
"""

from __future__ import annotations

import _thread
import os
from typing import Protocol
from weakref import WeakSet

from ..errors import StoreError

REST_SECONDS = 2.0


class Store(Protocol):
    """What can come to rest."""

    path: str | None

    def rest(self, seconds: float) -> bool:
        """Stop and close; False: it does not come to rest in time."""

    def go_on(self) -> None:
        """The end of the rest."""

    def __hash__(self) -> int: ...


_open: WeakSet[Store] = WeakSet()
_resting: dict[int, list[tuple[Store, bool]]] = {}
_torn: set[str] = set()


def attend(store: Store) -> None:
    """Let this store rest before every fork.

    Raises:
        StoreError: this process was forked while another store was in the middle of this file.
    """
    if store.path in _torn:
        raise StoreError(
            f"this process was forked while a thread of its parent was in the middle of {store.path}, "
            "and must not touch it: fork outside of tools, or start the child anew (multiprocessing's 'spawn')"
        )
    _open.add(store)


def leave(store: Store) -> None:
    """It is closed."""
    _open.discard(store)


def _before() -> None:
    _resting[_thread.get_ident()] = resting = []
    for store in list(_open):
        resting.append((store, store.rest(REST_SECONDS)))


def _in_parent() -> None:
    for store, _ in _resting.pop(_thread.get_ident(), ()):
        store.go_on()


def _in_child() -> None:
    for store, rested in _resting.pop(_thread.get_ident(), ()):
        if not rested and store.path is not None:
            _torn.add(store.path)
    _resting.clear()
    _open.clear()


os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
