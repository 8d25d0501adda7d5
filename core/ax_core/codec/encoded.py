"""What encoding and decoding hand back: a text, a stand-in for what could not be kept, a refusal to read."""

from __future__ import annotations

from ax_core.frozen import frozen


@frozen()
class Encoded:
    """A value as text, and what was lost on the way.

    `text` is pure ASCII JSON, so its length is its size in bytes in every database. `opaque` says that the
    value itself is not in it, only a placeholder. `note` says why, or which type was kept as its base.
    """

    text: str
    opaque: bool = False
    note: str | None = None


@frozen()
class Opaque:
    """Stands where a value was that could not be stored.

    `note` names the place and type of what was in the way, or how far over the cap it was; `kept` is the
    beginning of the value for people to read, never to compute with. It can itself be stored: put one in the
    place of a part that is too large to keep the rest.
    """

    note: str
    kept: str = ""

    def __str__(self) -> str:
        return f"[not kept: {self.note}]" + (f" {self.kept}" if self.kept else "")


class Unreadable(ValueError):
    """Stored text that is corrupt, from a newer version, or names a type that is not registered here.

    `text` is that text where `Codec.readable` met it: for people to look at.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.text = ""
