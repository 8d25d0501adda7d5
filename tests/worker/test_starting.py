"""How a worker starts and ends: what it needs, what it makes for its tools, and what it says where it cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ax_core import AX, PolicyError, TaskTimeout
from ax_core.worker import RECYCLED, Worker, load_target
from support.axd import typed_elsewhere
from support.children import Nursery
from support.surroundings import SURROUNDINGS


@pytest.mark.parametrize("kind", ["lifespan", "alifespan"])
def test_what_the_lifespan_made_is_there_for_every_tool_and_closed_at_the_end(
    on_file: Any, kind: str
) -> None:
    worker = on_file.worker("--lifespan", f"support.workshop:{kind}")
    assert on_file.ax.call("till") == f"till of {worker.child.pid}"
    if kind == "alifespan":
        assert on_file.ax.call("same_loop") is True
    worker.terminate()
    assert worker.wait() == 0
    assert [e["kind"] for e in on_file.world.seen()] == ["opened", "closed"]


def test_a_worker_whose_threads_all_hang_ends_to_be_started_anew(on_file: Any) -> None:
    """Each hung body costs a thread for good: once there are as many as slots, the process is worth nothing."""
    worker = on_file.worker("--drain", "0.1", concurrency=2)
    for _ in range(2):
        with pytest.raises(TaskTimeout):
            on_file.ax.call("hang")
    assert worker.wait() == RECYCLED
    assert "2 threads hang" in worker.said


@pytest.mark.parametrize(
    "words,env,says",
    [
        (["support.workshop"], {}, "is no module:name"),
        (["support.workshop:nothing"], {}, "there is no 'nothing'"),
        (["support.nowhere:ax"], {}, "cannot be imported"),
        (["support.workshop:make"], {}, "say --factory"),
        (["support.workshop:NAMES"], {}, "is a tuple, not an AX"),
        (["support.workshop:make", "--factory"], {"SHOP_QUEUE": ""}, "has no queue"),
        (["support.workshop:make", "--factory"], {"SHOP_QUEUE": "amqp://x"}, "no queue is called 'amqp'"),
        (["support.workshop:make", "--factory"], {"SHOP_QUEUE": "redis://127.0.0.1:9/0"}, "127.0.0.1:9"),
        (["support.workshop:make", "--factory", "--concurrency", "0"], {}, "at least 1"),
        (["support.workshop:make", "--factory", "--queues", "default,a b"], {}, "letters, digits"),
        (["support.workshop:make", "--factory", "--health", "here"], {}, "is no HOST:PORT"),
        (["support.workshop:make", "--factory", "--lifespan", "support.workshop:NAMES"], {}, "lifespan"),
        (
            ["support.workshop:make", "--factory"],
            {"SHOP_URL": "sqlite:////nowhere/at/all/ax.db"},
            "cannot be opened",
        ),
    ],
)
def test_a_worker_that_cannot_start_says_why_in_one_line(
    tmp_path: Path,
    redis_url: str,
    forking: Nursery | None,
    words: list[str],
    env: dict[str, str],
    says: str,
) -> None:
    shop = {"SHOP_URL": f"sqlite:///{tmp_path}/ax.db", "SHOP_QUEUE": redis_url, "SHOP_WORLD": "1"}
    surroundings = {**SURROUNDINGS, **shop, **env}
    said = typed_elsewhere("worker", *words, cwd=tmp_path, nursery=forking, **surroundings)
    assert said.code == 2, said
    assert says in said.err
    assert "Traceback" not in said.err
    assert said.err.strip().splitlines()[-1].startswith("axd: ")


def test_a_worker_needs_a_queue() -> None:
    """Whatever its tools say."""
    with AX("sqlite://") as ax, pytest.raises(PolicyError, match="where tasks come from"):
        Worker(ax)


def test_an_ax_that_was_used_is_no_worker(tmp_path: Path, redis_url: str) -> None:
    """Its own calls would have gone to workers: one and the same process is either the client or the worker."""
    with AX(f"sqlite:///{tmp_path}/ax.db", queue=redis_url) as ax:
        ax.tasks()
        with pytest.raises(PolicyError, match="before it became a worker"):
            Worker(ax).run()


def test_modules_of_imports_are_imported_at_the_first_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program that calls need not import what the workers run."""
    (tmp_path / "corner_shop.py").write_text(
        "from ax_core import AX\nax = AX('sqlite://', imports=['corner_tools'])\n"
    )
    (tmp_path / "corner_tools.py").write_text(
        "from corner_shop import ax\n@ax.tool\ndef bell() -> str:\n    return 'ding'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with load_target("corner_shop:ax") as ax:
        assert ax.call("bell") == "ding"


def test_a_module_of_imports_that_is_not_there_is_told_with_its_name() -> None:
    with (
        AX("sqlite://", imports=["nowhere.tools"]) as ax,
        pytest.raises(PolicyError, match="'nowhere.tools'"),
    ):
        ax.call("bell")


@pytest.mark.parametrize("imports", ["myapp.tools", [1], [""]])
def test_imports_are_module_names(imports: Any) -> None:
    with pytest.raises(PolicyError, match="list of module names"):
        AX("sqlite://", imports=imports)


def test_a_tool_for_workers_needs_a_queue() -> None:
    with AX("sqlite://") as ax, pytest.raises(PolicyError, match="no queue="):
        ax.register(lambda: None, name="far", policy={"where": "worker"})
