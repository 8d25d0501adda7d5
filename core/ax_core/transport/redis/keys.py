"""The names of everything AX keeps in Redis, in one place.

========================================  =======================================================================
``{prefix}:queue:<queue>:<priority>``     stream: the jobs of one queue and priority; one consumer group, ``ax``
``{prefix}:reply:<client>``               stream: ids of tasks that moved, for one client; gone an hour after use
``{prefix}:events``                       stream: the events that consoles follow; bounded
``{prefix}:dead``                         stream: entries nobody could read; bounded
``{prefix}:places:<tool>``                sorted set: who runs a tool with ``concurrency=``, by when their place lapses
``{prefix}:rate:…``                       list: when tasks of a tool with ``rate=`` were begun; of package ``limits``
``{prefix}:check:<random>``               stream: written and removed by the check at start
``agent_lock:<namespace>:<session>``      text: the token of the chain that holds a session, with a time to live;
                                          as ``rollback:<run>`` who goes on with a rollback
========================================  =======================================================================

The braces are part of the names (a hash tag: all streams of a deployment lie in one slot). The prefix, ``ax`` unless
the URL says ``?prefix=``, is one deployment: one database, its workers and clients. Namespaces (tenants) share its
queues and travel in the entries. In the lock's name both parts are percent-encoded, so no tenant can reach another's.
"""

from __future__ import annotations

from urllib.parse import quote

from ...names import checked_name
from ...ports import checked_priority

GROUP = "ax"
EVENTS_KEPT = 10_000
DEAD_KEPT = 1_000
REPLIES_KEPT = 1_000
REPLIES_MS = 3_600_000
QUEUE_KEPT = 1_000_000
"""Where no worker runs, a queue stops growing here; the database publishes again what was trimmed."""


class Keys:
    """The names within one deployment.

    Raises:
        ValueError: a prefix of other than letters, digits and ``_ . ~ -``.
    """

    def __init__(self, prefix: str = "ax") -> None:
        self.root = "{" + checked_name("prefix", prefix) + "}"
        self.events = f"{self.root}:events"
        self.dead = f"{self.root}:dead"
        self.check = f"{self.root}:check"
        self.rates = f"{self.root}:rate"

    def queue(self, queue: str, priority: int) -> str:
        """The stream of one queue and priority.

        Raises:
            ValueError: there is no such priority, or no queue can have that name.
        """
        return f"{self.root}:queue:{checked_name('queue', queue)}:{checked_priority(priority)}"

    def reply(self, client_id: str) -> str:
        """The stream that wakes one client."""
        return f"{self.root}:reply:{quote(client_id, safe='')}"

    def places(self, name: str) -> str:
        """Who holds a place of what is limited by that name."""
        return f"{self.root}:places:{quote(name, safe='')}"

    def lock(self, ns: str, session_id: str) -> str:
        """The hint of who holds a session."""
        return f"agent_lock:{quote(ns, safe='')}:{quote(session_id, safe='')}"
