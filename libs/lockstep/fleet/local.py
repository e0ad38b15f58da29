"""FleetExecutor: all units of an app in one process, as one executor of the whole app."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from lockstep.events import LogEntry, OutputId, OutputRow, Position, WriteRecord
from lockstep.events.codec import EncodedEntry
from lockstep.events.outputs import (
    OutputColumns,
    RowsOfColumns,
    firsts_within,
    in_columns,
    numbers_within,
)
from lockstep.execute.contract import Executor, SliceResult, WriteOutcome, WriteProblem
from lockstep.execute.encoding import encoded
from lockstep.execute.joining import joined_snapshots
from lockstep.fleet.asking import Place, asking_of
from lockstep.fleet.channels import Merger
from lockstep.fleet.gathering import answered_together
from lockstep.fleet.splitting import split_snapshot
from lockstep.fleet.stacking import Channel
from lockstep.fleet.units import Unit, units_of
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.operators.state import Bytes
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan
from lockstep.siddhiql import SiddhiQLError

_VERSION: Final = 1
"""Of what a fleet's snapshot holds."""

MakeExecutor = Callable[[AppPlan], Executor]


@dataclass(frozen=True)
class _Member:
    unit: Unit
    merger: Merger
    executor: Executor


class FleetExecutor:
    """See execute.contract.Executor. `make` gives a fresh executor for the app of a unit.

    Rows have one numbering: by position, then by group and partition, then as each unit brought
    them. A snapshot is of the whole app; it goes on in any number of partitions.
    """

    def __init__(self, fleet: FleetPlan, make: MakeExecutor) -> None:
        self._fleet = fleet
        self._make = make
        self.units = units_of(fleet)
        self._asking = asking_of(self.units)
        self._members = [
            _Member(unit, Merger(unit, self._asking), make(unit.plan.app)) for unit in self.units
        ]

    @property
    def position(self) -> Position:
        return self._members[0].executor.position

    def run_slice(self, entries: Sequence[LogEntry]) -> SliceResult:
        """Encodes and folds entries."""
        return self.run_encoded(encoded(entries, self._fleet.app.checked.streams))

    def run_encoded(self, entries: Sequence[EncodedEntry]) -> SliceResult:
        """Folds entries through all units, each behind those whose streams it reads."""
        channels: dict[str, list[Channel]] = {}
        results: list[tuple[Unit, SliceResult]] = []
        for member in self._members:
            unit = member.unit
            upstream = [
                channel
                for feed in unit.group.feeds
                for channel in channels.get(feed.stream, ())
                if channel.unit.group.name in feed.writers
            ]
            merged = member.merger.merged(entries, upstream)
            result = member.executor.run_encoded(merged.entries)
            member.merger.clock_ms = result.clock_ms
            results.append((unit, result))
            wanted = [each for each in _columns(unit, result) if each.stream in unit.group.channels]
            for rows in merged.placed(wanted):
                channels.setdefault(rows.stream, []).append(Channel(unit, rows))
        return _joined(results, self._refused(entries))

    def _refused(self, entries: Sequence[EncodedEntry]) -> Iterator[WriteOutcome]:
        """Of writes that no unit carries out."""
        for entry in entries:
            record = entry.columns() if entry.is_write else None
            if not isinstance(record, WriteRecord):
                continue
            try:
                self._asking.of(record.text)
            except SiddhiQLError as error:
                problem = WriteProblem(error.message, error.hint, error.line, error.column)
                yield WriteOutcome(entry.position, record.request_id, 0, problem)

    def on_demand(self, text: str) -> list[tuple[Any, ...]]:
        """Asks the units that have what is asked for."""
        asked = self._asking.of(text)
        if not asked.gathered:
            return self._found(text, asked.places)
        rows = {one.table: self._found(one.query, one.places) for one in asked.gathered}
        return answered_together(self._fleet, text, rows)

    def _found(self, text: str, places: Sequence[Place]) -> list[tuple[Any, ...]]:
        """Rows of several partitions behind each other."""
        executors = {
            Place(each.unit.group.name, each.unit.partition): each.executor
            for each in self._members
        }
        return [row for place in places for row in executors[place].on_demand(text)]

    def snapshot(self) -> bytes:
        held: dict[str, list[bytes]] = {}
        for each in self._members:
            held.setdefault(each.unit.group.name, []).append(each.executor.snapshot())
        groups = {
            name: joined_snapshots(snapshots, dict(self._fleet.group(name).tables))
            for name, snapshots in held.items()
        }
        return state.seal(self.position, {"fleet": _VERSION, "groups": groups})

    def restore(self, snapshot: Bytes) -> None:
        _, body = state.unseal(snapshot)
        if not isinstance(body, dict) or body.get("fleet") != _VERSION:
            raise SnapshotError("the snapshot holds no state of a fleet that this release reads")
        for each in self._members:
            held = body["groups"].get(each.unit.group.name)
            if held is None:
                raise SnapshotError(
                    f"the snapshot holds no state of the group {each.unit.group.name}",
                    hint="it is of an app that was cut into other groups",
                )
            each.executor.restore(split_snapshot(held, each.unit))
            each.merger.clock_ms = None

    def close(self) -> None:
        for each in self._members:
            each.executor.close()


