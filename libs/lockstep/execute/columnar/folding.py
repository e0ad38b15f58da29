"""One slice through an app's units: each for the whole slice at once, behind those whose streams it
reads, or in rounds where they feed each other; then the outputs, numbered in the order of the
reference's run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.clock import stopwatch_ns
from lockstep.columns.chunks import Chunks, lengths_of, offsets_of, spread
from lockstep.columns.column import Suspected
from lockstep.columns.merging import merge, merged
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.pool import StringPool
from lockstep.columns.units import Started, Unit
from lockstep.events.columns import arrow_schema
from lockstep.events.outputs import OutputColumns, Places, numbers_within
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.observing import Observer
from lockstep.execute.columnar.rounds import MAX_ROUNDS, Circle, GoesOn, grouped
from lockstep.execute.columnar.slices import Slice
from lockstep.execute.work import Work
from lockstep.operators.limits import limits
from lockstep.plan import AppPlan


@dataclass(frozen=True, slots=True)
class Exported:
    """Rows that come out, and where the chunks they came in (of `lengths` rows) stand in the
    slice."""

    columns: OutputColumns
    order: Order
    lengths: npt.NDArray[np.int64]


class Folding:
    """An app's units in an order in which each stands behind those that write what it reads.

    `shares`: the streams of which this is a share of an app; all others, and what the log brings,
    are somebody else's. None: it is the whole app, or the share that has all else.
    """

    def __init__(
        self,
        plan: AppPlan,
        units: Sequence[Unit | HostedQueries],
        observer: Observer | None,
        shares: frozenset[str] | None = None,
    ) -> None:
        self._plan = plan
        self._shares = shares
        exported = (*plan.exported, *plan.stored)
        self._exports = [name for name in exported if shares is None or name in shares]
        self._channels = frozenset(plan.channels)
        self._observer = observer
        self.parts = units
        self.work = Work()
        self._units = [unit for unit in units if not isinstance(unit, HostedQueries)]
        self._hosted = [unit for unit in units if isinstance(unit, HostedQueries)]
        # To find that out takes longer than most of what a small slice does.
        self._started = {unit.name: unit for unit in self._units if isinstance(unit, Started)}
        self._groups = grouped(units)
        self._circling = {
            name for hosted in self._hosted for name in hosted.writes if name in hosted.reads
        }.union(*(group.fed for group in self._groups if isinstance(group, Circle)))

    def start(self, clock_ms: int) -> None:
        for part in self.parts:
            if isinstance(part, HostedQueries | Started):
                part.start(clock_ms)

    def run(self, found: Slice) -> list[Exported]:
        """The rows of exported streams and stored tables."""
        streams = _Streams(found, self._shares or frozenset())
        outputs: dict[str, list[Output]] = {}
        for part in self._groups:
            if isinstance(part, Circle):
                self._run_circle(part, streams, found, outputs)
            elif isinstance(part, HostedQueries):
                began_ns = stopwatch_ns()
                _run_hosted(part, streams, found)
                self.work.rows.update(part.take_rows())
                self.work.took(part.name, stopwatch_ns() - began_ns)
            else:
                inputs = self._arranged(streams.whole(part.reads), part.place)
                if inputs or self._is_due(part, found):
                    outputs[part.name] = [self._run_unit(part, inputs, streams, found)]
        if self._observer is not None:
            self._observe(self._observer, found, outputs)
        return self._exported(streams.whole(self._exports), streams.operations, found)

    def _is_due(self, unit: Unit, found: Slice) -> bool:
        """Something comes of it in the slice though it gets no rows."""
        due_ms = unit.due_ms()
        if due_ms is not None and due_ms <= found.moves.last:
            return True
        started = self._started.get(unit.name)
        wall_ms = None if started is None else started.wall_due_ms()
        return wall_ms is not None and wall_ms <= found.walls.last

    def _run_unit(
        self, unit: Unit, inputs: Mapping[str, Chunks], streams: _Streams, found: Slice
    ) -> Output:
        began_ns = stopwatch_ns()
        output = unit.run(inputs, found.moves)
        streams.add(unit.writes, output)
        self.work.rows[unit.name] += len(output.chunks)
        self.work.took(unit.name, stopwatch_ns() - began_ns)
        return output

    def _run_circle(
        self, circle: Circle, streams: _Streams, found: Slice, outputs: dict[str, list[Output]]
    ) -> None:
        """Round by round, until nothing comes of what the last one brought. GoesOn where that does
        not end soon."""
        fresh = streams.whole([unit.reads[0] for unit in circle.units])
        for _ in range(MAX_ROUNDS):
            brought: dict[str, list[Chunks]] = {}
            for unit in circle.units:
                source = unit.reads[0]
                if source not in fresh:
                    continue
                inputs = self._arranged({source: fresh[source]}, unit.place)
                output = self._run_unit(unit, inputs, streams, found)
                outputs.setdefault(unit.name, []).append(output)
                if output.chunks.count and unit.writes in circle.fed:
                    brought.setdefault(unit.writes, []).append(output.chunks)
            if not brought:
                return
            fresh = {name: merge(parts) for name, parts in brought.items()}
        raise GoesOn("a stream that feeds itself many times")

    def _arranged(self, inputs: dict[str, Chunks], place: int) -> dict[str, Chunks]:
        """The inputs as a unit gets them: of a stream that feeds itself, a chunk stands in front of
        what came of it for those receivers that are asked before the one that feeds it."""
        for name in self._circling.intersection(inputs):
            arranged = merged([inputs[name].order.below(place)])
            inputs[name] = inputs[name].arranged(arranged)
        return inputs

    def _observe(
        self, observer: Observer, found: Slice, outputs: Mapping[str, Sequence[Output]]
    ) -> None:
        observed = [seen for hosted in self._hosted for seen in hosted.take_observed()]
        checked = self._plan.checked
        known = {*checked.streams, *checked.windows}
        observer.slice(found.streams, self._units, outputs, observed, known)

    def _exported(
        self, streams: dict[str, Chunks], operations: Mapping[str, Any], found: Slice
    ) -> list[Exported]:
        """The rows, numbered in their common order."""
        names = [name for name, chunks in streams.items() if len(chunks)]
        if not names:
            return []
        chunks = [streams[name] for name in names]
        owner = np.repeat(np.arange(len(chunks)), [each.count for each in chunks])
        lengths, moments = lengths_of(chunks[0].starts), chunks[0].order.moments
        arranged = None
        if len(chunks) > 1:
            lengths = np.concatenate([lengths_of(each.starts) for each in chunks])
            moments = np.concatenate([each.order.moments for each in chunks])
            arranged = merged([each.order for each in chunks])
        of_chunks = found.positions_at(moments)
        ordinals, positions = identities(of_chunks, lengths, arranged)
        channels = np.array([name in self._channels for name in names], np.bool_)
        chunk_numbers = numbered(of_chunks, channels[owner], arranged) if channels.any() else None
        exported = []
        for i, (name, each) in enumerate(zip(names, chunks, strict=True)):
            own = np.repeat(owner, lengths) == i if len(chunks) > 1 else slice(None)
            schema = self._plan.checked.schemas[name]
            arrays = [column.to_arrow() for column in each.columns]
            batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(schema))
            ids = positions[own], ordinals[own], np.asarray(each.times)
            places = None
            if chunk_numbers is not None and channels[i]:
                places = _places(each, found, chunk_numbers[owner == i])
            columns = OutputColumns(name, *ids, batch, operations.get(name), places)
            exported.append(Exported(columns, each.order, lengths_of(each.starts)))
        return exported

    def settle(self, pool: StringPool) -> None:
        for part in self.parts:
            part.settle()
        if pool.is_due:
            arrays = [values for part in self.parts for values in part.text_columns()]
            moved = pool.collect(arrays)
            for values in arrays:
                values[:] = moved[values]

    def due_ms(self, *, is_playback: bool) -> int | None:
        """The wall time at which a tick is due."""
        due = [hosted.next_due_ms() for hosted in self._hosted]
        due += [unit.wall_due_ms() for unit in self._started.values()]
        if not is_playback:
            due += [unit.due_ms() for unit in self._units]
        return min((each for each in due if each is not None), default=None)


class _Streams:
    """What a slice has brought so far, by stream (or table)."""

    def __init__(self, found: Slice, without: frozenset[str]) -> None:
        self._found = found
        self._parts = {name: [own] for name, own in found.streams.items() if name not in without}
        for name in self._parts:
            self._weigh(name)
        self._whole: dict[str, Chunks] = {}
        self.operations: dict[str, Any] = {}

    def add(self, name: str, output: Output) -> None:
        """What a part wrote."""
        if output.chunks.count:
            self._parts.setdefault(name, []).append(output.chunks)
            self._whole.pop(name, None)
            self._weigh(name)
        if output.operations is not None:
            self.operations[name] = output.operations

    def _weigh(self, name: str) -> None:
        """Suspected, if one moment may have brought more rows to a stream than it may."""
        parts = self._parts[name]
        if sum(map(len, parts)) <= limits().event_rows:
            return
        every = np.concatenate([each.order.moments for each in parts])
        moments, number = np.unique(every, return_inverse=True)
        lengths = np.concatenate([lengths_of(each.starts) for each in parts])
        rows = np.bincount(number, weights=lengths)
        if (rows > self._found.moves.most_rows(moments)).any():
            raise Suspected(f"many rows of one event in {name}")

    def whole(self, names: Sequence[str]) -> dict[str, Chunks]:
        """Those of the names that something came on, in the order in which it arrives."""
        for name in names:
            if name in self._parts and name not in self._whole:
                self._whole[name] = merge(self._parts[name])
        return {name: self._whole[name] for name in names if name in self._whole}


def _run_hosted(hosted: HostedQueries, streams: _Streams, found: Slice) -> None:
    inputs = streams.whole(hosted.reads)
    if inputs or hosted.is_due(found):
        for name, output in hosted.run(inputs, found).items():
            streams.add(name, output)


def identities(chunk_positions: Any, lengths: Any, arranged: Any) -> tuple[Any, Any]:
    """(ordinal, position) of every row of chunks, one behind the other; `arranged` brings the
    chunks in their common order (None: they stand in it)."""
    if arranged is None:
        arranged = slice(None)
    positions = chunk_positions[arranged]
    if not (lengths == 1).all():
        positions = np.repeat(positions, lengths[arranged])
    count = len(positions)
    ordinals = numbers_within(positions)
    if isinstance(arranged, slice):
        return ordinals, positions
    # Back from the common order to the streams' own.
    index, _ = spread(offsets_of(lengths), arranged)
    own_ordinals = np.empty(count, np.int64)
    own_positions = np.empty(count, np.int64)
    own_ordinals[index], own_positions[index] = ordinals, positions
    return own_ordinals, own_positions


def numbered(chunk_positions: Any, counted: Any, arranged: Any) -> Any:
    """The number within its position of each chunk, among those that are `counted`; 0 of others."""
    numbers = np.zeros(len(counted), np.int64)
    numbers[counted], _ = identities(chunk_positions, counted.astype(np.int64), arranged)
    return numbers


def _places(chunks: Chunks, found: Slice, numbers: Any) -> Places:
    per_chunk = found.within(chunks.order.moments), chunks.now, numbers
    return Places(*map(chunks.per_event, per_chunk))
