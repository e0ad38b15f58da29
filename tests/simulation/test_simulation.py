"""The simulation itself: it repeats, it holds, and its checkers see what is broken on purpose."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.breaks import BREAKS
from tests.simulation.scenario import draw
from tests.simulation.shrink import shrunk
from tests.simulation.simulation import simulate

ROOT = Path(__file__).parents[2]
SMOKE_SEEDS = range(20)
BREAK_SEEDS = range(200)
SOON = {"fencing": 6, "held": 6, "cursor": 3, "ack": 1}
"""Seeds that are known to show a break; any of the first 200 would do."""

_STORY = """
from tests.simulation.scenario import draw
from tests.simulation.simulation import simulate
for seed in (11, 18):
    print(*simulate(draw(seed)).story, sep="\\n")
"""


@pytest.mark.parametrize("seeds", [SMOKE_SEEDS[i::4] for i in range(4)], ids="abcd")
def test_every_invariant_holds_under_faults(seeds: range) -> None:
    """A few of the seeds that `make sim` runs."""
    failed = {seed: found for seed in seeds if (found := simulate(draw(seed)).violations)}
    assert not failed


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


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_invariant_is_seen(name: str) -> None:
    """Within the first 200 seeds."""
    broken = BREAKS[name]
    seeds = [SOON.get(name, 0), *BREAK_SEEDS]
    seen = ({one.invariant for one in simulate(draw(seed), broken).violations} for seed in seeds)
    assert any(broken.seen_as & found for found in seen)


def test_a_failing_story_is_made_short() -> None:
    """Faults that a violation does not need are left out of what is told."""
    broken = BREAKS["trim"]
    outcome = simulate(draw(0), broken)
    short = shrunk(outcome, broken)
    assert short.violations
    assert len(short.scenario.faults) < len(outcome.scenario.faults)
