"""How an app would run: the answer of a workshop to who asks for an explanation."""

from __future__ import annotations

from typing import Any

from lockstep.execute.explain import explain_execution
from lockstep.fleet import check_units
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_as_json, fleet_of


def explained(text: str, parallel: int | None) -> dict[str, Any]:
    """Its queries, its inputs, and its groups in so many partitions. SiddhiQLError."""
    plan = plan_of(text)
    fleet = fleet_of(plan, parallel)
    check_units(fleet)
    shown = explain_execution(plan).as_json()
    return {**shown, "inputs": list(plan.doors), "fleet": fleet_as_json(fleet)}
