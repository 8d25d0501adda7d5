"""The store on a database server: PostgreSQL or MySQL (MariaDB), where writers run side by side.

What SQLite gives by its one write lock is had here by locks of a transaction: names that an operation is about
(:meth:`Tx.serialise`), and the rows it reads in order to write them (:meth:`Tx.held`).
"""

from .server import Server

__all__ = ["Server"]
