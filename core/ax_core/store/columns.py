"""How text is kept, so that it compares as bytes on every database: the words of migrations and declared tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import String, Text
from sqlalchemy.dialects.mysql import LONGTEXT


def key(width: int) -> String:
    """Text of at most ``width`` characters that is compared, sorted and indexed."""
    return String(width).with_variant(String(width, collation="C"), "postgresql")


def long_text() -> Text:
    """Text of any length."""
    return Text().with_variant(LONGTEXT(), "mysql", "mariadb")


def options(collation: str | None = None) -> dict[str, Any]:
    """What a table is made with on MySQL, whose default is to compare without regard to case."""
    made = {"engine": "InnoDB", "charset": "utf8mb4", "collate": collation or "utf8mb4_bin"}
    return {f"{of}_{name}": value for of in ("mysql", "mariadb") for name, value in made.items()}
