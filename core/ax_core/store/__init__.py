"""The store: the database is the truth.

Operations are plain functions of a :class:`Tx`, written once in SQL text; ``Database.write`` and ``awrite``
run them in a shared commit, ``read`` and ``aread`` on a connection of their own.
"""

from .database import Database
from .tx import Op, Tx

__all__ = ["Database", "Op", "Tx"]
