"""The store: the database is the truth.

Operations are plain functions of a :class:`Tx`, written once in SQL text; ``Store.write`` and ``awrite`` run them in a
commit (on SQLite a shared one), ``read`` and ``aread`` on a connection of their own.
"""

from .database import Database
from .opening import store_of
from .store import Lent, Store
from .tx import Alone, Op, Tx

__all__ = ["Alone", "Database", "Lent", "Op", "Store", "Tx", "store_of"]
