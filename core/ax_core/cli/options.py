"""What every command takes: where the record is, and who speaks."""

from __future__ import annotations

import getpass
import os
import shlex
from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from ..errors import PolicyError


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Which record, and how to show it."""

    url: Annotated[
        str | None,
        Parameter(help="The database, as an SQLAlchemy URL. Default AX_URL, else sqlite:///ax.db."),
    ] = None
    ns: Annotated[str, Parameter(help="The namespace (tenant).")] = "default"
    as_json: Annotated[
        bool, Parameter(name="--json", negative=(), help="One JSON document, for programs.")
    ] = False

    @property
    def again(self) -> str:
        """The options that the next command needs to find the same record."""
        url = f" --url {shlex.quote(self.url)}" if self.url else ""
        return url + (f" --ns {shlex.quote(self.ns)}" if self.ns != "default" else "")


@Parameter(name="*")
@dataclass(frozen=True)
class Who:
    """Who decides."""

    by: Annotated[
        str | None, Parameter(help="Your name, for the audit. Default the user of this system.")
    ] = None

    @property
    def name(self) -> str:
        """The name that goes into the audit.

        Raises:
            PolicyError: it is empty, too long, or no plain text.
        """
        name = _of_the_system() if self.by is None else self.by.strip()
        if not name or len(name) > 200 or not name.isprintable():
            raise PolicyError("--by is 1 to 200 printable characters")
        return name


def _of_the_system() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        return f"uid {os.getuid()}"


HERE, ME = Where(), Who()
