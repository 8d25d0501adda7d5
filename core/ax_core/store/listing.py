"""What a list is narrowed down to, and how it is put: newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Listing:
    """The conditions of one list, all of which hold; ids sort by time of creation.

    Attributes:
        params: by name, for the text that :meth:`sql` makes.
    """

    def __init__(
        self,
        ns: str,
        equal: Mapping[str, str | None],
        states: tuple[str, ...],
        before: str | None,
        limit: int,
    ) -> None:
        self.params: dict[str, Any] = {"ns": ns, "limit": limit}
        self._where = ["ns = :ns"]
        for column, value in equal.items():
            if value is not None:
                self.narrow(f"{column} = :{column}", **{column: value})
        if before is not None:
            self.narrow("id < :before", before=before)
        if states:
            names = {f"state{i}": state for i, state in enumerate(states)}
            self.narrow(f"state IN ({', '.join(':' + name for name in names)})", **names)

    def narrow(self, condition: str, **params: Any) -> None:
        """One condition more."""
        self._where.append(condition)
        self.params |= params

    def sql(self, columns: str, table: str) -> str:
        """The question as SQL text."""
        return (
            f"SELECT {columns} FROM {table} WHERE {' AND '.join(self._where)} ORDER BY id DESC LIMIT :limit"
        )
