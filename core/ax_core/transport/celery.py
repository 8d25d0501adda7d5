"""A transport over an existing Celery fleet: ``celery://module:app``. Celery carries ids; its workers call AX.

Celery pushes nothing to a waiting client. Where its broker is Redis, waking, events and session hints go through that
server directly; elsewhere waiters look again within a second, and there are no events to follow.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .. import faults
from ..clock import Clock
from ..errors import NoSource, TransportError
from ..names import checked_name
from ..ports import Health, Job, News, Source, Transport, Woken, checked_priority
from .outage import Complain, Outage, Pause

TASK = "ax.run"
PRIORITY = {"redis": (0, 3, 6), "amqp": (9, 5, 0)}
SECONDS = 2.0
BOUNDS: Mapping[str, Mapping[str, Any]] = {
    "redis": {"socket_timeout": SECONDS, "socket_connect_timeout": SECONDS},
    # What is sent to a broker that has gone is else taken for sent, as nobody answers.
    "amqp": {"confirm_publish": True, "read_timeout": SECONDS, "write_timeout": SECONDS},
}


class CeleryTransport:
    """Publishes to a Celery app; in its workers :func:`attach` lets AX run what comes.

    Raises:
        TransportError: there is no such app, or Celery is not installed.
    """

    def __init__(
        self, url: str, *, clock: Clock, spawn: Callable[[Callable[[], None]], None], complain: Complain
    ) -> None:
        module, _, name = url.removeprefix("celery://").partition(":")
        try:
            self._app: Any = getattr(import_module(module), name or "app")
            self._broker: str = self._app.connection_for_write().transport.driver_type
        except (ImportError, AttributeError, ValueError) as error:
            raise TransportError(f"{url}: no Celery app there ({error}); celery://module:app") from error
        self._outage, self._pause = Outage(url, clock, complain), Pause(clock)
        self._clock, self._lead = clock, threading.Lock()
        self._connection: Any = None
        self._side: Transport | None = None
        if self._broker == "redis" and isinstance(broker := self._app.conf.broker_write_url, str):
            from .redis import RedisTransport

            self._side = RedisTransport(broker, clock=clock, spawn=spawn, complain=complain)

    def check(self) -> Sequence[str]:
        """Warnings for the operator; raises if the broker is away or of no use."""
        self._ask(lambda connection: connection.ensure_connection(max_retries=1))
        if self._side is not None:
            return self._side.check()
        return [
            f"Celery's broker is {self._broker}: waiters look again within a second, and no events are kept"
        ]

    def publish(self, jobs: Iterable[Job], news: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Send ``ax.run`` for each, over one connection."""
        listed = list(jobs)
        for job in listed:
            checked_name("queue", job.queue)
            checked_priority(job.priority)
        if news:
            self.announce(news)
        faults.point("publish.before")
        try:
            self._ask(lambda connection: self._send(connection, listed))
        except TransportError:
            return False
        faults.point("publish.after")
        return True

    def source(self, name: str, queues: Sequence[str]) -> Source:
        """Refused: Celery's workers fetch."""
        raise NoSource(
            "Celery's own workers fetch: start `celery worker`, with ax_core.transport.celery.attach"
        )

    def limiter(self) -> None:
        """None: Celery has limits of its own."""
        return None

    def wake(self, client_id: str, task_ids: Sequence[str]) -> bool:
        """Through the broker's Redis."""
        return self._side is not None and self._side.wake(client_id, task_ids)

    def listen(self, client_id: str, woken: Woken) -> None:
        """Through the broker's Redis."""
        if self._side is not None:
            self._side.listen(client_id, woken)

    def announce(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Through the broker's Redis."""
        return self._side is not None and self._side.announce(events)

    def events(self, after: str | None, wait: float) -> News:
        """Through the broker's Redis."""
        if self._side is None:
            raise TransportError(f"Celery's broker is {self._broker}, which keeps no events")
        return self._side.events(after, wait)

    def hold(self, ns: str, session_id: str, token: str, seconds: float) -> str | None:
        """Through the broker's Redis."""
        return None if self._side is None else self._side.hold(ns, session_id, token, seconds)

    def let_go(self, ns: str, session_id: str, token: str) -> bool:
        """Through the broker's Redis."""
        return self._side is not None and self._side.let_go(ns, session_id, token)

    def health(self, queues: Sequence[str] = ("default",)) -> Health:
        """Whether the broker answers, and how long its queues are; what workers hold only Celery knows."""
        began = self._clock.monotonic()
        try:
            waiting = self._ask(lambda connection: {q: self._length(connection, q) for q in queues})
        except TransportError as error:
            return Health(False, str(error), self._clock.monotonic() - began, {}, {})
        return Health(True, None, self._clock.monotonic() - began, waiting, {})

    def close(self) -> None:
        """Close what AX opened; the app's own connections are its own."""
        self._drop()
        if self._side is not None:
            self._side.close()

    # -- how it is done ------------------------------------------------------------------------------------------------

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        if self._pause.left > 0 and self._outage.error is not None:
            raise self._outage.error
        with self._lead:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                answer = question(self._connection)
            except Exception as error:  # every broker has errors of its own
                self._drop()
                self._pause.failed()
                raise self._outage.begun(error) from error
        self._pause.over()
        self._outage.over()
        return answer

    def _connect(self) -> Any:
        # Celery by itself tries for ever, and the caller waits.
        bounds = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
        options = {**self._app.conf.broker_transport_options, **bounds, **BOUNDS.get(self._broker, {})}
        return self._app.connection_for_write(connect_timeout=SECONDS, transport_options=options)

    def _send(self, connection: Any, jobs: list[Job]) -> None:
        levels = PRIORITY.get(self._broker, PRIORITY["amqp"])
        producer = self._app.amqp.Producer(connection)
        for job in jobs:
            where = {} if job.queue == "default" else {"queue": job.queue}
            self._app.send_task(
                TASK, args=list(job), producer=producer, retry=False, ignore_result=True, serializer="json",
                priority=levels[job.priority], **where,
            )  # fmt: skip

    def _length(self, connection: Any, queue: str) -> int:
        name = self._app.conf.task_default_queue if queue == "default" else queue
        with connection.channel() as channel:
            try:
                return int(channel.queue_declare(queue=name, passive=True).message_count)
            except connection.channel_errors:
                return 0  # nobody has declared it yet

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.release()


def attach(app: Any, run: Callable[[Job], object]) -> Any:
    """Let the workers of a Celery app call ``run`` for every job; the Celery task, which is named ``ax.run``.

    It is acknowledged after ``run`` came back, which is after the outcome is committed and the client is woken (by a
    transport opened in the worker's own process); a worker that is lost before leaves it to another. What ``run``
    raises is logged by Celery and not repeated: the database decides.
    """

    def ax_run(task_id: str, ns: str, queue: str, priority: int, reply_to: str | None = None) -> None:
        run(Job(task_id, ns, queue, priority, reply_to))

    return app.task(name=TASK, acks_late=True, reject_on_worker_lost=True, ignore_result=True)(ax_run)
