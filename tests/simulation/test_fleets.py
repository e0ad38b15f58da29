"""Fleets in the simulation: they hold, and what is broken in them on purpose is seen."""

from __future__ import annotations

import pytest

from tests.simulation.fleet_breaks import FLEET_BREAKS
from tests.simulation.scenario import FLEET_SHARE, draw, draw_fleet, scenario_of
from tests.simulation.simulation import simulate

SMOKE_SEEDS = (2, 13, 16, 19)
BREAK_SEEDS = range(20)
SOON = {"letters": 5}
"""Seeds that are known to show a break; others of the first 20 would do."""
FOUND_ONCE = {
    "units that began again at the end of their layout folded on": 4,
    "a sink began behind a row that came while it looked for its place": 32,
    "a full reader of a channel waited for marks that it had not read up to": 52,
    "a warm standby kept rows of channels that its state had already": 66,
    "a layout ended while its last slice was being folded": 101,
    "a sink took a later state of a unit for the beginning of its layout": 5,
}


@pytest.mark.parametrize("seed", SMOKE_SEEDS)
def test_every_invariant_of_a_fleet_holds_under_faults(seed: int) -> None:
    """A few seeds: groups, channels and other cuts of the app meanwhile."""
    assert not simulate(draw_fleet(seed)).violations


@pytest.mark.parametrize("seed", FOUND_ONCE.values(), ids=FOUND_ONCE)
def test_what_was_found_in_fleets_stays_mended(seed: int) -> None:
    """Seeds with which the services broke an invariant."""
    assert not simulate(draw_fleet(seed)).violations


@pytest.mark.parametrize("name", FLEET_BREAKS)
def test_a_broken_invariant_of_fleets_is_seen(name: str) -> None:
    """Within the first few seeds of fleets."""
    broken = FLEET_BREAKS[name]
    seeds = [SOON.get(name, 0), *BREAK_SEEDS]
    outcomes = (simulate(draw_fleet(seed), broken) for seed in seeds)
    seen = ({one.invariant for one in outcome.violations} for outcome in outcomes)
    assert any(broken.seen_as & found for found in seen)


def test_a_fixed_share_of_the_seeds_are_fleets() -> None:
    """The others mean what they meant before there were fleets."""
    seeds = range(1_000)
    fleets = [seed for seed in seeds if scenario_of(seed).parallel]
    assert abs(len(fleets) / len(seeds) - FLEET_SHARE) < 0.05
    assert all(scenario_of(seed) == draw(seed) for seed in set(seeds) - set(fleets))


def test_a_fleet_is_cut_anew_among_its_faults() -> None:
    """Some seeds do so, with the same text and with the next one."""
    scenarios = map(draw_fleet, range(100))
    found = {fault.detail for one in scenarios for fault in one.faults if fault.kind == "rescale"}
    assert found == {"same", "next"}


def test_processors_are_drained_and_join_among_the_faults() -> None:
    """Some seeds do so; who joins has a name of its own."""
    scenarios = [draw_fleet(seed) for seed in range(100)]
    kinds = {fault.kind for one in scenarios for fault in one.faults}
    assert {"drain", "join"} <= kinds
    joined = [(fault.target, one.nodes) for one in scenarios for fault in one.faults
              if fault.kind == "join"]  # fmt: skip
    assert not [name for name, nodes in joined if name in nodes]


def test_workers_of_fleets_die_of_records_among_the_faults() -> None:
    """Some seeds do so, on all processors: a unit alone would leave out what others fold."""
    scenarios = map(draw_fleet, range(100))
    targets = [one.target for each in scenarios for one in each.faults if one.kind == "heavy"]
    assert {*targets} == {"processor"}
