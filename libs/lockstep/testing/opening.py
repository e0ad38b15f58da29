"""Observed executors by name. Each is loaded when it is asked for: columns and Spark take seconds,
and `validate` wants none of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Final

from lockstep.execute.observe import Observe
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan
from lockstep.testing.observed import ObservedExecutor

EXECUTORS: Final = {
    "reference": "lockstep.execute.reference.executor:ReferenceExecutor",
    "columnar": "lockstep.execute.in_process:InProcessExecutor",
    "spark": "lockstep.execute.spark:SparkExecutor",
}
"""Where each is made, as `package.module:name`."""
_FLEET: Final = "lockstep.testing.observed_fleet:ObservedFleet"
"""It loads Arrow, as executors do."""


def open_executor(
    executor: str, plan: AppPlan, start_ms: int, observe: Observe = Observe.OUTSIDE_PARTITIONS
) -> ObservedExecutor:
    """The executor of that name, observed. ValueError
    for a name that is none."""
    place = EXECUTORS.get(executor)
    if place is None:
        known = ", ".join(map(repr, EXECUTORS))
        raise ValueError(f"there is no executor {executor!r}: use one of {known}")
    make: Callable[..., ObservedExecutor] = resolve_name(place)
    return make(plan, start_ms=start_ms, observe=observe)


def open_fleet(executor: str, fleet: FleetPlan, start_ms: int) -> ObservedExecutor:
    """The same for an app in several partitions."""
    make: Callable[..., ObservedExecutor] = resolve_name(_FLEET)
    return make(fleet, partial(open_executor, executor, start_ms=start_ms, observe=Observe.ALL))
