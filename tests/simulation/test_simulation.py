"""The simulation itself: it repeats, it holds, and its checkers see what is broken on purpose."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.bus.limits import BusLimits
from lockstep.events import TickRecord
from lockstep.events.codec import encode_record
from tests.simulation.apps import APPS
from tests.simulation.breaks import BREAKS
from tests.simulation.carrier import SimCarrier
from tests.simulation.cluster import Cluster
from tests.simulation.executor import Folds
from tests.simulation.loop import HostClock, VirtualLoop
from tests.simulation.node import EPOCH_MS
from tests.simulation.reference import Reference
from tests.simulation.scenario import Fault, Scenario, draw, draw_faults
from tests.simulation.shrink import shrunk
from tests.simulation.simulation import simulate
from tests.simulation.store import Archive

ROOT = Path(__file__).parents[2]
SMOKE_SEEDS = range(20)
BREAK_SEEDS = range(200)
SOON = {
    "fencing": 6,
    "generation": 35,
    "write": 6,
    "restore": 4,
    "holdback": 6,
    "clock": 3,
    "memory": 5,
    "revision": 1,
    "held": 6,
    "again": 128,
    "cursor": 29,
}
"""Seeds that are known to show a break; any of the first 200 would do."""

NODES = ("coordinator-1", "processor-1", "processor-2", "receiver-1", "receiver-2", "publisher-1",
         "publisher-2", "presenter-1")  # fmt: skip
THREE_VERSIONS = Scenario(
    seed=41, app=APPS[0], nodes=NODES, replicas=2, clients=("bus", "failover"), every_ms=80,
    skews_ms=(0,) * len(NODES), stall_share=0.005,
    faults=(
        Fault(2_380, "pause", "processor-1", 1_200),
        Fault(3_174, "skew", "coordinator-1", 0, "-2273"),
        Fault(3_176, "full_disk", "store", 300),
        Fault(6_697, "lossy", "processor-2/bus", 1_500, "0.05"),
        Fault(6_899, "deploy", "cluster"),
        Fault(8_856, "deploy", "cluster"),
        Fault(8_921, "lease_clock", "leases", 0, "900"),
        Fault(9_000, "deploy", "cluster"),
    ),
)  # fmt: skip
"""The second deployment begins and the lead moves on before the other processor has heard of it."""

UNHEARD = Scenario(
    seed=2, app=APPS[0], nodes=tuple(one for one in NODES if one != "publisher-2"), replicas=2,
    clients=("any", "failover"), every_ms=80, skews_ms=(0,) * 7, stall_share=0.0,
    faults=(
        Fault(3_000, "cut", "processor-2/store", 4_000),
        Fault(3_100, "deploy", "cluster"),
        Fault(4_300, "crash", "processor-1", 2_500),
    ),
)  # fmt: skip
"""The leader goes over and dies; the standby has not heard of it and has no store to look at."""

BEHIND = draw(857)
"""A leader that reads nothing for a while is to go back to what its standby has stored."""

FOUND_ONCE = {
    "a node that had not heard of a version led the app back": draw_faults(2008),
    "a leader cut over before it had folded what was published": draw_faults(2013),
    "a version that had begun was passed over by the next one": THREE_VERSIONS,
    "a node began the new version in front of what the old one had published": draw_faults(123),
    "a leader that got no answer went on behind the new version's beginning": draw_faults(1608),
    "a node led on with a version that the app had gone over from": UNHEARD,
    "what was settled before a restore was taken for what came behind it": draw(3231),
    "a leader went back to a state that had folded more than it had itself": BEHIND,
    "a leader went over to a version in front of what the log had forgotten": draw(1310),
    "a standby that held back all it may was not let lead": draw(1153),
    "who had folded less took the lead from who stopped further on": draw(1798),
    "who had stopped and led before kept the lease, and could begin nothing": draw(88),
}

UNCLAIMED = Scenario(
    seed=1, app=APPS[0], nodes=tuple(one for one in NODES if one != "publisher-2"), replicas=2,
    clients=("any", "failover"), every_ms=80, skews_ms=(0,) * 7, stall_share=0.0,
    faults=(
        Fault(3_000, "full_disk", "store", 2_500),
        Fault(3_000, "purge", "cluster", 300, "same"),
        Fault(4_500, "deploy", "cluster"),
    ),
)  # fmt: skip
"""The same text is deployed anew, on other logs. Nobody can store its beginning and claim them for
it before the next text is deployed."""

_STORY = """
from tests.simulation.scenario import draw, draw_fleet
from tests.simulation.simulation import simulate
for scenario in (draw(11), draw(18), draw_fleet(2)):
    print(*simulate(scenario).story, sep="\\n")
