"""What a unit of a fleet folds of the app's input log: its own share, and what other units wrote.

Pure: it hangs on the records and rows alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lockstep.control import UnitView
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import RowsOfColumns, in_columns
from lockstep.execute import turns
from lockstep.execute.contract import EventFault, SliceResult
from lockstep.fleet.asking import Asking
from lockstep.fleet.channels import Merged, Merger
from lockstep.fleet.stacking import Channel
from lockstep.fleet.units import Unit, UnitPlan
from lockstep.plan import Plans


@dataclass(frozen=True)
class UnitFold:
    """Of one unit. `upstream`: the units whose rows it reads, as `UnitView.upstream` has them."""

    unit: Unit
    upstream: tuple[Unit, ...]
    merger: Merger

    @property
    def is_first(self) -> bool:
        """What is to be said once for the app, it says."""
        return self.unit.number == 0 and self.unit.partition == 0

    def entries(self, entries: Sequence[EncodedEntry], upstream: Sequence[RowsOfColumns]) -> Merged:
        """What the executor folds for these entries; `upstream`: the rows of their positions."""
        channels = [
            Channel(unit, columns)
            for unit, rows in zip(self.upstream, upstream, strict=True)
            for columns in rows.columns
        ]
        return self.merger.merged(entries, channels)

    def placed(self, result: SliceResult, merged: Merged) -> SliceResult:
        """The result, whose rows for other units stand at moments of the app's records. What comes
        next begins with its clock."""
        self.merger.clock_ms = result.clock_ms
        columns = in_columns(result.rows, self.unit.plan.fleet.app.schemas).columns
        own = [each for each in columns if each.places is None]
        given = merged.placed(each for each in columns if each.places is not None)
        return replace(result, rows=RowsOfColumns([*own, *given]), columns=())

    def reported(self, faults: Sequence[EventFault]) -> Sequence[EventFault]:
        """Faults of records, which every unit finds."""
        return faults if self.is_first else ()


def unit_fold(view: UnitView, plans: Plans) -> UnitFold:
    """Of a unit as processors know it; blocking, as what is compiled is loaded."""
    turns.load()
    fleet = view.whole
    apps = [plans.of(group.text) for group in fleet.groups]
    by_name = {group.name: app for group, app in zip(fleet.groups, apps, strict=True)}
    numbers = {group.name: number for number, group in enumerate(fleet.groups)}
    made = [UnitPlan(fleet, *pair) for pair in zip(fleet.groups, apps, strict=True)]
    own = numbers[view.group.name]
    unit = Unit(own, view.partition, made[own])
    upstream = tuple(
        Unit(numbers[group], partition, made[numbers[group]])
        for group, partition in view.upstream_places
    )
    return UnitFold(unit, upstream, Merger(unit, Asking(fleet, by_name)))
