"""Chaos with a seed: agents on one record and one list of calls, killed and stopped at random, until all is done."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from support.agent_tools import FORMS, KINDS
from support.children import Child
from support.outside import Row
from support.processes import Stage, call

LEASE, HEARTBEAT = 4.0, 1.0
SETTINGS = {"lease": LEASE, "heartbeat": HEARTBEAT}
POLICY = {"retries": 2, "backoff": 0.01}
POINTS = (
    "admit.before_commit",
    "admit.after_commit",
    "body.before",
    "mark.before_commit",
    "mark.after_commit",
    "effect.before",
    "effect.after",
    "effect.before_commit",
    "effect.after_commit",
    "body.after",
    "record.before_commit",
    "record.after_commit",
    "claim.before_commit",
    "claim.after_commit",
    "recover.before_commit",
    "recover.after_commit",
)


@dataclass
class Chaos:
    """One seeded run.

    Args:
        fresh: how many calls of its own every agent brings; it sees as many of earlier agents through.
        kills: how many processes are killed on the way.
        stops: how many stand still beyond their lease.
        at_once: how many agents are alive at any time.
        sabotage: how AX is broken in all of them, see :mod:`support.sabotage`.
    """

    stage: Stage
    seed: int
    fresh: int = 3
    kills: int = 20
    stops: int = 1
    at_once: int = 3
    sabotage: tuple[str, ...] = ()
    killed: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._asked: list[Row] = []

    def play(self) -> None:
        """Kill and stop until enough is killed, then see the rest through in peace."""
        agents: list[Child] = []
        stopped: list[tuple[Child, float]] = []
        while self.killed < self.kills:
            while len(agents) < self.at_once:
                agents.append(self._agent())
            victim = self._dice.choice(agents)
            if self._dice.random() < 0.5:
                # At any moment; the other half are killed by a fault point they come to, or live until their end.
                agents.remove(victim)
                if not victim.heard:
                    victim.hear()
                time.sleep(self._dice.expovariate(1 / 0.03))
                if self.stops and self._dice.random() < 0.3 and self._stop(victim):
                    self.stops -= 1
                    stopped.append((victim, time.monotonic() + LEASE + HEARTBEAT))
                else:
                    self._kill(victim)
            else:
                agents.remove(victim)
                self._over(victim)
            for zombie, wakes in [(z, w) for z, w in stopped if w <= time.monotonic()]:
                zombie.go_on()
                stopped.remove((zombie, wakes))
                agents.append(zombie)
        for zombie, wakes in stopped:
            time.sleep(max(0.0, wakes - time.monotonic()))
            zombie.go_on()
        for agent in agents + [zombie for zombie, _ in stopped]:
            self._over(agent)
        self.stage.run(*self._asked, **self._surroundings())

    def _call(self, request: str) -> Row:
        kind, form = self._dice.choice(KINDS), self._dice.choice(FORMS)
        refuses = 1 if self._dice.random() < 0.25 and kind != "undeclared" else 0
        # It dwells in the body, so that many of the kills find it there.
        return call(f"{kind}_{form}", request, refuses=refuses, dwell=0.02)

    def _agent(self) -> Child:
        """A process that sees a few calls through, new ones and old ones: in any order, one by one or together."""
        recent = self._asked[-4 * self.fresh :]
        calls = self._dice.sample(recent, min(self.fresh, len(recent)))
        calls += [self._call(f"r-{len(self._asked) + n}") for n in range(self.fresh)]
        self._asked += calls[-self.fresh :]
        self._dice.shuffle(calls)
        faults = []
        if self._dice.random() < 0.7:
            faults.append(f"{self._dice.choice(POINTS)}:{self._dice.randint(1, 3)}=kill")
        together = self._dice.random() < 0.5
        return self.stage.start(*calls, **self._surroundings(), faults=faults, together=together, up=True)

    def _surroundings(self) -> Row:
        return {"settings": SETTINGS, "policy": POLICY, "sabotage": list(self.sabotage)}

    def _kill(self, victim: Child) -> None:
        victim.kill()
        self._over(victim)

    def _stop(self, victim: Child) -> bool:
        try:
            victim.stop()
        except ProcessLookupError:  # it has just come to its end
            return False
        return victim.alive()

    def _over(self, agent: Child) -> None:
        self.stage.over(agent)
        self.killed += not agent.ended
