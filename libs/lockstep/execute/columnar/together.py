"""Records that are read together: of single events, each with a time of its own, as nearly all are.

Some of them hold few events, so what is done for a record costs more than what is done for its
events. Who has time before they are folded can read them ahead (`put_together`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pyarrow as pa

from lockstep.columns.column import Longs, Mask
from lockstep.events import StreamSchema
from lockstep.events.codec import CodecError, EncodedEntry, EventsHeader

_TIMES_ALONE: Final = ("timestamp",)


@dataclass(frozen=True, eq=False)
class Together:
    """Plain records, one behind the other.

    Of each: `positions`, how many `rows` it has, its `clocks_ms`, whether its events are `heard` by
    the clock of playback, and `streams`, the number of its stream among `batches`. Those have, by
    stream, the events of all its records: the attributes in their exact types, then the times.
    """

    positions: Longs
    rows: Longs
    clocks_ms: Longs
    heard: Mask
    streams: Longs
    batches: Mapping[str, Sequence[pa.RecordBatch]]

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(slots=True)
class Gathered:
    """Plain records that are to be read together."""

    positions: list[int] = field(default_factory=list)
    headers: list[EventsHeader] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)

    def add(self, entry: EncodedEntry, header: EventsHeader) -> None:
        """One that is plain. CodecError."""
        self.positions.append(entry.position)
        self.headers.append(header)
        self.batches.append(entry.batch())

    def together(self) -> Together:
        """All of them, which are some."""
        numbers: dict[str, int] = {}
        streams = [numbers.setdefault(header.stream, len(numbers)) for header in self.headers]
        batches: dict[str, list[pa.RecordBatch]] = {stream: [] for stream in numbers}
        for header, batch in zip(self.headers, self.batches, strict=True):
            batches[header.stream].append(batch)
        return Together(
            np.array(self.positions, np.int64),
            np.array([header.batch.rows for header in self.headers], np.int64),
            np.array([header.clock_ms for header in self.headers], np.int64),
            np.array([header.has_timestamps for header in self.headers], np.bool_),
            np.array(streams, np.int64),
            batches,
        )


def plain_header(entry: EncodedEntry, schemas: Mapping[str, StreamSchema]) -> EventsHeader | None:
    """The header of an entry that is plain: its events have the exact types of their stream, each
    in a chunk of its own and with its own time. Whatever this does is done for every record. An
    entry without bytes has no header, and to write them only for that costs more than it saves.
    CodecError."""
    if entry.is_made:
        return None
    header = entry.header
    if not isinstance(header, EventsHeader) or header.chunks != 1:
        return None
    part, schema = header.batch, schemas.get(header.stream)
    if schema is None or part.codes != schema.codes:
        return None
    return header if part.extras == _TIMES_ALONE and part.rows else None


def put_together(
    entries: Sequence[EncodedEntry], schemas: Mapping[str, StreamSchema]
) -> Together | None:
    """Entries that are plain, one batch for each stream; None where one is not (or is damaged: who
    folds it says so), or where records of a stream differ in how they name their columns."""
    if not entries:
        return None
    gathered = Gathered()
    try:
        for entry in entries:
            header = plain_header(entry, schemas)
            if header is None:
                return None
            gathered.add(entry, header)
    except CodecError:
        return None
    found = gathered.together()
    joined: dict[str, list[pa.RecordBatch]] = {}
    for stream, batches in found.batches.items():
        if any(batch.schema != batches[0].schema for batch in batches[1:]):
            return None
        joined[stream] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return replace(found, batches=joined)
