"""Records to be: events of one stream that go into one record, as rows or as an Arrow batch.

A draft becomes bytes with the clock of its append; in halves, cut between chunks, if too large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa

from lockstep.events import EventsRecord, InputEvent, StreamSchema
from lockstep.events.codec import Index, encode_batch, encode_record
from lockstep.events.columns import ChunkLengths
from lockstep_services.receiver.decode import Chunk


class Draft(Protocol):
    """What one record will hold."""

    @property
    def event_count(self) -> int:
        """How many events."""

    @property
    def chunk_count(self) -> int:
        """How many chunks."""

    def encoded(
        self, clock_ms: int, send_id: bytes = b"", trace: str = "", index: Index | None = None
    ) -> bytes:
        """The record; events without a time of their own get the clock's. `index`: see the
        codec."""

    def halves(self) -> tuple[Draft, Draft] | None:
        """Two drafts with the same chunks; None when there is one chunk only."""


class ColumnsDraft(Draft, Protocol):
    """Events in columns, which may be too many for one record."""

    @property
    def batch(self) -> pa.RecordBatch:
        """The events."""

    @property
    def chunk_lengths(self) -> Sequence[int] | ChunkLengths:
        """How they were sent together."""

    @property
    def event_ids(self) -> pa.Array | None:
        """Those that their senders gave."""

    @property
    def size_bytes(self) -> int:
        """About what the events take in records, with their times and ids."""

    def behind(self, chunks: int) -> ColumnsDraft:
        """The same without so many of the first chunks, at least one and not all."""

    def cut(self, max_bytes: int, max_events: int) -> Iterator[Draft]:
        """In halves until each is within the limits; a chunk stays whole."""


@dataclass(frozen=True, slots=True)
class RowsDraft:
    """Chunks of decoded events. `send_ids`: of each chunk, where several sends share the record."""

    schema: StreamSchema
    chunks: Sequence[Chunk]
    send_ids: Sequence[bytes] = ()

    @property
    def event_count(self) -> int:
        return sum(map(len, self.chunks))

    @property
    def chunk_count(self) -> int:
        return len(self.chunks)

    def encoded(
        self, clock_ms: int, send_id: bytes = b"", trace: str = "", index: Index | None = None
    ) -> bytes:
        stamped = any(event.timestamp_ms is not None for chunk in self.chunks for event in chunk)
        ready = tuple(
            tuple(
                InputEvent(
                    clock_ms if event.timestamp_ms is None else event.timestamp_ms,
                    event.data,
                    event.event_id,
                )
                for event in chunk
            )
            for chunk in self.chunks
        )
        record = EventsRecord(self.schema.name, clock_ms, ready, stamped)
        return encode_record(
            record,
            {self.schema.name: self.schema},
            send_id=send_id or b"".join(self.send_ids),
            trace=trace,
            index=index,
        )

    def halves(self) -> tuple[Draft, Draft] | None:
        if len(self.chunks) < 2:
            return None
        middle = len(self.chunks) // 2
        return self._part(slice(middle)), self._part(slice(middle, None))

    def _part(self, which: slice) -> RowsDraft:
        return RowsDraft(self.schema, self.chunks[which], self.send_ids[which])


@dataclass(frozen=True, slots=True)
class BatchDraft:
    """An Arrow batch with the schema's columns; `timestamps_ms` int64, maybe with nulls."""

    schema: StreamSchema
    batch: pa.RecordBatch
    chunk_lengths: Sequence[int] | ChunkLengths
    timestamps_ms: pa.Array | None = None
    event_ids: pa.Array | None = None

    @property
    def event_count(self) -> int:
        return int(self.batch.num_rows)

    @property
    def chunk_count(self) -> int:
        return len(self.chunk_lengths)

    @property
    def size_bytes(self) -> int:
        given = (self.batch, self.timestamps_ms, self.event_ids)
        return sum(int(each.nbytes) for each in given if each is not None)

    def encoded(
        self, clock_ms: int, send_id: bytes = b"", trace: str = "", index: Index | None = None
    ) -> bytes:
        stamps = self.timestamps_ms
        if stamps is not None and stamps.null_count:
            stamps = stamps.fill_null(clock_ms)
        return encode_batch(
            self.schema,
            self.batch,
            np.asarray(self.chunk_lengths, dtype=np.int32),
            clock_ms,
            timestamps_ms=stamps,
            event_ids=self.event_ids,
            send_id=send_id,
            trace=trace,
            index=index,
        )

    def halves(self) -> tuple[BatchDraft, BatchDraft] | None:
        if len(self.chunk_lengths) < 2:
            return None
        middle = len(self.chunk_lengths) // 2
        rows = int(np.sum(self.chunk_lengths[:middle]))
        return self._part(0, rows, self.chunk_lengths[:middle]), self.behind(middle)

    def behind(self, chunks: int) -> BatchDraft:
        rows = int(np.sum(self.chunk_lengths[:chunks]))
        return self._part(rows, self.batch.num_rows - rows, self.chunk_lengths[chunks:])

    def cut(self, max_bytes: int, max_events: int) -> Iterator[BatchDraft]:
        """In halves until each is within the limits; a chunk stays whole."""
        over = self.batch.nbytes > max_bytes or self.batch.num_rows > max_events
        halves = self.halves() if over else None
        if halves is None:
            yield self
            return
        for half in halves:
            yield from half.cut(max_bytes, max_events)

    def _part(self, start: int, count: int, lengths: Sequence[int] | ChunkLengths) -> BatchDraft:
        stamps, ids = self.timestamps_ms, self.event_ids
        return BatchDraft(
            self.schema,
            self.batch.slice(start, count),
            lengths,
            None if stamps is None else stamps.slice(start, count),
            None if ids is None else ids.slice(start, count),
        )
