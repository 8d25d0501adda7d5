"""Text is kept to the byte and compared by bytes: what differs is different, on every database."""

from __future__ import annotations

import pytest

from ax_core import AX, StoreError
from support.servers.home import Home

ANY = {"properties": {"n": {}}}


def test_ids_that_differ_in_case_in_accents_or_by_a_space_are_different(home: Home) -> None:
    alike = [
        "key",
        "Key",
        "kéy",
        "key ",
        " key",
        "ke\u0301y",
        "ключ",
        "键",
        "🔑",
        "k%y",
        "k_y",
        "k'y",
        'k"y',
        "k\\y",
        "k:y",
        "k?y",
    ]
    with AX(home.url) as ax:
        ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})
        for number, text in enumerate(alike):
            assert ax.call("act", {"n": number}, request_id=text, key=text) == number
        for number, text in enumerate(alike):
            task = ax.find_request(text)
            assert task is not None
            assert (task.request_id, task.result) == (text, number)
        with ax.run(session="S") as one, ax.run(session="s") as other:
            assert one.id != other.id


@pytest.mark.parametrize("size", [70_000, 900_000])
def test_long_texts_come_back_whole(home: Home, size: int) -> None:
    with AX(home.url) as ax:
        ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})
        text = ("é🔑'\\%" * size)[: size // 4]
        assert ax.call("act", {"n": text}, request_id="r") == text
        task = ax.find_request("r")
        assert task is not None
        assert (task.payload["n"], task.result) == (text, text)


@pytest.mark.parametrize(
    "text", ["%s", "%(n)s", ":n", "?", "''; DROP TABLE ax_task; --", "\\'", "{}", "\u0000", "a\u2028b"]
)
def test_marks_in_values_are_only_text(home: Home, text: str) -> None:
    with AX(home.url) as ax:
        ax.register(lambda n: n, name="act", schema=ANY, policy={"effect": "unsafe"})
        assert ax.call("act", {"n": text}, request_id="r") == text
        assert ax.call("act", {"n": text}, request_id="r") == text
        task = ax.find_request("r")
        assert task is not None
        assert task.payload == {"n": text}


def test_what_a_database_cannot_keep_is_refused_as_a_whole(home: Home) -> None:
    with AX(home.url) as ax:
        ax.tasks()
        with pytest.raises(StoreError, match="surrogate|cannot keep"):
            ax._core.db.write(lambda tx: tx.run("UPDATE ax_tool SET paused_by = :text", text="\ud800"))
        assert ax.tasks().tasks == ()
