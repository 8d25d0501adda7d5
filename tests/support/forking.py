"""A process that uses an AX and then forks: its children use the same AX, and it goes on."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from ax_core import AX, StoreError
from support.outside import Row

CHILDREN = 4


def main(spec: Row) -> None:
    """``do`` names what it does; the answer is one line."""
    print(json.dumps(DO[spec["do"]](f"sqlite:///{spec['db']}")), flush=True)
    print(json.dumps({"ended": True}), flush=True)


def register(ax: AX) -> None:
    """A tool of each form; each returns who ran it."""

    def plain(n: int) -> int:
        return os.getpid()

    async def soon(n: int) -> int:
        await asyncio.sleep(0)
        return os.getpid()

    ax.register(plain, name="plain", policy={"effect": "unsafe"})
    ax.register(plain, name="limited", policy={"effect": "unsafe", "timeout": 30})
    ax.register(soon, name="soon", policy={"effect": "unsafe", "timeout": 30})


def use(ax: AX, n: int) -> None:
    """Through every door; whatever runs, runs in this very process."""

    async def loop() -> list[int]:
        calls = [ax.acall(tool, {"n": n}) for tool in ("plain", "limited", "soon")]
        return [
            *await asyncio.gather(*calls),
            await ax.await_result(await ax.asubmit("soon", {"n": n}), timeout=30),
        ]

    # The async door first: where the store is not open yet, it is opened on a helper thread.
    ran = asyncio.run(loop())
    ran += [ax.call(tool, {"n": n}) for tool in ("plain", "limited", "soon")]
    ran.append(ax.wait_for_result(ax.submit("limited", {"n": n}), timeout=30))
    assert ran == [os.getpid()] * 8, ran


def after_use(url: str) -> Row:
    """Used, forked, used everywhere; a task of the parent runs all the while."""
    ax = AX(url)
    register(ax)
    told = threading.Semaphore(0)
    ax.on("succeeded")(lambda event: told.release())
    inside, go = threading.Event(), threading.Event()

    def patient() -> str:
        inside.set()
        assert go.wait(30)
        return "done"

    ax.register(patient, name="patient", policy={"effect": "unsafe"})
    use(ax, 0)
    handle = ax.submit("patient")
    assert inside.wait(30)

    def child() -> None:
        while told.acquire(blocking=False):
            pass
        use(ax, os.getpid())
        assert told.acquire(timeout=30)  # events are delivered here, too
        assert ax.get(handle).state == "RUNNING"
        ax.close()

    codes = forked(child)
    assert ax.get(handle).state == "RUNNING"  # nobody took the living parent for dead
    go.set()
    assert ax.wait_for_result(handle, timeout=30) == "done"
    use(ax, 1)
    tasks = ax.tasks(limit=1000).tasks
    ax.close()
    return {
        "codes": codes,
        "states": sorted({task.state for task in tasks}),
        "tasks": len(tasks),
        "owners": len({attempt.owner for task in tasks for attempt in _history(url, task.id)}),
    }


def in_the_middle(url: str) -> Row:
    """Forked while other threads are in the middle of calls: no lock of theirs is waited for in the child."""
    ax = AX(url)
    register(ax)
    use(ax, 0)
    over = threading.Event()

    def busy(n: int) -> None:
        while not over.is_set():
            ax.call("limited", {"n": n})

    threads = [threading.Thread(target=busy, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    locks = [ax._core.clock._locks[os.getpid()], ax._core._opening[os.getpid()]]  # type: ignore[attr-defined]
    codes = forked(lambda: use(ax, os.getpid()))
    for lock in locks:  # held by a thread that does not exist in the child
        with lock:
            codes += forked(lambda: use(ax, os.getpid()), 1)
    over.set()
    for thread in threads:
        thread.join(30)
    use(ax, 1)
    ax.close()
    return {"codes": codes}


def in_memory(url: str) -> Row:
    """A store in memory is refused in a child, with advice that works."""
    ax = AX("sqlite://")
    register(ax)
    use(ax, 0)

    def child() -> None:
        for _ in range(2):
            try:
                ax.call("plain", {"n": 1})
            except StoreError as error:
                assert "does not survive a fork" in str(error), error
                assert "make a new AX in the child" in str(error), error
            else:
                raise AssertionError("it was not refused")
        anew = AX("sqlite://")
        register(anew)
        use(anew, 1)

    codes = forked(child)
    use(ax, 2)
    return {"codes": codes, "tasks": len(ax.tasks(limit=1000).tasks)}


def outliving(url: str) -> Row:
    """A child that goes on long after its parent has closed, and was the last to have the file open."""
    ax = AX(url)
    register(ax)
    use(ax, 0)
    (here, there), (ears, mouth) = os.pipe(), os.pipe()

    def child() -> None:
        use(ax, 1)
        os.write(there, b"x")
        os.read(ears, 1)
        use(ax, 2)
        os._exit(0)  # as if killed: nothing is closed

    def close() -> None:
        os.read(here, 1)
        ax.close()
        os.write(mouth, b"x")

    codes = forked(child, 1, meanwhile=close)
    with AX(url) as after:
        return {"codes": codes, "tasks": len(after.tasks(limit=1000).tasks)}


def in_a_transaction(url: str) -> Row:
    """Forked by a TRANSACTIONAL body, which holds a connection: the child is told, whatever AX it uses."""
    ax = AX(url)
    register(ax)
    use(ax, 0)
    codes: list[int] = []

    def refused(used: AX) -> bool:
        try:
            used.tasks()
        except StoreError as error:
            return "forked while" in str(error) and "fork outside of tools" in str(error)
        return False

    def write() -> str:
        codes.extend(forked(lambda: os._exit(0 if refused(ax) and refused(AX(url)) else 3), 1))
        return "written"

    ax.register(write, name="write", policy={"effect": "transactional"})
    said = ax.call("write")
    use(ax, 1)
    return {"codes": codes, "said": said, "tasks": len(ax.tasks(limit=1000).tasks)}


def before_use(url: str) -> Row:
    """Made in the parent, first used in the children: the ordinary way of a preloading server."""
    ax = AX(url)
    register(ax)
    codes = forked(lambda: use(ax, os.getpid()))
    return {"codes": codes, "tasks": len(ax.tasks(limit=1000).tasks)}


def forked(
    work: Callable[[], Any], count: int = CHILDREN, meanwhile: Callable[[], Any] = lambda: None
) -> list[int]:
    """The exit codes of so many children that each do ``work``, while the parent does something else."""
    pids = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                work()
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        pids.append(pid)
    meanwhile()
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def _history(url: str, task_id: str) -> Any:
    with AX(url) as ax:
        return ax.get(task_id).history


DO: dict[str, Callable[[str], Row]] = {
    "after_use": after_use,
    "in_the_middle": in_the_middle,
    "in_memory": in_memory,
    "before_use": before_use,
    "outliving": outliving,
    "in_a_transaction": in_a_transaction,
}
