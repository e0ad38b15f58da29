"""Goldens that the planner cuts, and what they bring as fleets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lockstep.execute.contract import SliceResult
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan
from lockstep.testing.files import load
from lockstep.testing.play import _Player
from lockstep.testing.scenario import Scenario
from lockstep.testing.virtual_app import VirtualApp, cut_into

PARTITIONS = 3
CUT_MIN = 30
"""So many goldens at least are cut."""

BY_PARTITION = "on_demand/order_limit_offset.siddhi"
"""It asks for the first row of a table, and where that is cut there is no first one."""

Row = tuple[int, int, str]


def made(plan: AppPlan) -> ReferenceExecutor:
    """One node, from the beginning of a golden's clock."""
    return ReferenceExecutor(plan, start_ms=0)


@cache
def fleets_of(file: Path) -> list[tuple[Scenario, FleetPlan]]:
    """The scenarios of a golden whose app the planner cuts, and the fleets that they are."""
    found = []
    for scenario in load(file).scenarios:
        if any(call.text.startswith("@restore") for call in scenario.calls):
            continue  # what came behind the restored state is in no log
        fleet = cut_into(scenario.app_text, PARTITIONS)
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
