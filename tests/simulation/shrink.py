"""A failing scenario made small: what it fails without is dropped, then the story is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tests.simulation.breaks import Break
from tests.simulation.scenario import Scenario
from tests.simulation.simulation import Outcome, simulate
from tests.simulation.story import Moment

MAX_RUNS: Final = 60
UNTOLD: Final = ("listening ", "ready ", "starts ", "lease taken", "placed ", "did not start")


def shrunk(outcome: Outcome, broken: Break) -> Outcome:
    """The same violation with as few faults and clients as can be found by leaving some out."""
    wanted = {one.invariant for one in outcome.violations}
    runs = 0
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(outcome.scenario):
            if runs >= MAX_RUNS:
                return outcome
            runs += 1
            tried = simulate(candidate, broken)
            if wanted & {one.invariant for one in tried.violations}:
                outcome, smaller = tried, True
                break
    return outcome


def _candidates(scenario: Scenario) -> Iterator[Scenario]:
    """Halves first, then one at a time."""
    faults = scenario.faults
    half = len(faults) // 2
    if half > 1:
        yield replace(scenario, faults=faults[:half])
        yield replace(scenario, faults=faults[half:])
    for i in range(len(faults)):
        yield replace(scenario, faults=faults[:i] + faults[i + 1 :])
    for i in range(len(scenario.clients) if len(scenario.clients) > 1 else 0):
        yield replace(scenario, clients=scenario.clients[:i] + scenario.clients[i + 1 :])
    if any(scenario.skews_ms):
        yield replace(scenario, skews_ms=(0,) * len(scenario.skews_ms))


def told(outcome: Outcome) -> Iterator[str]:
    """The scenario, the moments that matter, and what is wrong."""
    scenario = outcome.scenario
    yield f"seed {scenario.seed}: app {scenario.app.name}, nodes {', '.join(scenario.nodes)},"
    yield f"  clients {', '.join(scenario.clients)}, {scenario.replicas} replicas"
    skews = {n: s for n, s in zip(scenario.nodes, scenario.skews_ms, strict=True) if s}
    if skews:
        yield f"  wall clocks off by ms: {skews}"
    for moment in outcome.story:
        if matters(moment):
            yield f"  {moment}"[:200]
    for violation in outcome.violations:
        yield f"  VIOLATED {violation}"


def matters(moment: Moment) -> bool:
    """What tells how the cluster came where it is."""
    return not moment.what.startswith(UNTOLD)
