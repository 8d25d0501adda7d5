"""The command itself: what it is made of, and how it fails (one clear line, never a traceback)."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Sequence

from cyclopts import App, CycloptsError, Group

from .. import __version__
from ..errors import AXError
from .clean import clean
from .decide import cancel, confirm, reject, requeue, resolve
from .demo import demo
from .doctor import doctor
from .history import audit, tree
from .inbox import inbox
from .migrate import migrate
from .purge import purge
from .runs import runs
from .scheduler import scheduler
from .show import show
from .states import as_text, states
from .steer import extend, pause, resume, rollback
from .tasks import tasks
from .tools import tools
from .watch import watch
from .worker import worker

Command = Callable[..., int]

HELP = """The operator's command of AX: read the record, and decide what waits for a person.

Ids may be cut to six or more of their first or last characters. Only `axd worker` runs tools. \
Exit codes: 0 done, 1 it did not apply (what was decided is printed), 2 wrong usage or no record."""

GROUPS: dict[str, tuple[Command, ...]] = {
    "Look": (inbox, tasks, runs, show, tree, audit, tools, states, doctor),
    "Decide": (confirm, reject, cancel, requeue, resolve, extend, rollback, pause, resume),
    "Run": (worker, scheduler, watch),
    "Keep": (migrate, purge),
}
BEFORE_THE_COMMAND = {"--url": 1, "--ns": 1, "--by": 1, "--json": 0}
"""Options that may stand before the command too, and how many words follow each."""


def made() -> App:
    """The command with everything under it."""
    app = App(
        name="axd",
        help=HELP,
        help_format="plaintext",
        help_epilogue=f"The states of a task, and the way out of each:\n\n{as_text()}",
        version=__version__,
        result_action="return_value",
    )
    for number, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=number)
        for place, command in enumerate(commands):
            app.command(command, group=group, sort_key=place, help_epilogue="")
    app.command(demo, group=Group("Try", sort_key=len(GROUPS)), help_flags=())
    return app


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    tokens = in_order(sys.argv[1:] if argv is None else argv)
    # What the core logs is in the record as well; here it would only stand between the lines of an answer.
    logging.getLogger("ax").addHandler(logging.NullHandler())
    try:
        code = made()(tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        return _failed(tokens, "usage", f"{error} (see axd --help)")
    except AXError as error:
        return _failed(tokens, error.code, str(error))
    except ValueError as error:
        return _failed(tokens, "usage", str(error))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read has read enough. Nothing may be flushed into that pipe at the end of the process either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("AXD_TRACEBACK"):
            raise
        what = f"{type(error).__name__}: {error}"
        return _failed(
            tokens, "bug", f"{what}; this is a fault of axd: AXD_TRACEBACK=1 shows where, please report it"
        )


def in_order(tokens: Sequence[str]) -> list[str]:
    """The words with those options behind the command that stood before it."""
    rest, moved = list(tokens), list[str]()
    while rest and (count := BEFORE_THE_COMMAND.get(rest[0].partition("=")[0])) is not None:
        taken = 1 if "=" in rest[0] else 1 + count
        moved += rest[:taken]
        del rest[:taken]
    return rest + moved


def _failed(tokens: Sequence[str], code: str, message: str) -> int:
    line = clean(" ".join(message.split()))
    if "--json" in tokens:
        print(json.dumps({"error": {"code": code, "message": line}}))
    else:
        sys.stderr.write(f"axd: {line}\n")
    return 2
