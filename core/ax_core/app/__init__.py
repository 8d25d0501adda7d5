"""AX: the composition root and the public surface."""

from .ax import AX

__all__ = ["AX"]
