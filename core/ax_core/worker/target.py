"""From ``module:name`` on a command line to the AX that a program made."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, NamedTuple

from ..app import AX
from ..errors import PolicyError


class Program(NamedTuple):
    """How a worker was started, so that the processes of its isolated tools can be started alike.

    Attributes:
        target, factory: as :func:`load_target` takes them.
        lifespan: ``module:name``, or None.
    """

    target: str
    factory: bool = False
    lifespan: str | None = None


def load_target(target: str, *, factory: bool = False) -> AX:
    """The AX at ``module:name``, imported from the working folder or the path; ``factory``: ``name`` makes it.

    Raises:
        PolicyError: there is none; the message says which part is wrong.
    """
    module, colon, name = target.partition(":")
    if not module or not colon or not name:
        raise PolicyError(f"{target!r} is no module:name, like myapp:ax")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return _made(target, found(target), factory)


def found(target: str) -> Any:
    """The object at ``module:name.name``.

    Raises:
        PolicyError: the module cannot be imported, or has no such name.
    """
    module, _, path = target.partition(":")
    try:
        at: Any = import_module(module)
    except ImportError as error:
        raise PolicyError(f"{target!r}: {module!r} cannot be imported: {error}") from error
    for name in path.split("."):
        if not hasattr(at, name):
            raise PolicyError(f"{target!r}: there is no {name!r} in {getattr(at, '__name__', at)!r}")
        at = getattr(at, name)
    return at


def _made(target: str, what: Any, factory: bool) -> AX:
    if factory:
        if not callable(what):
            raise PolicyError(f"{target!r} is no function that makes an AX")
        what = what()
    if not isinstance(what, AX):
        hint = "" if factory or not callable(what) else "; if it makes one, say --factory"
        raise PolicyError(f"{target!r} is a {type(what).__name__}, not an AX{hint}")
    return what
