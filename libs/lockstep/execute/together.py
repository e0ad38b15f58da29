"""Records that are read together: of single events without ids, as nearly all are.

Some of them hold few events, so what is done for a record costs more than what is done for its
events. Who has time before they are folded can read them ahead (`put_together`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from lockstep.columns.column import Longs, Mask
from lockstep.events import StreamSchema
from lockstep.events.codec import CodecError, EncodedEntry, EventsHeader
from lockstep.events.columns import column_of
from lockstep.events.envelope import TickHeader
from lockstep.execute.turns import Turns

_TIMES: Final = "@timestamp"
"""The name of their column among those of the values, as records have it."""

_TIMES_ALONE: Final = (("timestamp",), ())
"""What plain events have besides their values: one time for all stands in the header."""


@dataclass(frozen=True, eq=False)
class Together:
    """Plain records, one behind the other, and ticks, which have no rows.

    Of each: `positions`, how many `rows` it has, its `clocks_ms`, whether its events are `heard` by
    the clock of playback, and `streams`, the number of its stream among `batches` (of one without
    rows it says nothing). Those have, by stream, the events of all its records: the attributes in
    their exact types, then the times. `turns`: then these are the deliveries, of any streams, and
    move the clock; `streams` says nothing.
    """

    positions: Longs
    rows: Longs
    clocks_ms: Longs
    heard: Mask
    streams: Longs
    batches: Mapping[str, Sequence[pa.RecordBatch]]
    turns: Turns | None = None

    @cached_property
    def bounds(self) -> list[int]:
        """Where the events of each stream begin if those of one lie behind those of another, and
        the end."""
        counts = [sum(each.num_rows for each in some) for some in self.batches.values()]
        return [0, *itertools.accumulate(counts)]

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(slots=True)
class Gathered:
    """Plain records and ticks that are to be read together."""

    positions: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    clocks_ms: list[int] = field(default_factory=list)
    heard: list[bool] = field(default_factory=list)
    streams: list[str | None] = field(default_factory=list)
    batches: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)

    def add(self, entry: EncodedEntry, header: EventsHeader) -> None:
        """One that is plain. CodecError."""
        batch, part = entry.batch(), header.batch
        if not part.extras:
            batch = with_times(batch, np.full(part.rows, header.constant_ms, np.int64))
        self.batches.setdefault(header.stream, []).append(batch)
        self._add(entry, header.clock_ms, header.batch.rows, header.has_timestamps, header.stream)

    def add_tick(self, entry: EncodedEntry, header: TickHeader) -> None:
        """One that says the time alone."""
        self._add(entry, header.clock_ms, 0, False, None)

    def _add(
        self, entry: EncodedEntry, clock_ms: int, rows: int, is_heard: bool, stream: str | None
    ) -> None:
        self.positions.append(entry.position)
        self.clocks_ms.append(clock_ms)
        self.rows.append(rows)
        self.heard.append(is_heard)
        self.streams.append(stream)

    def together(self) -> Together:
        """All of them, which are some."""
        numbers: dict[str | None, int] = {name: number for number, name in enumerate(self.batches)}
        return Together(
            np.array(self.positions, np.int64),
            np.array(self.rows, np.int64),
            np.array(self.clocks_ms, np.int64),
            np.array(self.heard, np.bool_),
            np.array([numbers.get(name, 0) for name in self.streams], np.int64),
            self.batches,
        )


def plain_header(entry: EncodedEntry, schemas: Mapping[str, StreamSchema]) -> EventsHeader | None:
    """The header of an entry that is plain: its events have the exact types of their stream, each
    in a chunk of its own, and have nothing but values and times. Whatever this does is done for
    every record. An entry without bytes has no header, and to write them only for that costs more
    than it saves. CodecError."""
    if entry.is_made:
        return None
    header = entry.header
    if not isinstance(header, EventsHeader) or header.chunks != 1:
        return None
    part, schema = header.batch, schemas.get(header.stream)
    if schema is None or part.codes != schema.codes:
        return None
    is_plain = part.extras in _TIMES_ALONE and part.rows and (part.extras or part.codes)
    return header if is_plain else None


def put_together(
    entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]
) -> Together | None:
    """Entries that are plain or ticks, one batch for each stream; None where one is neither (or is
    damaged: who folds it says so), or where records of a stream differ in how they name their
    columns."""
    gathered = Gathered()
    try:
        headers = _headers(entries, schemas)
        for entry, header in zip(entries, headers, strict=False):
            if isinstance(header, TickHeader):
                gathered.add_tick(entry, header)
            else:
                gathered.add(entry, header)
    except CodecError:
        return None
    if not headers:
        return None
    found = gathered.together()
    joined: dict[str, list[pa.RecordBatch]] = {}
    for stream, batches in found.batches.items():
        if any(batch.schema != batches[0].schema for batch in batches[1:]):
            return None
        joined[stream] = [joined_batch(batches)]
    return replace(found, batches=joined)


def _headers(
    entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]
) -> Sequence[EventsHeader | TickHeader]:
    """Of entries that are plain or ticks; none where one is neither: so no events are read in
    vain. CodecError."""
    found: list[EventsHeader | TickHeader] = []
    for entry in entries:
        header = plain_header(entry, schemas)
        if header is not None:
            found.append(header)
        elif not entry.is_made and isinstance(entry.header, TickHeader):
            found.append(entry.header)
        else:
            return ()
    return found


def joined_batch(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Batches of one schema, with rows, as one."""
    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


def with_times(batch: pa.RecordBatch, times: Longs) -> pa.RecordBatch:
    """Values of events, and their times."""
    return batch.append_column(_TIMES, column_of(times))


def begins_of(streams: Longs, rows: Longs) -> Longs:
    """Where the events of each record begin, if those of a stream lie together."""
    arranged = np.argsort(streams, kind="stable")
    ends = np.cumsum(rows[arranged])
    begins = np.empty_like(rows)
    begins[arranged] = ends - rows[arranged]
    return begins
