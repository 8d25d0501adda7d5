"""Did the wrapped conversation keep its promise? Judged by the world's count and by AX's own record."""

from __future__ import annotations

from ax_adapters.demo.report import Outcome, Verdict
from ax_adapters.demo.scenario import Scenario


def judge(scenario: Scenario, seen: Outcome, *, scripted: bool = True) -> Verdict:
    """The verdict on one wrapped conversation; a real model may do less than the script, never more."""
    faults = list(_too_much(scenario, seen))
    if scripted:
        faults += _wrong_record(scenario, seen)
    return Verdict(scenario.name, not faults, faults)


def _too_much(scenario: Scenario, seen: Outcome) -> list[str]:
    faults = []
    if seen.count > scenario.wrapped_effects:
        faults.append(
            f"the world saw {seen.count} {scenario.counted}, at most {scenario.wrapped_effects} may be"
        )
    if seen.before_approval:
        faults.append(f"{seen.before_approval} happened before a person approved")
    if scenario.kill and not seen.killed:
        faults.append("the agent was never killed, so nothing was shown")
    return faults


def _wrong_record(scenario: Scenario, seen: Outcome) -> list[str]:
    faults = []
    if seen.count < scenario.wrapped_effects and scenario.kind != "search":
        faults.append(f"the world saw {seen.count} {scenario.counted} instead of {scenario.wrapped_effects}")
    if scenario.name == "approval" and seen.before_approval is None:
        faults.append("nobody was asked")
    if not seen.tasks:
        return [*faults, "AX has no record of any call"]
    states = {task["state"] for task in seen.tasks if task["effect"] != "read"}
    if scenario.states and states != set(scenario.states):
        faults.append(f"AX says {sorted(states)}, expected {sorted(scenario.states)}")
    if scenario.kind == "search" and (seen.run or {}).get("state") != "DEAD":
        faults.append(f"the run is {(seen.run or {}).get('state')}, expected DEAD")
    if any(call["told"] is None for call in seen.calls) and scenario.kind != "search":
        faults.append("a call of the model was never answered")
    if seen.ended != "an answer" and scenario.kind != "search":
        faults.append(f"the conversation ended by {seen.ended}")
    if any(task["attempts"] > 1 for task in seen.tasks if task["effect"] != "read"):
        faults.append("a call was attempted more than once")
    return faults
