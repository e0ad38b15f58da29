"""An app that goes over from one layout to the next, as its units do it, in one process."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import LogEntry, OutputRow
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor, Unit
from lockstep.plan import AppPlan, Plans, plan_of
from lockstep.plan.fleet import FleetPlan, fleet_of
from lockstep_services.processor.revise.inheriting import Ended, handed_down
from lockstep_services.processor.state.envelope import Contents

PLANS = Plans()


class Layout:
    """The units of an app. `parallel`: into how many partitions it is cut; None: it is one unit, as
    apps are that were never cut."""

    def __init__(self, text: str, parallel: int | None) -> None:
        self.plan = plan_of(text)
        self._is_cut = parallel is not None
        self.fleet: FleetPlan = fleet_of(self.plan, parallel)
        self._executors: list[ReferenceExecutor] = []
        self._whole = FleetExecutor(self.fleet, self._make) if parallel else self._make(self.plan)

    def _make(self, plan: AppPlan) -> ReferenceExecutor:
        self._executors.append(ReferenceExecutor(plan))
        return self._executors[-1]

    def _units(self) -> Sequence[tuple[Unit, ReferenceExecutor]]:
        assert isinstance(self._whole, FleetExecutor)
        return list(zip(self._whole.units, self._executors, strict=True))

    def fold(self, entries: Sequence[LogEntry]) -> list[OutputRow]:
        """The rows of these."""
        return list(self._whole.run_slice(entries).rows) if entries else []

    def ended(self) -> list[Ended]:
        """The last states of its units."""
        if not self._is_cut:
            (whole,) = self._executors
            return [Ended(None, _contents(self.plan, whole))]
        return [
            Ended(unit.group.name, _contents(unit.plan.app, executor))
            for unit, executor in self._units()
        ]

    def begin_behind(self, former: Layout) -> tuple[str, ...]:
        """All units begin; gives what of the layout before begins empty."""
        lost: dict[str, None] = {}
        ended = former.ended()
        for unit, executor in self._units():
            contents, gone = handed_down(unit, ended, former.plan, b"", PLANS)
            lost |= dict.fromkeys(gone)
            executor.restore(contents.snapshot)
        return tuple(lost)


def _contents(plan: AppPlan, executor: ReferenceExecutor) -> Contents:
    return Contents(plan.text, executor.snapshot(), (), ())
