"""An app as a fleet: which of its queries run together, in how many partitions, and what goes from
group to group."""

from lockstep.plan.fleet.contract import (
    KEY_GROUPS,
    RULES,
    Feed,
    FleetPlan,
    GroupPlan,
    Routing,
    Together,
    key_groups_of,
)
from lockstep.plan.fleet.explain import explain_fleet, fleet_as_json
from lockstep.plan.fleet.planning import fleet_of
from lockstep.plan.fleet.texts import named_text, united_text, with_name
from lockstep.plan.fleet.traits import hears_time

__all__ = [
    "KEY_GROUPS",
    "RULES",
    "Feed",
    "FleetPlan",
    "GroupPlan",
    "Routing",
    "Together",
    "explain_fleet",
    "fleet_as_json",
    "fleet_of",
    "hears_time",
    "key_groups_of",
    "named_text",
    "united_text",
    "with_name",
]
