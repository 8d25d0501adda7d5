"""The agent process: has conversations one after the other, and may be killed in any of them."""

from __future__ import annotations

import argparse
import sys
from typing import Any, cast

from langgraph.checkpoint.sqlite import SqliteSaver

from ax_adapters.demo.conversation import Phase, converse
from ax_adapters.demo.line import Line
from ax_adapters.demo.scenarios import BY_NAME
from ax_adapters.demo.side import bare, wrapped


def main(argv: list[str] | None = None) -> int:
    """Have the conversations named as start:NAME or resume:NAME, in order."""
    ask = argparse.ArgumentParser(prog="demo-agent", description=__doc__)
    ask.add_argument("--service", required=True, help="where the order service listens")
    ask.add_argument("--checkpoints", required=True, help="LangGraph's SQLite file")
    ask.add_argument("--ax", help="AX's database; without it the tools stay bare")
    ask.add_argument("jobs", nargs="+", help="start:NAME or resume:NAME")
    said = ask.parse_args(argv)
    line = Line()
    with SqliteSaver.from_conn_string(said.checkpoints) as saver:
        if said.ax is None:
            _talk(said.jobs, bare(said.service), saver, line)
        else:
            from ax_core import AX

            with AX(said.ax) as ax:
                _talk(said.jobs, wrapped(said.service, ax), saver, line)
    return 0


def _talk(jobs: list[str], side: Any, saver: SqliteSaver, line: Line) -> None:
    for job in jobs:
        phase, _, name = job.partition(":")
        converse(BY_NAME[name], side, saver, line, cast(Phase, phase))


if __name__ == "__main__":
    sys.exit(main())
