"""What others brought of a stream, one below the other: whoever reads it takes its own rows of all
of them at once. Units of one process that read the same rows share it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import offsets_of
from lockstep.columns.column import Longs, Mask
from lockstep.events import StreamSchema
from lockstep.events.columns import (
    ChunkLengths,
    EventColumns,
    arrow_schema,
    column_of,
    singles,
)
from lockstep.events.outputs import OutputColumns, Places
from lockstep.execute.together import joined_batch, with_times
from lockstep.fleet.pooling import Pooled
from lockstep.fleet.units import Unit

_CHUNKS_MAX: Final = 1 << 24


@dataclass(frozen=True, eq=False)
class Channel:
    """Rows of one stream that a unit brought; their places are moments of the input log's
    records."""

    unit: Unit
    rows: OutputColumns

    @cached_property
    def events(self) -> EventColumns:
        """The rows as events, the same ones for all units that read them: those find the keys
        once."""
        return events_of(self.rows, singles(len(self.rows)))

    @cached_property
    def chunks(self) -> Longs:
        """A number for the chunk of each row."""
        rows = self.rows
        assert rows.places is not None, rows.stream
        # A position has fewer chunks than this, or they would not fit into memory.
        return rows.positions * _CHUNKS_MAX + rows.places.chunks

    @cached_property
    def begins(self) -> Mask:
        """Which rows begin one."""
        found: Mask = np.diff(self.chunks, prepend=-1) != 0
        return found

    @cached_property
    def is_single(self) -> bool:
        """Whether each row is a chunk of its own."""
        return bool(self.begins.all())


@dataclass(frozen=True, eq=False)
class Stack:
    """Rows of one stream, each a chunk of its own. `batch`: their values in the exact types of the
    stream, and their times. `units` brought them, each the `rows` beside it."""

    units: Sequence[Unit]
    rows: Sequence[OutputColumns]
    batch: pa.RecordBatch

    @property
    def stream(self) -> str:
        """Whose they are."""
        return self.rows[0].stream

    @cached_property
    def starts(self) -> Longs:
        """Where those of each unit begin, and the end."""
        return offsets_of(np.array([len(each) for each in self.rows], np.int64))

    @cached_property
    def events(self) -> EventColumns:
        """The rows as events, whose keys are found once."""
        last = self.batch.num_columns - 1
        return EventColumns(
            self.stream, 0, False, self.batch.select(range(last)), singles(self.batch.num_rows), 0,
            self.batch.column(last),
        )  # fmt: skip

    @cached_property
    def times(self) -> Longs:
        """Their own."""
        return np.concatenate([each.timestamps_ms for each in self.rows])

    @cached_property
    def ordinals(self) -> Longs:
        """Their numbers at the position at which their unit brought them."""
        return np.concatenate([each.ordinals for each in self.rows])

    @cached_property
    def clocks(self) -> Longs:
        """In force in front of each."""
        return np.concatenate([places.clocks for places in self._places])

    @cached_property
    def _moments(self) -> Longs:
        return np.concatenate([places.moments for places in self._places])

    @property
    def _places(self) -> Sequence[Places]:
        return [each.places for each in self.rows if each.places is not None]

    @cached_property
    def is_timed(self) -> bool:
        """Whether timers brought some of them."""
        return not (self._moments & 1).all()

    def standing(self, pool: Pooled) -> Longs | None:
        """Their moments, counted on from record to record of a pool; None where some are behind all
        events of their record."""
        known: tuple[Pooled, Longs | None] | None = vars(self).get("_standing")
        if known is None or known[0] is not pool:
            known = vars(self)["_standing"] = (pool, self._found_in(pool))
        return known[1]

    def _found_in(self, pool: Pooled) -> Longs | None:
        of_records = pool.records.positions
        positions = np.concatenate([each.positions for each in self.rows])
        record = np.minimum(np.searchsorted(of_records, positions), len(of_records) - 1)
        if (of_records[record] != positions).any():
            return None
        if (self._moments >= 2 * pool.records.rows[record]).any():
            return None
        found: Longs = 2 * pool.starts[record] + self._moments
        return found


def stacks_of(
    channels: Iterable[Channel], schemas: Mapping[str, StreamSchema]
) -> Sequence[Stack] | None:
    """Of each stream that has rows; None where some were sent together, or are not of the types in
    `schemas`."""
    by_stream: dict[str, list[Channel]] = {}
    for each in channels:
        if len(each.rows):
            by_stream.setdefault(each.rows.stream, []).append(each)
    found = [_stack(each, schemas[stream]) for stream, each in by_stream.items()]
    stacks = [each for each in found if each is not None]
    return stacks if len(stacks) == len(found) else None


def _stack(channels: Sequence[Channel], schema: StreamSchema) -> Stack | None:
    """The first channel keeps it, without the others: in a circle they would stay for long."""
    known: _Known | None = vars(channels[0]).get("_stack")
    if known is None or not known.is_of(channels, schema):
        known = _Known([each.rows for each in channels], schema, _stacked(channels, schema))
        vars(channels[0])["_stack"] = known
    return known.stack


@dataclass(frozen=True)
class _Known:
    rows: Sequence[OutputColumns]
    schema: StreamSchema
    stack: Stack | None

    def is_of(self, channels: Sequence[Channel], schema: StreamSchema) -> bool:
        """Whether these are the same."""
        return (
            len(channels) == len(self.rows)
            and all(one.rows is rows for one, rows in zip(channels, self.rows, strict=True))
            and (schema is self.schema or schema == self.schema)
        )


def _stacked(channels: Sequence[Channel], schema: StreamSchema) -> Stack | None:
    wanted, batches = arrow_schema(schema), []
    for each in channels:
        columns = each.rows.batch.columns
        if not each.is_single or [column.type for column in columns] != wanted.types:
            return None
        batch = pa.RecordBatch.from_arrays(columns, schema=wanted)
        batches.append(with_times(batch, each.rows.timestamps_ms))
    units, rows = [each.unit for each in channels], [each.rows for each in channels]
    return Stack(units, rows, joined_batch(batches))


def events_of(rows: OutputColumns, lengths: ChunkLengths) -> EventColumns:
    """Rows as events: those do not move the clock, which their place tells."""
    times = column_of(rows.timestamps_ms)
    return EventColumns(rows.stream, 0, False, rows.batch, lengths, 0, times)
