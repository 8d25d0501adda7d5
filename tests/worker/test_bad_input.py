"""Whatever a worker is given that is no good: a clear word, nothing is lost, and it stays up for the rest."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from ax_core import AX, InvalidArguments, State, StoreError, TransportError
from ax_core.worker import Worker
from support.axd import Said, typed_elsewhere
from support.ledger import until
from support.surroundings import SURROUNDINGS


def started(folder: Path, url: str, queue: str, **env: str) -> Said:
    """``axd worker`` that cannot start: what it says."""
    shop = {"SHOP_URL": url, "SHOP_QUEUE": queue, "SHOP_WORLD": "1"}
    words = ("worker", "support.workshop:make", "--factory")
    said = typed_elsewhere(*words, cwd=folder, **{**SURROUNDINGS, **shop, **env})
    assert said.code == 2, said
    assert "Traceback" not in said.err
    return said


def last(said: Said) -> str:
    return said.err.strip().splitlines()[-1]


def well(shop: Any, worker: Any) -> None:
    """It is up, and works."""
    shop.ax.call("keyed_here", {"subject": "afterwards"})
    assert worker.health()["ok"] is True
    assert worker.child.poll() is None


@pytest.mark.parametrize("module", ["redis", "limits"])
def test_a_missing_extra_is_named_at_the_start(tmp_path: Path, redis_url: str, module: str) -> None:
    """Not at the first task that needs it."""
    (tmp_path / f"{module}.py").write_text(f"raise ImportError({module!r})\n")
    path = os.pathsep.join([str(tmp_path), SURROUNDINGS["PYTHONPATH"]])
    said = started(tmp_path, f"sqlite:///{tmp_path}/ax.db", redis_url, PYTHONPATH=path)
    assert "pip install 'ax-adapters[redis]'" in last(said)


def test_a_login_without_rights_is_refused_with_the_servers_words(tmp_path: Path, redis_server: Any) -> None:
    with redis_server.client() as client:
        client.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+info")
        try:
            queue = f"redis://reader:secret@127.0.0.1:{redis_server.port}/0"
            said = started(tmp_path, f"sqlite:///{tmp_path}/ax.db", queue)
        finally:
            client.acl_deluser("reader")
    assert "does not let this login" in last(said)
    assert "secret" not in said.err


def test_a_schema_of_another_version_is_refused(tmp_path: Path, redis_url: str) -> None:
    """A newer one on a file; and on a server one that nobody has made."""
    with AX(f"sqlite:///{tmp_path}/ax.db") as ax:
        ax.tasks()
    with sqlite3.connect(f"{tmp_path}/ax.db") as raw:
        raw.execute("UPDATE ax_version SET version_num = '9999'")
    raw.close()
    assert "newer AX" in last(started(tmp_path, f"sqlite:///{tmp_path}/ax.db", redis_url))


def test_a_server_without_tables_says_how_to_make_them(
    tmp_path: Path, redis_url: str, databases: Any
) -> None:
    server = databases.server("postgresql")
    name = server.empty()
    assert "axd migrate" in last(started(tmp_path, server.url(name), redis_url))
    server.drop(name)


def test_arguments_over_the_cap_never_reach_a_worker(on_file: Any) -> None:
    """Their caller is told; nothing stands in the queue."""
    worker = on_file.worker()
    with pytest.raises(InvalidArguments, match="bytes"):
        on_file.ax.call("keyed_here", {"subject": "x" * 2_000_000})
    assert on_file.ax._core.post.transport.health().waiting == {"default": 0}
    well(on_file, worker)


def test_a_result_over_the_cap_is_a_success_without_it(on_file: Any) -> None:
    """The effect happened: it is on record, and is not run again to get a smaller one."""
    worker = on_file.worker()
    handle = on_file.ax.submit("long", {})
    on_file.ax.wait_for_result(handle, timeout=30)
    assert on_file.ax.get(handle).state is State.SUCCESS
    assert on_file.ax.get(handle).attempts == 1
    well(on_file, worker)


def test_an_entry_that_is_no_job_is_set_aside(on_file: Any, redis_server: Any) -> None:
    """Kept for people, told once, and what comes behind it runs."""
    worker = on_file.worker()
    prefix = "{" + on_file.queue.partition("prefix=")[2] + "}"
    with redis_server.client() as client:
        for fields in ({"nonsense": "1"}, {"t": "", "n": "\x00" * 5000}, {"job": "{'__reduce__': 1}"}):
            client.xadd(f"{prefix}:queue:default:1", fields)
        assert until(lambda: client.xlen(f"{prefix}:dead") == 3)
        assert client.xlen(f"{prefix}:queue:default:1") == 0
    assert "is no job; it was set aside" in worker.said
    well(on_file, worker)


def test_a_task_whose_arguments_are_damaged_is_not_run_and_that_is_said_once(on_file: Any) -> None:
    """It stays for who can mend it, and stands in nobody's way."""
    handle = on_file.ax.submit("unsafe_here", {"subject": "a"})
    engine = create_engine(on_file.url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE ax_task SET payload = 'garbage' WHERE id = :id"), {"id": str(handle)})
    engine.dispose()
    worker = on_file.worker()
    assert until(lambda: "its stored arguments cannot be read" in worker.said, seconds=30)
    well(on_file, worker)
    assert on_file.ax.get(handle).state is State.QUEUED
    assert on_file.effects("a") == []
    assert until(lambda: worker.said.count("cannot be read") > 1, seconds=5) is False


def test_a_queue_that_makes_no_sense_is_refused_at_once(tmp_path: Path) -> None:
    """Before anything is made of it."""
    for queue in ("redis://:x@[", "redis://127.0.0.1:99999/0", "redis://127.0.0.1:6379/nine"):
        with (
            AX(f"sqlite:///{tmp_path}/ax.db", queue=queue) as ax,
            pytest.raises((TransportError, StoreError, ValueError)),
        ):
            Worker(ax).run()
