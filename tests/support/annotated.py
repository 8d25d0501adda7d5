"""Types that signatures are annotated with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NewType

from pydantic import BaseModel
from typing_extensions import TypedDict

from ax_core.registry.signature import schema_of

OrderId = NewType("OrderId", str)


class Item(BaseModel):
    sku: str
    quantity: int = 1


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


@dataclass
class Address:
    street: str


class Options(TypedDict, total=False):
    fast: bool


def properties(fn: Callable[..., Any], **kwargs: Any) -> dict[str, Any]:
    return schema_of(fn, **kwargs)["properties"]
