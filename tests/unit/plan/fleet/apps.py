"""What tests of fleets ask of an app's groups."""

from __future__ import annotations

from lockstep.plan import plan_of
from lockstep.plan.fleet import FleetPlan, Routing, fleet_of
from lockstep.siddhiql.printing import print_node

STREAMS = (
    "@app:name('A') define stream S (k string, j int, v int, x long);"
    " define stream R (k string, v int);"
)
"""What the apps of the tests begin with."""


def fleet(text: str, parallel: int | None = 3) -> FleetPlan:
    """The groups of an app; each text is an app that gives out what its group says."""
    found = fleet_of(plan_of(STREAMS + text), parallel)
    for group in found.groups:
        plan = plan_of(group.text)
        if not found.is_single:
            assert set(plan.exported) == {*group.exported, *group.channels}
        assert plan.name == "A"
        assert set(plan.stored) == set(group.stored)
    return found


def nodes(found: FleetPlan) -> dict[str, tuple[str, ...]]:
    """What runs in which group."""
    return {group.name: group.nodes for group in found.groups}


def routes(found: FleetPlan, group: str) -> dict[str, str]:
    """How the streams reach a group: by which key, or by which routing."""
    return {
        feed.stream: feed.routing.value if feed.key is None else print_node(feed.key)
        for feed in found.group(group).feeds
        if feed.routing is not Routing.KEY or feed.key is not None
    }


def reason(found: FleetPlan) -> str:
    """Why something is whole."""
    return found.group("main").whole_because or ""
