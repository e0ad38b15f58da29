"""A fleet under test: all its units in this process, and what they bring told as of one app."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lockstep.events import Event, EventsRecord, LogEntry, Position
from lockstep.execute.contract import SliceResult
from lockstep.execute.observe import Observation, StreamChunk
from lockstep.fleet import FleetExecutor
from lockstep.fleet.units import Unit
from lockstep.operators.state import Bytes
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan
from lockstep.siddhiql.checked import CheckedApp
from lockstep.testing.observed import ObservedExecutor


class ObservedFleet:
    """See execute.contract.Executor. Each chunk is told once: of a stream by the units that write
    it, of one that only comes from outside as it was sent.

    Within a slice a unit's chunks stand together. So chunks of different keys may have changed
    places, and a chunk with several keys is told in pieces.
    """

    def __init__(self, fleet: FleetPlan, make: Callable[[AppPlan], ObservedExecutor]) -> None:
        self._members: list[ObservedExecutor] = []

        def made(plan: AppPlan) -> ObservedExecutor:
            self._members.append(make(plan))
            return self._members[-1]

        self._fleet = FleetExecutor(fleet, made)
        self._told = [_told_by(unit, self._fleet.units) for unit in self._fleet.units]
        self._from_outside = _from_outside(fleet.app.checked, self._fleet.units)
        self._sent: list[Observation] = []

    @property
    def position(self) -> Position:
        return self._fleet.position

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Folds entries through all units."""
        for entry in entries:
            record = entry.record
            if isinstance(record, EventsRecord) and record.stream in self._from_outside:
                self._sent += (StreamChunk(record.stream, events) for events in _chunks(record))
        return self._fleet.run_slice(entries)

    def run_encoded(self, entries: Sequence[Any]) -> SliceResult:
        """Folds encoded entries; what came from outside is not told then."""
        return self._fleet.run_encoded(entries)

    def take_observations(self) -> list[Observation]:
        """What was observed since the last call: what was sent, then unit by unit."""
        found, self._sent = self._sent, []
        for member, streams in zip(self._members, self._told, strict=True):
            for each in member.take_observations():
                if not isinstance(each, StreamChunk) or each.stream in streams:
                    found.append(each)
        return found

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """See FleetExecutor."""
        return self._fleet.on_demand(text)

    def snapshot(self) -> bytes:
        return self._fleet.snapshot()

    def restore(self, snapshot: Bytes) -> None:
        self._fleet.restore(snapshot)

    def close(self) -> None:
        self._fleet.close()


def _chunks(record: EventsRecord) -> Iterator[tuple[Event, ...]]:
    for chunk in record.chunks:
        yield tuple(Event(each.timestamp_ms, each.data) for each in chunk)


def _written(unit: Unit) -> set[str]:
    """What a unit's queries, triggers and named windows put out."""
    app = unit.plan.app
    found = {*app.checked.triggers, *app.checked.windows}
    for node in app.nodes:
        writes = node.writes
        found |= {writes} if isinstance(writes, str) else set(writes)
    return found


def _told_by(unit: Unit, units: Sequence[Unit]) -> set[str]:
    """The streams whose chunks are taken from this unit: what it writes, unless a unit that writes
    it too reads it from here. What several groups hold, a trigger, the first of them tells."""
    told = _written(unit)
    for other in units:
        if other.number == unit.number:
            continue
        of_other = _written(other)
        read = {feed.stream for feed in other.group.feeds if unit.group.name in feed.writers}
        told -= read & of_other
        if other.number < unit.number:
            checked = unit.plan.app.checked
            told -= of_other & {*checked.triggers, *checked.windows}
    return told


def _from_outside(app: CheckedApp, units: Sequence[Unit]) -> set[str]:
    """The streams whose input no unit tells that writes them."""
    told = {
        feed.stream
        for unit in units
        for feed in unit.group.feeds
        if feed.from_input and feed.stream in _written(unit)
    }
    return set(app.streams) - told
