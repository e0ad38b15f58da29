"""A part of an app folded over a span of the archive, in one process: what a task does.

The units of an app that is cut are told apart by what they read of one another: those that are
linked by channels run together, in one task, slice by slice; all others run by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from lockstep.archive import naming
from lockstep.archive.place import Place
from lockstep.archive.reading import SLICE_EVENTS, InputReader, Pinned, Span
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import OutputColumns, in_columns
from lockstep.events.typed import from_msgpack
from lockstep.execute.contract import SliceResult
from lockstep.execute.in_process import InProcessExecutor
from lockstep.execute.observe import Observe
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import Sieved, sieve
from lockstep.fleet.asking import asking_of
from lockstep.fleet.channels import Merger
from lockstep.fleet.stacking import Channel
from lockstep.fleet.units import Unit, units_of
from lockstep.functions.geo import addresses
from lockstep.history.results import ResultTables
from lockstep.operators.limits import Limits, put_in_force
from lockstep.plan import AppPlan, plan_of_deployed
from lockstep.plan.fleet import FleetPlan, fleet_of

BASE_BYTES = 67_108_864


class Task(msgspec.Struct, frozen=True):
    """What one task folds: `units` of a fleet (group, partition), or the whole app (none)."""

    folder: str
    options: dict[str, str]
    app: str
    since_ms: int
    pinned: dict[str, int]
    after: int
    up_to: int
    text: str
    parallel: int
    units: tuple[tuple[str, int], ...]
    rows_behind: int
    """Rows of earlier positions are not kept: the state was warming up."""
    results: str
    max_sends: int
    limits: tuple[int, ...]
    places: str = ""

    @property
    def name(self) -> str:
        """Tells it from the others of its run."""
        return "+".join(f"{group}.{partition}" for group, partition in self.units) or "app"


class Done(msgspec.Struct, frozen=True):
    """What a task has folded."""

    events: int = 0
    rows: int = 0
    refused: int = 0
    """Events that became dead letters."""
    missing: int = 0
    """Events that are not in the archive any more."""
    position: int = 0


def linked(fleet: FleetPlan) -> list[tuple[tuple[str, int], ...]]:
    """The units of a fleet in sets that read nothing of one another, upstream first in each."""
    groups = [{group.name} for group in fleet.groups]
    for group in fleet.groups:
        near = {group.name, *(writer for feed in group.feeds for writer in feed.writers)}
        touched = [one for one in groups if one & near]
        groups = [one for one in groups if not one & near] + [set().union(*touched)]
    found: list[tuple[tuple[str, int], ...]] = []
    for one in groups:
        places = [
            (group.name, partition)
            for group in fleet.groups
            if group.name in one
            for partition in range(group.partitions)
        ]
        if len(one) == 1:
            found += [(place,) for place in places]
        else:
            found.append(tuple(places))
    return found


class Part:
    """Some units of an app, or all of it, in execution on a fresh state."""

    def __init__(self, text: str, parallel: int, places: Sequence[tuple[str, int]]) -> None:
        self.plan: AppPlan = plan_of_deployed(text)
        self._members: list[tuple[Unit, Merger, InProcessExecutor]] = []
        self._whole: InProcessExecutor | None = None
        if not places:
            self._whole = _executor(self.plan)
            return
        units = units_of(fleet_of(self.plan, parallel))
        asking = asking_of(units)
        for unit in units:
            if (unit.group.name, unit.partition) in places:
                self._members.append((unit, Merger(unit, asking), _executor(unit.plan.app)))

    def fold(self, entries: Sequence[EncodedEntry]) -> tuple[list[OutputColumns], int]:
        """What the app gives out of them, and how many events became dead letters."""
        if self._whole is not None:
            return _given(self._whole.run_encoded(entries), self.plan)
        rows: list[OutputColumns] = []
        channels: dict[str, list[Channel]] = {}
        refused = 0
        for unit, merger, executor in self._members:
            upstream = [
                channel
                for feed in unit.group.feeds
                for channel in channels.get(feed.stream, ())
                if channel.unit.group.name in feed.writers
            ]
            merged = merger.merged(entries, upstream)
            result = executor.run_encoded(merged.entries)
            merger.clock_ms = result.clock_ms
            given, faults = _given(result, unit.plan.app)
            refused += faults
            for found in merged.placed([e for e in given if e.stream in unit.group.channels]):
                channels.setdefault(found.stream, []).append(Channel(unit, found))
            names = {*unit.group.exported, *unit.group.stored}
            rows += [one for one in given if one.stream in names]
        return rows, refused

    def snapshot(self) -> bytes:
        """The state of an app that is not cut."""
        assert self._whole is not None
        return self._whole.snapshot()


def _executor(plan: AppPlan) -> InProcessExecutor:
    return InProcessExecutor(plan, observe=Observe.NOTHING, base_bytes=BASE_BYTES)


def _given(result: SliceResult, plan: AppPlan) -> tuple[list[OutputColumns], int]:
    columns = result.columns or in_columns(result.rows, plan.schemas).columns
    faults = sum(len(one.events) for one in result.faults)
    return [one for one in columns if len(one)], faults


@dataclass(frozen=True)
class Folding:
    """A task under way: slices of the archive through a part of an app."""

    task: Task

    @cached_property
    def part(self) -> Part:
        """In the state that it has come to."""
        return Part(self.task.text, self.task.parallel, self.task.units)

    def slices(self) -> Iterator[tuple[list[OutputColumns], Done]]:
        """Rows of each slice, and what was done for them."""
        for sieved, missing in sieved_slices(self.task, self.part.plan):
            rows, refused = self.part.fold(sieved.entries)
            refused += sum(len(one.events) for one in sieved.faults)
            counted, position = sum(map(len, rows)), sieved.entries[-1].position
            yield rows, Done(sieved.events, counted, refused, missing, position)


def sieved_slices(
    task: Task, plan: AppPlan, max_events: int = SLICE_EVENTS
) -> Iterator[tuple[Sieved, int]]:
    """What a task folds, as the processor would take it, and how many events are missing there."""
    place = Place(task.folder, task.options)
    reader = InputReader(place, naming.Logs(task.app, task.since_ms), Pinned(task.pinned))
    sends = SendMemory(task.max_sends)
    for found in reader.slices(Span(task.after, task.up_to), max_events):
        if entries := [one.entry for one in found]:
            missing = sum(one.missing for one in found)
            yield sieve(entries, plan.schemas, sends), missing


def begin(request: bytes) -> Task:
    """A task, with its limits and its places in force in this process."""
    task = from_msgpack(request, Task)
    put_in_force(Limits(*task.limits))
    addresses.put_in_force(task.places)
    return task


def fold_task(request: bytes) -> bytes:
    """Folds a task, and appends its rows to the results as they come; that it may run again, from
    its beginning, changes nothing of these."""
    task = begin(request)
    results = Place(task.results, task.options)
    tables = ResultTables(results, naming.Logs(task.app, task.since_ms), task.name)
    done = Done()
    for rows, one in Folding(task).slices():
        kept = [_behind(each, task.rows_behind) for each in rows]
        counted = sum(map(len, kept))
        done = Done(
            done.events + one.events, done.rows + counted, done.refused + one.refused,
            done.missing + one.missing, one.position,
        )  # fmt: skip
        tables.take(kept, one.position)
    tables.flush()
    return msgspec.msgpack.encode(done)


def _behind(rows: OutputColumns, position: int) -> OutputColumns:
    first = int(rows.positions.searchsorted(position, side="right"))
    return rows.part(first, len(rows)) if first else rows