def _columns(unit: Unit, result: SliceResult) -> tuple[OutputColumns, ...]:
    """The rows that a unit brought, if others read any."""
    if not unit.group.channels or not len(result.rows):
        return ()
    return result.columns or in_columns(result.rows, unit.plan.app.schemas).columns


def _joined(
    results: Sequence[tuple[Unit, SliceResult]], refused: Iterable[WriteOutcome]
) -> SliceResult:
    _, last = results[-1]
    found = [result for _, result in results]
    rows, columns = _rows(results)
    faults = sorted((each for one in found for each in one.faults), key=attrgetter("position"))
    dues = [each.next_due_ms for each in found if each.next_due_ms is not None]
    writes = _outcomes([*(each for one in found for each in one.writes), *refused])
    return SliceResult(
        last.position, rows, tuple(faults), min(dues, default=None), columns, writes=writes
    )


def _outcomes(found: Iterable[WriteOutcome]) -> tuple[WriteOutcome, ...]:
    """One per write, of all partitions together."""
    whole: dict[Position, WriteOutcome] = {}
    for each in found:
        before = whole.get(each.position)
        if before is not None:
            changed = before.rows_changed + each.rows_changed
            problem = before.problem or each.problem
            each = WriteOutcome(each.position, each.request_id, changed, problem)
        whole[each.position] = each
    return tuple(whole[position] for position in sorted(whole))


def _rows(
    results: Sequence[tuple[Unit, SliceResult]],
) -> tuple[Sequence[OutputRow], tuple[OutputColumns, ...]]:
    """The rows that the whole app gives out, in one numbering."""
    if all(result.columns or not len(result.rows) for _, result in results):
        found = [
            (number, each)
            for number, (unit, result) in enumerate(results)
            for each in _given(unit, result.columns)
            if len(each)
        ]
        columns = _numbered([each for _, each in found], [number for number, _ in found])
        return RowsOfColumns(columns), columns
    brought = [
        (row.id.position, number, row)
        for number, (unit, result) in enumerate(results)
        for row in _given(unit, result.rows)
    ]
    brought.sort(key=lambda each: each[:2])
    rows: list[OutputRow] = []
    ordinal = 0
    for position, _, row in brought:
        ordinal = ordinal + 1 if rows and rows[-1].id.position == position else 0
        rows.append(OutputRow(OutputId(position, ordinal), *_rest(row)))
    return tuple(rows), ()


def _given(unit: Unit, rows: Iterable[Any]) -> Iterable[Any]:
    names = {*unit.group.exported, *unit.group.stored}
    return (row for row in rows if row.stream in names)


def _rest(row: OutputRow) -> tuple[Any, ...]:
    return row.stream, row.timestamp_ms, row.data, row.operation


def _numbered(columns: Sequence[OutputColumns], units: Sequence[int]) -> tuple[OutputColumns, ...]:
    """The same rows with the ordinals that they have together; `units`: whose each of them is."""
    if not columns:
        return ()
    if len({*units}) == len(units):
        return _in_turn(columns)
    positions = np.concatenate([each.positions for each in columns])
    owners = np.repeat(units, [len(each) for each in columns])
    ordinals = np.concatenate([each.ordinals for each in columns])
    order = np.lexsort((ordinals, owners, positions))
    together = np.empty(len(order), np.int64)
    together[order] = numbers_within(positions[order])
    ends = np.cumsum([len(each) for each in columns])[:-1]
    return _with_ordinals(columns, np.split(together, ends))


def _in_turn(columns: Sequence[OutputColumns]) -> tuple[OutputColumns, ...]:
    """Of units each of which has its rows in order: at a position those of the first stand first,
    and so on."""
    found = [each.positions[firsts_within(each.positions)] for each in columns]
    positions = np.unique(np.concatenate(found))
    taken, ordinals = np.zeros(len(positions), np.int64), []
    for each in columns:
        starts = np.searchsorted(each.positions, positions)
        counts = np.searchsorted(each.positions, positions, "right") - starts
        ordinals.append(np.arange(len(each)) - np.repeat(starts - taken, counts))
        taken += counts
    return _with_ordinals(columns, ordinals)


def _with_ordinals(
    columns: Sequence[OutputColumns], ordinals: Sequence[npt.NDArray[np.int64]]
) -> tuple[OutputColumns, ...]:
    return tuple(
        replace(each, ordinals=own, places=None)
        for each, own in zip(columns, ordinals, strict=True)
    )
