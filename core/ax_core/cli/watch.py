"""``axd watch``: what happens, as it happens, in every process."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Annotated

from cyclopts import Parameter

from ..errors import PolicyError
from ..hooks import Event
from ..view import certain
from .options import HERE, Where
from .out import console, text
from .out import state as styled
from .place import opened
from .steps import short


def watch(
    *,
    queue: str | None = None,
    after: str | None = None,
    quiet: Annotated[float | None, Parameter(name="--quiet")] = None,
    where: Where = HERE,
) -> int:
    """Follow every change of every process, until Ctrl-C.

    Args:
        queue: the queue that your program uses. Default AX_QUEUE.
        after: go on after this position (--json prints one with the events); 0: all that are kept.
        quiet: end after so many seconds in which nothing happened.
    """
    if not (queue or os.environ.get("AX_QUEUE")):
        raise PolicyError("watching needs the queue that your program uses: --queue redis://…, or AX_QUEUE")
    with opened(where, queue) as ax:
        for event in ax.events(after, wait=quiet):
            if where.as_json:
                print(json.dumps(dataclasses.asdict(event)), flush=True)
            else:
                _show(event)
    return 0


def _show(event: Event) -> None:
    line = text("")
    if event.name == "gap":
        line.append("some events before this are missing: axd tasks tells how everything stands", "yellow")
    else:
        line.append(f"{certain(event.at).astimezone():%H:%M:%S.%f} ", "dim")
        line.append_text(text(f"{short(event.task_id)}  "))
        line.append_text(styled(event.state, event.reason))
        kind = f"  {event.detail['kind']}" if "kind" in event.detail else ""
        line.append_text(text(f"  {event.tool}  {event.name}{kind}"))
    console().print(line)
