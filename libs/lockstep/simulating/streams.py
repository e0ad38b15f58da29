"""The streams of an app that can be fed, those first that nothing else feeds."""

from __future__ import annotations

from lockstep.plan import AppPlan, plan_of_deployed
from lockstep.simulating.values import Columns


def unwritten(plan: AppPlan) -> list[str]:
    """The streams that anybody may send to and no query writes."""
    written: set[str] = set()
    for node in plan.nodes:
        written |= {node.writes} if isinstance(node.writes, str) else set(node.writes)
    return [name for name in plan.doors if name not in written]


def columns_of(text: str) -> dict[str, Columns]:
    """The streams of a valid text that anybody may send to, with their attributes. Those that
    queries write take events, too; they come last."""
    plan = plan_of_deployed(text)
    first = unwritten(plan)
    names = [*first, *(name for name in plan.doors if name not in first)]
    return {name: columns_in(plan, name) for name in names}


def columns_in(plan: AppPlan, name: str) -> Columns:
    """The attributes of a stream."""
    return [(one.name, str(one.type.value)) for one in plan.schemas[name].attributes]
