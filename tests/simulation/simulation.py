"""Runs one scenario from beginning to end and has everything checked."""

from __future__ import annotations

import asyncio
import gc
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from tests.simulation import checkers, fleets
from tests.simulation.breaks import NOTHING, Break
from tests.simulation.checkers import Violation
from tests.simulation.cluster import Cluster
from tests.simulation.door import forget_doors
from tests.simulation.executor import reading_once
from tests.simulation.faults import befall
from tests.simulation.loop import StuckError, VirtualLoop
from tests.simulation.scenario import LOAD_UNTIL_MS, Scenario
from tests.simulation.story import Moment, Story

SETTLE_EVERY_MS: Final = 500
SETTLE_LIMIT_MS: Final = 30_000
LET_GO_MS: Final = 5_000
SILENCE_MS: Final = 5_000
COLLECTIONS_MAX: Final = 4
"""What ends as it is thrown away holds on to more until the next collection; what is left at the
last would stay for good, out of sight of those of later seeds."""


@dataclass(frozen=True)
class Outcome:
    """What came of a scenario."""

    scenario: Scenario
    violations: tuple[Violation, ...]
    story: tuple[Moment, ...]
    faults: int
    virtual_ms: int
    records: int
    rows: int


def simulate(scenario: Scenario, broken: Break = NOTHING) -> Outcome:
    """Deterministic: the same scenario gives the same outcome, story included."""
    loop = VirtualLoop()
    story = Story(loop)
    # What was there before need not be gone through when the seed is thrown away.
    gc.freeze()
    gc.disable()
    try:
        with story.listening(), reading_once(), broken.patched():
            asyncio.set_event_loop(loop)
            return loop.run_until_complete(_run(scenario, story, broken))
    finally:
        asyncio.set_event_loop(None)
        _throw_away(loop)
        gc.unfreeze()
        gc.enable()


async def _run(scenario: Scenario, story: Story, broken: Break) -> Outcome:
    cluster = Cluster(scenario, story, broken)
    judge = fleets if scenario.parallel else checkers
    cluster.around.carrier.may_trim = partial(judge.may_trim, cluster)
    stuck: list[Violation] = []
    await cluster.boot()
    load = cluster.load()
    faults = [asyncio.ensure_future(befall(cluster, fault)) for fault in scenario.faults]
    minding = asyncio.ensure_future(cluster.people.mind_deployment())
    await cluster.sleep_until(LOAD_UNTIL_MS)
    _, late = await asyncio.wait([*load, *faults], timeout=SETTLE_LIMIT_MS / 1000)
    for task in [*faults, *load]:
        if task.done():
            task.result()
    if late:
        stuck.append(Violation("liveness", f"{len(late)} clients or faults do not come to an end"))
    await cluster.heal()
    story.tell("operator", "everything is healed")
    deadline_ms = story.loop.now_ms + SETTLE_LIMIT_MS
    while not judge.is_settled(cluster) and story.loop.now_ms < deadline_ms:
        await cluster.sleep_ms(SETTLE_EVERY_MS)
    minding.cancel()
    story.tell("operator", "the end")
    found = (*stuck, *judge.check_all(cluster))
    if scenario.farewell and not found:
        found = tuple(await _say_farewell(cluster))
    return Outcome(
        scenario, found, tuple(story.moments), len(scenario.faults), story.loop.now_ms,
        len(cluster.input.history), sum(judge.published_of(cluster)),
    )  # fmt: skip


async def _say_farewell(cluster: Cluster) -> list[Violation]:
    """The app is undeployed for good: nothing is published any more, nobody carries it."""
    judge = fleets if cluster.scenario.parallel else checkers
    await cluster.people.undeploy(purge=cluster.scenario.farewell == "purge")
    await cluster.sleep_ms(LET_GO_MS)
    published = judge.published_of(cluster)
    await cluster.sleep_ms(SILENCE_MS)
    silent = judge.published_of(cluster)[: len(published)] == published
    purged = cluster.scenario.farewell == "purge"
    return [*checkers.gone(cluster, is_silent=silent, purged=purged)]


def _throw_away(loop: VirtualLoop) -> None:
    """What is left of half-done tasks goes without a word."""
    hook = sys.unraisablehook
    sys.unraisablehook = _say_nothing
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            loop._ready.clear()
            loop._timers.clear()
            loop._graveyard.clear()
            loop.close()
            forget_doors()
            for _ in range(COLLECTIONS_MAX):
                if not gc.collect():
                    break
    finally:
        sys.unraisablehook = hook


def _say_nothing(_unraisable: Any) -> None:
    """Tasks that are thrown away may not complain."""


__all__ = ["Outcome", "StuckError", "simulate"]
