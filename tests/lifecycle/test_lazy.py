"""An AX that is not used is nothing but an object: no file, no thread, no connection, hardly an import."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ax_core import AX
from support import script


def everything_but_use(ax: AX) -> None:
    """What an application does at import."""

    @ax.tool(effect="unsafe", timeout=15)
    def refund(order: str) -> str:
        return order

    @ax.on("alert")
    def alerted(event: Any) -> None: ...

    ax.register(lambda n: n, name="echo", schema={"properties": {"n": {}}})
    ax.run(session="s")
    ax.serve()
    ax.override(request_id="r")
    other = ax.for_namespace("acme")
    assert {tool.name for tool in other.tools} == {"refund", "echo"}
    repr(ax)


def test_nothing_is_opened_before_the_first_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AX_URL", raising=False)
    monkeypatch.setattr(sqlite3, "connect", refuse)
    threads = os.listdir("/proc/self/task") if os.path.isdir("/proc/self/task") else []
    for url in (None, "sqlite:///ax.db", "sqlite://"):
        ax = AX(url)
        everything_but_use(ax)
        ax.close()
    assert list(tmp_path.iterdir()) == []
    if threads:
        assert len(os.listdir("/proc/self/task")) <= len(threads)


def test_the_first_use_makes_the_file_and_says_once_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AX_URL", raising=False)
    with caplog.at_level(logging.INFO, "ax"), AX() as ax:
        ax.register(lambda: 1, name="tick")
        assert ax.call("tick") == 1
        assert ax.call("tick") == 1
    said = [record.getMessage() for record in caplog.records if "record" in record.getMessage()]
    assert said == [f"AX keeps its record in {tmp_path / 'ax.db'}"]
    assert [path.name for path in tmp_path.iterdir()] == ["ax.db"]


def test_a_relative_path_stays_where_it_was_first_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that changes its folder goes on with the same file."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with AX("sqlite:///mine.db") as ax:
        ax.register(lambda: 1, name="tick")
        ax.call("tick")
        monkeypatch.chdir(tmp_path / "elsewhere")
        ax.call("tick")
        assert len(ax.tasks().tasks) == 2
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_no_signal_handler_is_installed(tmp_path: Path) -> None:
    numbers = [n for n in signal.valid_signals() if n not in (signal.SIGKILL, signal.SIGSTOP)]
    before = {n: signal.getsignal(n) for n in numbers}
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:

        async def soon() -> int:
            return 1

        ax.register(soon, name="soon", policy={"timeout": 20})
        ax.call("soon")
        with ax.serve():
            assert {n: signal.getsignal(n) for n in numbers} == before
    assert {n: signal.getsignal(n) for n in numbers} == before


def test_importing_costs_little_more_than_the_interpreter_itself(tmp_path: Path) -> None:
    """Under 0.3 s all in all, and neither SQLAlchemy nor any framework comes with it."""
    clock = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"
    spent = min(float(script.run(clock.format("import ax_core"), tmp_path)) for _ in range(5))
    assert spent < 0.3
    shown = script.run("import ax_core, sys; print(*sys.modules)", tmp_path).split()
    heavy = {
        "sqlalchemy",
        "alembic",
        "sqlite3",
        "asyncio",
        "pydantic",
        "jsonschema",
        "tenacity",
        "rich",
        "cyclopts",
    }
    frameworks = {
        "langchain",
        "langchain_core",
        "langgraph",
        "llama_index",
        "workflows",
        "redis",
        "starlette",
    }
    assert (heavy | frameworks) & set(shown) == set()


def test_using_it_brings_no_framework_either(tmp_path: Path) -> None:
    shown = script.run(
        """
        import sys
        from ax_core import AX
        with AX("sqlite://") as ax:
            @ax.tool
            def add(a: int, b: int) -> int:
                return a + b
            assert add(1, 2) == 3
        print(*sys.modules)
        """,
        tmp_path,
    ).split()
    frameworks = {
        "langchain",
        "langchain_core",
        "langgraph",
        "llama_index",
        "workflows",
        "redis",
        "rich",
        "cyclopts",
    }
    assert frameworks & set(shown) == set()
