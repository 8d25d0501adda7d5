"""One side of the story: its own order service, its agent processes, and what happens to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ax_adapters.demo.children import Agent, Service
from ax_adapters.demo.report import Outcome, Row, world_seen
from ax_adapters.demo.scenario import Scenario
from ax_adapters.demo.scenarios import BY_NAME, SCENARIOS

PATIENCE = 30.0  # how long the world is watched for an effect before a kill
Operator = Callable[[str], None]


def batches(scenarios: Iterable[Scenario]) -> list[list[str]]:
    """The jobs of each agent process: a killed conversation is the last of one, resumed by the next."""
    done: list[list[str]] = [[]]
    for each in sorted(scenarios, key=lambda one: one.kill is not None):
        done[-1].append(f"start:{each.name}")
        if each.kill:
            done.append([f"resume:{each.name}"])
    return [jobs for jobs in done if jobs]


class SideStory:
    """Runs every conversation on one side and notes what the outside world saw."""

    def __init__(
        self,
        folder: Path,
        ax_url: str | None,
        operator: Operator | None = None,
        scenarios: Iterable[Scenario] = SCENARIOS,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._ax_url, self._operator = folder, ax_url, operator
        self._scenarios = list(scenarios)
        self.outcomes = {each.name: Outcome(each.name) for each in self._scenarios}

    def tell(self) -> dict[str, Outcome]:
        """Every conversation, to its end."""
        with Service(self._folder) as service:
            for each in self._scenarios:
                if each.trouble:
                    service.arm(dict(each.trouble))
            for jobs in batches(self._scenarios):
                self._process(service, jobs)
            service.release()
            world = service.effects()
        for each in self._scenarios:
            seen = self.outcomes[each.name]
            seen.effects, seen.count = world_seen(each, world)
        return self.outcomes

    def _process(self, service: Service, jobs: list[str]) -> None:
        arguments = ["--service", service.url, "--checkpoints", str(self._folder / "checkpoints.db")]
        if self._ax_url:
            arguments += ["--ax", self._ax_url]
        with Agent([*arguments, *jobs], self._folder / "agent.log") as agent:
            for event in agent.events():
                self._on(event, service, agent)
            if agent.end() not in (0, -9):
                raise RuntimeError(f"an agent process failed:\n{agent.complaint()}")

    def _on(self, event: Row, service: Service, agent: Agent) -> None:
        scenario = BY_NAME[event["scenario"]]
        seen = self.outcomes[scenario.name]
        match event["event"]:
            case "started" if event["phase"] == "start" and scenario.kill == "during":
                service.effects(subject=scenario.subject, at_least=1, wait=PATIENCE)
                self._kill(agent, seen)
            case "tool_done":
                self._kill(agent, seen)
            case "confirming":
                seen.before_approval = world_seen(scenario, service.effects())[1]
                for task_id in event["tasks"]:
                    if self._operator is not None:
                        self._operator(task_id)
                agent.answer("decided")
            case "finished":
                seen.ended, seen.answer, seen.calls = event["ended"], event["answer"], event["calls"]

    @staticmethod
    def _kill(agent: Agent, seen: Outcome) -> None:
        agent.kill()
        seen.killed = True
