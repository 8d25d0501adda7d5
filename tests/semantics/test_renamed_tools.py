"""A tool by other names: what it did under an old one answers for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, ConfirmationPending, Policy, PolicyError, RequestConflict, ToolFailed
from support.fresh import fresh
from support.probe import Probe


def test_a_tool_called_by_its_alias_is_the_same_tool(ax: AX) -> None:
    probe = Probe("sent")
    ax.register(
        lambda to: probe.play({"to": to}),
        name="mail.send",
        schema={"properties": {"to": {}}},
        policy="unsafe",
        aliases=("send_email",),
    )
    with ax.run():
        assert [ax.call(name, {"to": "a"}) for name in ("mail.send", "send_email")] == ["sent"] * 2
    assert probe.count == 1
    assert {task.tool for task in ax.tasks().tasks} == {"mail.send"}
    with pytest.raises(PolicyError, match="taken"):
        ax.register(lambda to: to, name="other", schema={}, aliases=("send_email",))


def test_a_renamed_tool_answers_for_what_it_did_under_its_old_name(tmp_path: Path) -> None:
    """The new release keeps the old name as an alias: a paused run that resumes finds its results and its keys."""
    path, probe = tmp_path / "ax.db", Probe(*["sent"] * 3)

    def register(ax: AX, name: str, **more: Any) -> None:
        ax.register(
            lambda to: probe.play({"to": to}),
            name=name,
            schema={"properties": {"to": {}}},
            policy={"effect": "unsafe", "confirm": lambda args: args["to"] == "all"},
            **more,
        )

    with fresh(path=path) as ax:
        register(ax, "send_email")
        ax.call("send_email", {"to": "a"}, request_id="done")
        ax.call("send_email", {"to": "b"}, key="k")
        waiting = ax.submit("send_email", {"to": "all"}, request_id="asked")
    with fresh(path=path) as ax:
        register(ax, "mail.send", aliases=("send_email",))
        for name in ("mail.send", "send_email"):
            assert ax.call(name, {"to": "a"}, request_id="done") == "sent"
            assert ax.call(name, {"to": "b"}, key="k") == "sent"
            with pytest.raises(RequestConflict, match="other arguments"):
                ax.call(name, {"to": "b"}, request_id="done")
        assert probe.count == 2
        ax.confirm(waiting, by="ann")
        assert ax.call("mail.send", {"to": "all"}, request_id="asked") == "sent"
    assert probe.count == 3


@pytest.mark.parametrize("key", [None, ["to"]], ids=["arguments", "business key"])
@pytest.mark.parametrize("said", ["policy", "register"])
def test_a_new_request_under_the_new_name_merges_into_what_was_done_under_the_old_one(
    said: str, key: list[str] | None, tmp_path: Path
) -> None:
    """A rename is no second intent: one key stands for it, by whichever name a release calls the tool."""
    path, probe = tmp_path / "ax.db", Probe(*["sent"] * 9)
    args = {"to": "a", "text": "hello"}

    def register(ax: AX, name: str, *old: str) -> None:
        policy = {"effect": "unsafe", "dedupe": "session", "key": key}
        ax.register(
            lambda to, text: probe.play({"to": to}),
            name=name,
            schema={"properties": {"to": {}, "text": {}}},
            policy={**policy, "aliases": old} if said == "policy" else policy,
            aliases=() if said == "policy" else old,
        )

    def call(ax: AX, name: str, **more: Any) -> Any:
        with ax.run(session="s"):
            return ax.call(name, args, **more)

    with fresh(path=path) as ax:
        register(ax, "send_email")
        assert call(ax, "send_email") == "sent"
    with fresh(path=path) as ax:
        register(ax, "mail.send", "send_email")
        assert [call(ax, name) for name in ("mail.send", "send_email")] == ["sent"] * 2
        assert probe.count == 1
        assert call(ax, "mail.send", repeat="asked for twice") == "sent"
        assert probe.count == 2
    with fresh(path=path) as ax:
        register(ax, "mail.send.v2", "mail.send", "send_email")
        assert call(ax, "mail.send.v2") == "sent"
        with ax.run(session="s"):
            ax.call("mail.send.v2", {"to": "b", "text": "hello"})
    assert probe.count == 3


def test_what_waits_under_the_old_name_stands_in_the_way_of_the_new_one(tmp_path: Path) -> None:
    """A call that a person has not decided yet is no second card because its tool has another name by now."""
    path, probe = tmp_path / "ax.db", Probe("sent")

    def register(ax: AX, name: str, *old: str) -> None:
        probe.tool(ax, name, effect="unsafe", dedupe="call", confirm=True, aliases=old)

    with fresh(path=path) as ax:
        register(ax, "send_email")
        with ax.run(session="s"), pytest.raises(ConfirmationPending) as asked:
            ax.call("send_email")
    with fresh(path=path) as ax:
        register(ax, "mail.send", "send_email")
        with ax.run(session="s"), pytest.raises(ConfirmationPending) as again:
            ax.call("mail.send")
        assert again.value.task_id == asked.value.task_id
        with ax.run(session="another"), pytest.raises(ConfirmationPending) as other:
            ax.call("mail.send")
        assert other.value.task_id != asked.value.task_id


def test_a_failure_under_the_old_name_frees_its_key(tmp_path: Path) -> None:
    """And what is done then under the new one holds it, for both."""
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe(ValueError("no")).tool(
            ax, "send_email", effect="unsafe", dedupe="session", not_applied=ValueError
        )
        with ax.run(session="s"), pytest.raises(ToolFailed):
            ax.call("send_email")
    with fresh(path=path) as ax:
        probe = Probe("sent")
        probe.tool(
            ax, "mail.send", effect="unsafe", dedupe="session", not_applied=ValueError, aliases="send_email"
        )
        for _ in range(2):
            with ax.run(session="s"):
                assert ax.call("mail.send") == "sent"
        assert probe.count == 1
    with fresh(path=path) as ax:  # rolled back to the release that knows the old name alone
        probe = Probe("sent")
        probe.tool(ax, "send_email", effect="unsafe", dedupe="session", not_applied=ValueError)
        with ax.run(session="s"):
            assert ax.call("send_email") == "sent"
        assert probe.count == 0


def test_another_tool_does_not_answer_for_it(tmp_path: Path) -> None:
    path = tmp_path / "ax.db"
    with fresh(path=path) as ax:
        Probe().tool(ax, "crm/mail.send")
        ax.call("crm/mail.send", request_id="r")
    with fresh(path=path) as ax:
        probe = Probe()
        probe.tool(ax, "erp/mail.send")
        with pytest.raises(RequestConflict, match="'crm/mail.send'"):
            ax.call("erp/mail.send", request_id="r")
        assert probe.count == 0


def test_what_was_done_under_the_old_name_is_undone_by_the_new_one(tmp_path: Path) -> None:
    """A rollback finds the tool that undoes it, though only the new name is registered."""
    path, undone = tmp_path / "ax.db", []

    def register(ax: AX, name: str, *old: str) -> None:
        Probe("paid").tool(
            ax, name, effect="unsafe", compensate=lambda args, result: undone.append(result), aliases=old
        )

    with fresh(path=path) as ax:
        register(ax, "pay")
        with ax.run() as run:
            ax.call("pay")
    with fresh(path=path) as ax:
        register(ax, "billing.pay", "pay")
        assert ax.rollback(run.id, by="ops").done
    assert undone == ["paid"]


@pytest.mark.parametrize("aliases", [[""], [None], [3]])
def test_an_alias_that_is_no_name_is_refused(aliases: Any) -> None:
    with pytest.raises(PolicyError, match="aliases="):
        Policy(aliases=aliases)
