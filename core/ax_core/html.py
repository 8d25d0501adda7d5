"""Tasks and runs as a notebook shows them. Everything that was said by others is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

MOST = 200
"""Characters of a value in a table."""

_SIGNS = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#x27;"))
_CELL = "padding:2px 8px;text-align:left;vertical-align:top"
_COLOURS = {
    "SUCCESS": "#2e7d32",
    "DONE": "#2e7d32",
    "FAILED": "#c62828",
    "DEAD": "#c62828",
    "QUARANTINE": "#c62828",
    "CONFIRMING": "#b26a00",
    "PAUSED": "#b26a00",
    "RUNNING": "#1565c0",
    "OPEN": "#1565c0",
}


def task(task: Any) -> str:
    """One task: what was called, how it stands, and what came of it."""
    lines = [
        ("task", _text(task.id)),
        ("tool", f"{_text(task.tool)} <i>({_text(task.effect)})</i>"),
        ("state", _state(task)),
        ("arguments", _value(task.payload)),
    ]
    if task.state == "SUCCESS":
        lines.append(("result", _value(task.result)))
    if task.error:
        lines.append(("error", _text(task.error.get("message") or task.error)))
    lines += [("note", _text(note)) for note in task.notes]
    said = task.approval or {}
    if said.get("decision"):
        lines.append(("approval", _text(f"{said['decision']} by {said.get('by')}")))
    elif task.state == "CONFIRMING" and isinstance(until := said.get("expires_at"), datetime):
        lines.append(("approval", f"waits until {_time(until)}"))
    lines.append(("attempts", str(task.attempts) + (", replayed" if task.replayed else "")))
    lines.append(("created", _time(task.created_at) + _took(task)))
    return _table([[f"<b>{name}</b>", value] for name, value in lines])


def tree(tree: Any) -> str:
    """A run with everything under it."""
    return _run(tree.run) + _table(_rows(tree, 0), ("task", "tool", "state", "arguments", "result", "took"))


def page(tasks: Iterable[Any], more: bool) -> str:
    """A list of tasks."""
    rows = [[_text(each.id), *_row(each)] for each in tasks]
    return _table(rows, ("task", "tool", "state", "arguments", "result", "took")) + _more(more)


def run_page(runs: Iterable[Any], more: bool) -> str:
    """A list of runs."""
    rows = [
        [
            _text(each.id),
            _mark(each.state),
            _text(each.intent or ""),
            _text(each.session or ""),
            _text(each.used),
            _time(each.created_at),
        ]
        for each in runs
    ]
    return _table(rows, ("run", "state", "intent", "session", "tasks", "created")) + _more(more)


def verdict(verdict: Any) -> str:
    """What an operator's verb did."""
    return f"<b>{'done' if verdict.done else 'not done'}</b>: {_text(verdict.message)} ({_text(verdict.task_id)})"


def _run(run: Any) -> str:
    about = f": {_text(run.intent)}" if run.intent else ""
    session = f", session {_text(run.session)}" if run.session else ""
    return f"<p><b>run</b> {_text(run.id)}{about} {_mark(run.state)}{session}, {_text(run.used)} used</p>"


def _rows(tree: Any, depth: int) -> list[list[str]]:
    rows = []
    inside = {each.id: 0 for each in tree.tasks}
    for each in tree.tasks:
        inside[each.id] = inside.get(each.parent_id, -1) + 1 if each.parent_id else 0
        rows.append([_indent(depth + inside[each.id]) + _text(each.id), *_row(each)])
    for child in tree.runs:
        rows.append(
            [_indent(depth + 1) + f"<i>run</i> {_text(child.run.id)}", "", _mark(child.run.state), "", "", ""]
        )
        rows += _rows(child, depth + 2)
    return rows


def _row(task: Any) -> list[str]:
    came = _value(task.result) if task.state == "SUCCESS" else _text((task.error or {}).get("message", ""))
    return [_text(task.tool), _state(task), _value(task.payload), came, _took(task).strip(" ,")]


def _state(task: Any) -> str:
    why = f" <i>{_text(task.reason)}</i>" if task.reason else ""
    return _mark(task.state) + why + (" (may have been applied)" if task.maybe_applied else "")


def _mark(state: Any) -> str:
    return f'<span style="color:{_COLOURS.get(str(state), "inherit")}">{_text(state)}</span>'


def _took(task: Any) -> str:
    if task.started_at is None or task.ended_at is None:
        return ""
    return f", {(task.ended_at - task.started_at).total_seconds():.3f} s"


def _more(more: bool) -> str:
    return "<p>… and more</p>" if more else ""


def _time(at: datetime) -> str:
    return at.isoformat(sep=" ", timespec="seconds")


def _value(value: Any) -> str:
    try:
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=repr)
    except (TypeError, ValueError, RecursionError):
        said = repr(value)
    return f"<code>{_text(said)}</code>"


def _text(value: Any) -> str:
    said = str(value)
    said = said if len(said) <= MOST else said[: MOST - 1] + "…"
    for sign, name in _SIGNS:  # html.escape, without the cost of importing it
        said = said.replace(sign, name)
    return said


def _indent(depth: int) -> str:
    return "&nbsp;" * (4 * depth)


def _table(rows: list[list[str]], head: tuple[str, ...] = ()) -> str:
    top = "".join(f'<th style="{_CELL}">{name}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table>{f'<thead><tr>{top}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
