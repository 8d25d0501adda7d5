"""What a notebook shows of tasks, runs, pages and verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

from ax_core import AX, AXError, ConfirmationPending, OutcomeUnknown
from support.fresh import fresh

NASTY = "<script>alert('x')</script> & \"quotes\""


class Checked(HTMLParser):
    """Reads what is shown, and knows which elements were opened and not closed."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += f" {data}"


def shown(thing: object) -> str:
    """Its text; what shows it is whole and holds nothing that somebody else wrote as markup."""
    read = Checked(thing._repr_html_())  # type: ignore[attr-defined]
    assert read.open == []
    assert read.seen <= {"table", "thead", "tbody", "tr", "td", "th", "b", "i", "p", "code", "span"}
    return re.sub(r"\s+", " ", read.text)


@pytest.fixture
def ax() -> Iterator[AX]:
    with fresh() as made:
        made.register(lambda text: f"got {text}", name="echo", policy="unsafe")
        made.register(lambda n: 1 / n, name="divide", policy="unsafe")
        made.register(lambda n: n, name="ask", policy={"effect": "unsafe", "confirm": True})
        yield made


def test_a_task(ax: AX) -> None:
    """Tool, state, arguments, result; everything of others is text."""
    ax.call("echo", {"text": NASTY}, request_id="r")
    ax.call("echo", {"text": NASTY}, request_id="r")
    said = shown(ax.find_request("r"))
    for part in ("echo", "unsafe", "SUCCESS", NASTY, f"got {NASTY}", "1, replayed"):
        assert part in said.replace('\\"', '"')


def test_a_failure(ax: AX) -> None:
    """Its message, and that it may have been applied."""
    with pytest.raises(AXError):
        ax.call("divide", {"n": 0}, request_id="r")
    said = shown(ax.find_request("r"))
    assert "FAILED" in said and "division by zero" in said and "may have been applied" in said


def test_an_approval(ax: AX) -> None:
    """How long it waits, then who decided; the verdict itself."""
    with pytest.raises(ConfirmationPending) as pending:
        ax.call("ask", {"n": 1}, request_id="r")
    task_id = pending.value.task_id or ""
    assert "waits until" in shown(ax.get(task_id))
    assert "done" in shown(ax.reject(task_id, by="<ops>", reason=NASTY))
    assert "reject by <ops>" in shown(ax.get(task_id)).replace("rejected", "reject")
    assert "not done" in shown(ax.cancel(task_id, by="ops"))


def test_a_tree(ax: AX) -> None:
    """The run, its tasks with those under them, and runs under it."""

    def outer() -> int:
        ax.call("echo", {"text": "inner"})
        return 1

    ax.register(outer, name="outer", policy="unsafe")
    with ax.run(session="<s>", intent=NASTY) as run:
        ax.call("outer")
        with ax.run(intent="below"):
            ax.call("echo", {"text": "below"})
    said = shown(ax.tree(run.id))
    for part in (run.id, NASTY, "<s>", "of 50", "outer", "got inner", "DONE", "got below"):
        assert part in said
    rows = ax.tree(run.id)._repr_html_().split("<tr>")
    (inner,) = [row for row in rows if "got inner" in row]
    assert "&nbsp;" in inner


def test_a_page_of_runs(ax: AX) -> None:
    with ax.run(intent="<i>refund</i>", session="s"):
        pass
    said = shown(ax.runs())
    assert "<i>refund</i>" in said and "0 of 50 tasks" in said and "and more" not in said
    assert "and more" in shown(ax.runs(limit=1))


def test_a_page(ax: AX) -> None:
    """Newest first, and whether there are more."""
    for n in range(3):
        ax.call("echo", {"text": f"number {n}"})
    said = shown(ax.tasks(limit=2))
    assert "number 2" in said and "number 0" not in said and "and more" in said
    assert "and more" not in shown(ax.tasks())


def test_what_is_long_is_cut(ax: AX) -> None:
    """A table is no dump."""
    ax.call("echo", {"text": "x" * 100_000}, request_id="r")
    assert len(ax.find_request("r")._repr_html_()) < 3_000  # type: ignore[union-attr]


def test_a_doubt_is_told(ax: AX) -> None:
    """The reason stands beside the state."""

    def stop() -> None:
        raise KeyboardInterrupt

    ax.register(stop, name="stop", policy="unsafe")
    with pytest.raises(KeyboardInterrupt):
        ax.call("stop", request_id="r")
    with pytest.raises(OutcomeUnknown):
        ax.call("stop", request_id="r")
    assert "QUARANTINE outcome_unknown" in shown(ax.find_request("r"))
