"""Whose timer fires first when several are due at the same time: the order of the app's text.

Without a rule the answer would hang on which of the owners asked first, that is on what happened
long ago; with this one it stands in the app, and an executor that keeps an owner's timers elsewhere
comes to the same order. Of one owner's, its output rate goes first, as it shows what was there
until then; behind it those of the wall clock.
"""

from __future__ import annotations

from lockstep.plan import AppPlan

LAST = 2**31
"""The rank of what belongs to no owner."""


def owners_of(plan: AppPlan) -> tuple[str, ...]:
    """The paths of everything that may own timers, in the order in which an engine starts them:
    named windows, aggregations and triggers, then queries and partitions, each as defined."""
    checked = plan.checked
    return (
        *(f"window/{name}" for name in checked.windows),
        *(f"aggregation/{name}" for name in checked.aggregations),
        *(f"trigger/{name}" for name in checked.triggers),
        *(node.path for node in plan.nodes),
    )


def ranks_of(plan: AppPlan) -> dict[str, int]:
    """The rank of each owner; a query's or partition's is its place among the plan's nodes, what
    comes before those has negative ones."""
    owners = owners_of(plan)
    first = len(plan.nodes) - len(owners)
    return {owner: first + index for index, owner in enumerate(owners)}
