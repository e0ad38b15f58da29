"""Every golden that the planner cuts: as a fleet it brings the rows and the faults of one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep.testing.files import find_files, load, run_file
from lockstep.testing.play import _Player
from lockstep.testing.scenario import Scenario
from lockstep.testing.virtual_app import VirtualApp, rehearsed

HERE = Path(__file__).parent
FILES = find_files([HERE])
PARTITIONS = 3
CUT_MIN = 30

every_file = pytest.mark.parametrize(
    "file", FILES, ids=lambda file: str(file.relative_to(HERE)), scope="module"
)

BY_PARTITION = "on_demand/order_limit_offset.siddhi"
"""It asks for the first row of a table, and where that is cut there is no first one."""

Row = tuple[int, int, str]


def made(plan: AppPlan) -> ReferenceExecutor:
    """One node, from the beginning of a golden's clock."""
    return ReferenceExecutor(plan, start_ms=0)


@cache
def cut(file: Path) -> list[tuple[Scenario, FleetPlan]]:
    """The scenarios of a golden whose app the planner cuts, and the fleets that they are."""
    found = []
    for scenario in load(file).scenarios:
        if any(call.text.startswith("@restore") for call in scenario.calls):
            continue  # what came behind the restored state is in no log
        fleet = fleet_of(rehearsed(scenario.app_text), PARTITIONS)
        if any(group.partitions > 1 for group in fleet.groups):
            found.append((scenario, fleet))
    return found


def played(scenario: Scenario) -> VirtualApp:
    """Its app, behind all calls."""
    player = _Player(scenario, "reference")
    for call in scenario.calls:
        player.call(call)
    return player.app


def brought(result: SliceResult, streams: Sequence[str]) -> dict[str, list[Row]]:
    """Of these streams all rows in order; of the others at each position in any order, since rows
    of different keys may have changed places."""
    found: dict[str, list[Row]] = {}
    for row in result.rows:
        made = (row.id.position, row.timestamp_ms, repr(row.data))
        found.setdefault(row.stream, []).append(made)
    return {name: rows if name in streams else sorted(rows) for name, rows in found.items()}


@every_file
def test_a_fleet_brings_what_one_node_brings(file: Path) -> None:
    """Rows, with their times, and the reasons of faults."""
    for scenario, fleet in cut(file):
        app = played(scenario)
        one = made(app.plan).run_slice(app.log)
        many = FleetExecutor(fleet, made).run_slice(app.log)
        whole = [
            name
            for group in fleet.groups
            if group.partitions == 1
            for name in (*group.exported, *group.stored)
        ]
        assert brought(many, whole) == brought(one, whole)
        assert Counter(each.reason for each in many.faults) == Counter(
            each.reason for each in one.faults
        )


@every_file
def test_a_golden_holds_in_partitions(file: Path) -> None:
    """Each call brings what is written there: rows of queries, refusals, answers and faults. Apps
    that stay one unit are played as they are elsewhere."""
    texts = {scenario.app_text for scenario in load(file).scenarios}
    if all(fleet_of(rehearsed(text), PARTITIONS).is_single for text in texts):
        return
    for report in run_file(file, parallel=PARTITIONS):
        if file.as_posix().endswith(BY_PARTITION):
            assert "@query from T select k limit 1" in report.text()
        else:
            assert report.passed, report.text()


def test_some_goldens_are_cut() -> None:
    """Enough of them that the test above says something."""
    found = (each for file in FILES for each in cut(file))
    assert len(list(islice(found, CUT_MIN))) == CUT_MIN
