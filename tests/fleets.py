"""Fleets without processors: their views, and output logs that a test writes as units would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from lockstep.bus import Accepted, Bus, LogName
from lockstep.bus.memory import MemoryBus
from lockstep.control import AppView, Mark, UnitView, send_mark
from lockstep.control.units import places_of
from lockstep.events import (
    ClaimRecord,
    Generation,
    Life,
    OutputId,
    OutputRecord,
    OutputRow,
    Position,
)
from lockstep.fleet.keys import key_group_of
from lockstep.plan import AppPlan, build
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, key_groups_of
from lockstep.siddhiql import check
from lockstep.store import Deployment

TEXT = (
    "@app:name('A') define stream In (v int);"
    " {sink} define stream One (v int); define stream Two (v int);"
    " from In select v insert into One; from In select v insert into Two;"
)
"""Its units write rows of a channel, too: `Mid`, which nobody outside sees."""


def owner(key: object, count: int) -> int:
    """Which of so many partitions has a key."""
    group = key_group_of(str(key))
    return next(p for p in range(count) if group in key_groups_of(p, count))


@cache
def plan_of(sink: str) -> AppPlan:
    """Of TEXT with that sink at One."""
    return build(check(TEXT.format(sink=sink)))


def single_view(sink: str = "", app: str = "A") -> AppView:
    """The app as one unit."""
    text = TEXT.format(sink=sink)
    return AppView(Deployment(app, text, text, Life(1, 1), 1, 0), plan_of(sink))


def fleet_view(
    groups: Mapping[str, int],
    layout: int,
    former: AppView | None = None,
    sink: str = "",
    app: str = "A",
) -> AppView:
    """The app cut into groups of so many partitions; all others read the first one's channel.
    `former` went before."""
    text, plan = TEXT.format(sink=sink), plan_of(sink)
    parallel = max(groups.values())
    feeds = (Feed("Mid", from_input=False, writers=(next(iter(groups)),)),)
    fleet = FleetPlan(
        plan, parallel,
        tuple(
            GroupPlan(name, count, text, feeds if at else (), ("Mid",), ("One", "Two"), (), ())
            for at, (name, count) in enumerate(groups.items())
        ),
    )  # fmt: skip
    deployment = Deployment(
        app, text, text, Life(1, layout), 1, 0, parallel=parallel, layout=layout
    )
    before = () if former is None else former.units
    cut = tuple(
        UnitView(
            replace(deployment), plan, whole=fleet, group=fleet.group(name), partition=partition,
            former=before,
        )
        for name, partition in places_of(fleet)
    )  # fmt: skip
    return AppView(deployment, plan, fleet, cut, before)


def row(
    position: int, ordinal: int = 0, stream: str = "One", value: int | None = None
) -> OutputRow:
    """A row whose value says where it is from."""
    return OutputRow(OutputId(position, ordinal), stream, position, (value,))


@dataclass
class Unit:
    """Writes a unit's output log."""

    bus: Bus
    name: LogName
    sequence: int = 0

    async def begin(self, layout: int, position: Position, epoch: int = 1) -> None:
        """Claims the log."""
        log = await self.bus.output_log(self.name)
        claim = ClaimRecord(epoch, "me", 0, Generation(Life(1, layout), position))
        done = await log.append(claim, expected_sequence=self.sequence)
        assert isinstance(done, Accepted)
        self.sequence = done.sequence

    async def publish(self, rows: Sequence[OutputRow], epoch: int = 1, *, door_ms: int = 0) -> None:
        """Appends a record."""
        log = await self.bus.output_log(self.name)
        record = OutputRecord(epoch, rows, door_ms)
        done = await log.append(record, expected_sequence=self.sequence)
        assert isinstance(done, Accepted)
        self.sequence = done.sequence

    async def settle(self, position: Position) -> None:
        """Says that all rows up to the position are there."""
        name = self.name
        mark = Mark(name.app, name.group, name.partition, name.since_ms, position, self.sequence)
        await send_mark(self.bus.topics, mark)


def units_of(bus: Bus, view: AppView) -> list[Unit]:
    """Of a layout."""
    return [Unit(bus, one.log) for one in view.units]


async def announce(bus: Bus, view: AppView) -> None:
    """As the coordinator does: the output logs of a layout are there before it begins."""
    for one in view.units:
        await bus.output_log(one.log)


class OldLists(MemoryBus):
    """One of its servers is behind: its lists leave out what was made since, and name what was
    removed since. It counts how often it was asked."""

    unheard: frozenset[LogName] = frozenset()
    removed: frozenset[LogName] = frozenset()
    lists = 0

    async def logs(self, app: str | None, *, inputs: bool = False) -> Sequence[LogName]:
        """As that server knows them."""
        self.lists += 1
        return sorted({*await super().logs(app, inputs=inputs), *self.removed} - self.unheard)
