"""Executors that tell all that they do, by name."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from lockstep.execute.contract import Executor
from lockstep.execute.observe import Observation
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan


class ObservedExecutor(Executor, Protocol):
    """An executor that also tells every chunk of every stream and query."""

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call, in order."""


def open_executor(
    executor: str, plan: AppPlan, start_ms: int, *, inner: bool = False
) -> ObservedExecutor:
    """The executor of that name, observed; on the reference with `inner` also the queries in
    partitions. Each is imported when it is asked for: columns and Spark take seconds, and
    `validate` wants none of them."""
    if executor == "reference":
        from lockstep.execute.reference.executor import ReferenceExecutor

        return ReferenceExecutor(plan, start_ms=start_ms, observe=True, observe_inner=inner)
    if executor == "spark":
        from lockstep.execute.spark import SparkExecutor

        observed: ObservedExecutor = SparkExecutor(plan, start_ms=start_ms, observe=True)
        return observed
    if executor == "columnar":
        from lockstep.execute.in_process import InProcessExecutor

        return InProcessExecutor(plan, start_ms=start_ms)
    raise ValueError(f"there is no executor {executor!r}: use 'reference', 'columnar' or 'spark'")


def open_fleet(executor: str, fleet: FleetPlan, start_ms: int) -> ObservedExecutor:
    """The same for an app in several partitions."""
    from lockstep.testing.observed_fleet import ObservedFleet

    return ObservedFleet(fleet, partial(open_executor, executor, start_ms=start_ms, inner=True))
