"""Observed executors by name. Each is imported when it is asked for: columns and Spark take
seconds, and `validate` wants none of them."""

from __future__ import annotations

from functools import partial

from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan
from lockstep.testing.observed import ObservedExecutor


def open_executor(
    executor: str, plan: AppPlan, start_ms: int, *, inner: bool = False
) -> ObservedExecutor:
    """The executor of that name, observed; on the reference with `inner` also the queries in
    partitions."""
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
