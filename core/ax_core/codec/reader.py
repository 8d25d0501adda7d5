"""The way back: plain JSON values with tags become the value that was written."""

from __future__ import annotations

from typing import Any

from ax_core.codec.classes import make
from ax_core.codec.encoded import Opaque, Unreadable
from ax_core.codec.json_text import loads
from ax_core.codec.scalars import READ
from ax_core.codec.types import MARK, Types


def read(text: str, types: Types) -> Any:
    """A fresh value from stored text; raises Unreadable, and nothing else, for whatever is wrong with it."""
    try:
        data = loads(text)
        # without a mark anywhere the parsed value is the value
        return restore(data, types) if MARK in text else data
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable(f"stored text cannot be read: {type(error).__name__}") from error


def restore(node: Any, types: Types) -> Any:
    """Undo the tags of a parsed text."""
    kind = type(node)
    if kind is list:
        return [restore(item, types) for item in node]
    if kind is not dict:
        return node
    if MARK not in node:
        return {key: restore(item, types) for key, item in node.items()}
    tag = node[MARK]
    if tag == "opaque":
        return Opaque(restore(node["note"], types), restore(node["kept"], types))
    if "t" in node:
        return _restore_class(tag, node["t"], node["v"], types)
    data = restore(node["v"], types)
    if (decode := READ.get(tag)) is not None:
        return decode(data)
    if (codec := types.by_tag.get(tag)) is not None:
        return codec.decode(data)
    raise Unreadable(f"the tag {tag!r} is not known here: from a newer version, or an adapter not imported")


def _restore_class(tag: str, path: str, data: Any, types: Types) -> Any:
    cls = types.by_path.get(path)
    if cls is None:
        raise Unreadable(f"{path} is not on the allow-list here: codec.allow({path.rpartition(':')[2]})")
    if types.classes[cls] != tag:
        raise Unreadable(f"{path} was stored as {tag} and is a {types.classes[cls]} now")
    return make(cls, types.classes[cls], restore(data, types))