"""


@pytest.mark.parametrize("seeds", [SMOKE_SEEDS[i::4] for i in range(4)], ids="abcd")
def test_every_invariant_holds_under_faults(seeds: range) -> None:
    """A few of the seeds that `make sim` runs."""
    failed = {seed: found for seed in seeds if (found := simulate(draw(seed)).violations)}
    assert not failed


@pytest.mark.parametrize("scenario", FOUND_ONCE.values(), ids=FOUND_ONCE)
def test_what_was_found_once_stays_mended(scenario: Scenario) -> None:
    """Scenarios in which the services broke an invariant."""
    assert not simulate(scenario).violations


def test_a_leader_that_is_behind_a_revision_goes_back_to_it_nevertheless() -> None:
    """Once it has come as far itself."""
    told = [one.what for one in simulate(BEHIND).story]
    assert any(one.startswith("restoring revision=") for one in told)
    assert not any(one.startswith("a state does not fit") for one in told)


def test_a_run_ends_no_sooner_than_what_was_set_aside_is_a_dead_letter() -> None:
    """The last record is set aside, so no row is left to wait for."""
    assert not simulate(draw(146)).violations


def test_what_nobody_claimed_the_log_for_is_not_taken_for_an_earlier_life() -> None:
    """The text that it has is that of logs that were removed; its records are others."""
    assert not simulate(UNCLAIMED).violations


def test_a_slice_is_compared_with_the_log_that_it_was_folded_from() -> None:
    """Another life of the app has the same text, and other records at the same positions."""
    loop = VirtualLoop()
    carrier = SimCarrier(clock=HostClock(loop, EPOCH_MS), limits=BusLimits(), loop=loop)
    text = APPS[0].versions[0]
    lives = []
    for clock_ms in (EPOCH_MS, EPOCH_MS + 5_000):
        log = carrier.recorded(f"in.{clock_ms}")
        for position in range(2):
            log.append(log.name, encode_record(TickRecord(clock_ms + position)))
        lives.append(Reference(text, log, carrier.recorded(f"out.{clock_ms}"), Archive(loop)))
    folds = Folds()
    for life in lives:
        folds.executor("processor-1", text).run_encoded(life.catch_up().log.encoded())
    found = [[life.states_of(fold) for life in lives] for fold in folds.folded]
    loop.close()
    assert found == [[lives[0].segments, []], [[], lives[1].segments]]


def test_the_same_seed_tells_the_same_story() -> None:
    """In another process with another order of sets, to the millisecond."""
    stories = set()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", _STORY], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )  # fmt: skip
        assert "FAULT" in done.stdout
        stories.add(done.stdout)
    assert len(stories) == 1


def test_a_seed_that_is_over_leaves_nothing_behind() -> None:
    """Else a run of many seeds would grow by a cluster with each."""

    def clusters() -> int:
        return sum(isinstance(one, Cluster) for one in gc.get_objects())

    before = clusters()
    assert not simulate(draw(11)).violations
    assert clusters() <= before


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_invariant_is_seen(name: str) -> None:
    """Within the first 200 seeds."""
    broken = BREAKS[name]
    seeds = [SOON.get(name, 0), *BREAK_SEEDS]
    outcomes = (simulate(draw(seed), broken) for seed in seeds)
    seen = ({one.invariant for one in outcome.violations} for outcome in outcomes)
    assert any(broken.seen_as & found for found in seen)


def test_a_failing_story_is_made_short() -> None:
    """Faults that a violation does not need are left out of what is told."""
    broken = BREAKS["trim"]
    outcomes = (simulate(draw(seed), broken) for seed in BREAK_SEEDS)
    outcome = next(one for one in outcomes if one.violations and len(one.scenario.faults) > 1)
    short = shrunk(outcome, broken)
    assert short.violations
    assert len(short.scenario.faults) < len(outcome.scenario.faults)
