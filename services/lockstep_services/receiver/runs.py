"""What a request brings, stream by stream in order: runs of chunks, as rows or as Arrow batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

import msgspec

from lockstep.events import StreamSchema
from lockstep_services.receiver.decode import Chunk
from lockstep_services.receiver.drafts import ColumnsDraft
from lockstep_services.receiver.values import RawEvent


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive chunks of one stream; `size_bytes` is about what they take in a record."""

    schema: StreamSchema
    chunks: Sequence[Chunk]
    size_bytes: int

    @property
    def stream(self) -> str:
        """Its name."""
        return self.schema.name

    @property
    def has_timestamps(self) -> bool:
        """At least one event brought a timestamp of its own."""
        return any(event.timestamp_ms is not None for chunk in self.chunks for event in chunk)

    @property
    def events(self) -> int:
        """How many."""
        return sum(len(chunk) for chunk in self.chunks)

    @property
    def chunk_count(self) -> int:
        """How many."""
        return len(self.chunks)

    def behind(self, chunks: int) -> Run:
        """The same without so many of the first chunks, at least one and not all."""
        left = self.chunks[chunks:]
        share = sum(map(len, left)) / max(1, self.events)
        return replace(self, chunks=left, size_bytes=int(self.size_bytes * share))


@dataclass(frozen=True, slots=True)
class BatchRun:
    """Arrow batches of one stream; each is a record of its own."""

    schema: StreamSchema
    batches: Sequence[ColumnsDraft]

    @property
    def stream(self) -> str:
        """Its name."""
        return self.schema.name

    @property
    def size_bytes(self) -> int:
        """About what they take in records."""
        return sum(one.size_bytes for one in self.batches)

    @property
    def events(self) -> int:
        """How many."""
        return sum(int(one.batch.num_rows) for one in self.batches)

    @property
    def chunk_count(self) -> int:
        """How many."""
        return sum(one.chunk_count for one in self.batches)

    def behind(self, chunks: int) -> BatchRun:
        """The same without so many of the first chunks, at least one and not all."""
        return BatchRun(self.schema, list(behind(self.batches, chunks)))


AnyRun = Run | BatchRun


class _Chunks(Protocol):
    @property
    def chunk_count(self) -> int: ...

    def behind(self, chunks: int) -> Self: ...


Some = TypeVar("Some", bound=_Chunks)


def behind(parts: Sequence[Some], chunks: int) -> Iterator[Some]:
    """Runs, or the batches of one, without so many of the first chunks."""
    for part in parts:
        if not chunks:
            yield part
        elif chunks < part.chunk_count:
            yield part.behind(chunks)
            chunks = 0
        else:
            chunks -= part.chunk_count


def stamped(run: Run, timestamp_ms: int | None) -> Run:
    """The sender's time given to events that have none of their own."""
    if timestamp_ms is None:
        return run
    chunks = [
        tuple(
            event
            if event.timestamp_ms is not None
            else RawEvent(event.data, timestamp_ms, event.event_id)
            for event in chunk
        )
        for chunk in run.chunks
    ]
    return replace(run, chunks=chunks)


def own_ids(runs: Sequence[AnyRun]) -> str | None:
    """A key from the events' ids when every event has one: the same events give the same key."""
    ids: list[Any] = []
    for run in runs:
        if isinstance(run, Run):
            ids += (event.event_id for chunk in run.chunks for event in chunk)
            continue
        for batch in run.batches:
            if batch.event_ids is None:
                return None
            ids += batch.event_ids.to_pylist()
    if not ids or None in ids:
        return None
    if len(ids) == 1:
        return f"{runs[0].stream}/{ids[0]}"
    return hashlib.sha256(msgspec.json.encode([runs[0].stream, *ids])).hexdigest()
