"""A slice of the input log as streams of chunks, with the clock at each of them (semantics 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Unfit, concat, from_arrow
from lockstep.columns.frame import Times
from lockstep.columns.moves import Clock, Moves
from lockstep.columns.order import Order
from lockstep.events import AttributeType, Position, StreamSchema
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import EventColumns
from lockstep.execute.reference.deduplication import SeenIds


@dataclass(frozen=True, eq=False)
class Slice:
    """What came in: the chunks of each stream, the moves of the app clock and of the wall clock (in
    a live app they are one), and which positions are where."""

    streams: dict[str, Chunks]
    moves: Moves
    walls: Moves
    position: Position
    firsts: Longs
    positions: Longs

    def positions_at(self, moments: Longs) -> Longs:
        """The log positions of moments."""
        found = np.searchsorted(self.firsts, moments, side="right") - 1
        # What the app's start brings belongs to the first position.
        return self.positions[np.maximum(found, 0)]


@dataclass(slots=True)
class _Part:
    """A record's events on the way into its stream."""

    columns: tuple[Column, ...]
    times: Times
    lengths: Longs
    moments: Longs
    now: Longs


@dataclass(slots=True)
class _Reading:
    clock: Clock
    schemas: Mapping[str, StreamSchema]
    seen: SeenIds
    parts: dict[str, list[_Part]] = field(default_factory=dict)
    next_moment: int = 0
    move_moments: list[Longs] = field(default_factory=list)
    move_clocks: list[Longs] = field(default_factory=list)
    wall_moments: list[int] = field(default_factory=list)
    wall_clocks: list[int] = field(default_factory=list)


def read_slice(
    entries: Sequence[EncodedEntry],
    clock: Clock,
    schemas: Mapping[str, StreamSchema],
    seen: SeenIds,
) -> Slice:
    """Decodes entries and moves the clocks; raises Unfit for what has no columnar form."""
    reading = _Reading(clock, schemas, seen)
    before, wall_before = clock.now, clock.wall
    firsts: list[int] = []
    for entry in entries:
        firsts.append(reading.next_moment)
        record = entry.columns()
        _move_wall(reading, record.clock_ms)
        if isinstance(record, EventColumns):
            _add(reading, record)
    empty = np.zeros(0, np.int64)
    walls = Moves(
        np.array(reading.wall_moments, np.int64),
        np.array(reading.wall_clocks, np.int64),
        leaps=False,
        before=wall_before,
    )
    moves = Moves(
        np.concatenate([empty, *reading.move_moments]),
        np.concatenate([empty, *reading.move_clocks]),
        clock.is_playback,
        before,
        walls if clock.is_playback else None,
    )
    positions = np.array([entry.position for entry in entries], np.int64)
    streams = {name: _chunks(parts) for name, parts in reading.parts.items()}
    last = entries[-1].position if entries else 0
    return Slice(streams, moves, walls, last, np.array(firsts, np.int64), positions)


def _move_wall(reading: _Reading, clock_ms: int) -> None:
    clock = reading.clock
    clock.wall = max(clock.wall, clock_ms)
    reading.wall_moments.append(reading.next_moment)
    reading.wall_clocks.append(clock.wall)
    if not clock.is_playback:
        clock.now = max(clock.now, clock.wall)
        reading.move_moments.append(np.array([reading.next_moment], np.int64))
        reading.move_clocks.append(np.array([clock.now], np.int64))
    reading.next_moment += 2


def _add(reading: _Reading, record: EventColumns) -> None:
    schema = reading.schemas.get(record.stream)
    if schema is None:
        raise Unfit(f"events of {record.stream!r}, which the app does not have")
    if AttributeType.OBJECT in schema.types:  # a fault stream, of a sink that refused rows
        raise Unfit(f"events of {record.stream!r}, which hold objects")
    untyped = _untyped(record, schema)
    if untyped:
        raise Unfit(f"values of {record.stream}.{untyped} that are not of its type")
    batch = record.conformed(schema)
    columns = tuple(
        from_arrow(type_, column) for type_, column in zip(schema.types, batch.columns, strict=True)
    )
    times = record.timestamps().to_numpy(zero_copy_only=False)
    lengths = record.chunk_lengths.astype(np.int64)
    if record.event_ids is not None:
        columns, times, lengths = _without_repeats(reading, record, columns, times, lengths)
    if not (lengths > 0).all():
        lengths = lengths[lengths > 0]
    if not len(lengths):
        return
    moments = reading.next_moment + 1 + 2 * np.arange(len(lengths), dtype=np.int64)
    reading.next_moment += 2 * len(lengths)
    now = _now(reading, record, times, lengths, moments)
    part = _Part(columns, times, lengths, moments, now)
    reading.parts.setdefault(record.stream, []).append(part)


def _untyped(record: EventColumns, schema: StreamSchema) -> str:
    """The first attribute that travels as `object` and is none (execute.encoding), or nothing."""
    for column, attribute in zip(record.batch.columns, schema.attributes, strict=False):
        if pa.types.is_binary(column.type) and attribute.type is not AttributeType.OBJECT:
            return attribute.name
    return ""


def _now(
    reading: _Reading, record: EventColumns, times: Times, lengths: Longs, moments: Longs
) -> Longs:
    """The app clock at each chunk; in playback the last event of a chunk moves it."""
    clock = reading.clock
    if not (clock.is_playback and record.has_timestamps):
        return np.full(len(lengths), clock.now, np.int64)
    last = times if len(times) == len(lengths) else times[np.cumsum(lengths) - 1]
    now: Longs = np.maximum.accumulate(last)
    now = np.maximum(now, clock.now)
    clock.now = int(now[-1])
    reading.move_moments.append(moments - 1)
    reading.move_clocks.append(now)
    return now


def _without_repeats(
    reading: _Reading,
    record: EventColumns,
    columns: tuple[Column, ...],
    times: Times,
    lengths: Longs,
) -> tuple[tuple[Column, ...], Times, Longs]:
    """Drops events whose id was seen before (design invariant 6)."""
    assert record.event_ids is not None
    add, stream = reading.seen.add, record.stream
    new = np.array(
        [key is None or add(f"{stream}\0{key}") for key in record.event_ids.to_pylist()], np.bool_
    )
    if new.all():
        return columns, times, lengths
    chunk_of = np.repeat(np.arange(len(lengths)), lengths)
    kept = np.bincount(chunk_of[new], minlength=len(lengths)).astype(np.int64)
    return tuple(column.keep(new) for column in columns), times[new], kept


def _chunks(parts: Sequence[_Part]) -> Chunks:
    lengths = _joined([part.lengths for part in parts])
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    columns: Any = [part.columns for part in parts]
    return Chunks(
        tuple(map(concat, zip(*columns, strict=True))),
        _joined([part.times for part in parts]),
        starts,
        Order(_joined([part.moments for part in parts])),
        _joined([part.now for part in parts]),
    )


def _joined(arrays: Sequence[Longs]) -> Longs:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
