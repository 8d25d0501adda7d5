"""Transports: how ready tasks get to workers in other processes, behind :mod:`ax_core.ports`."""

from .opening import open_transport

__all__ = ["open_transport"]
