"""A slice of the input log as streams of chunks, with the clock at each of them (semantics 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
import pyarrow as pa

from lockstep.columns.chunks import Chunks, offsets_of
from lockstep.columns.column import Column, Longs, Mask, Unfit, from_arrow
from lockstep.columns.compiled import plain as plain_array
from lockstep.columns.frame import Times
from lockstep.columns.lazy import LazyColumns
from lockstep.columns.moves import Clock, Moves
from lockstep.columns.order import Order
from lockstep.columns.times import check_time, within_reach
from lockstep.events import AttributeType, InvalidEventError, Position, StreamSchema
from lockstep.events.bundles import STAYS, Bundle
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import EventColumns, arrow_schema, numbers
from lockstep.execute.columnar import slices_kernel as kernel
from lockstep.execute.reference.deduplication import SeenIds
from lockstep.execute.together import Gathered, Together, begins_of, plain_header
from lockstep.execute.turns import Turns, walked


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
        if len(self.positions) == 1:
            return np.repeat(self.positions, len(moments))
        if len(moments) > len(self.firsts) and (moments[1:] >= moments[:-1]).all():
            # What the app's start brings belongs to the first position.
            ends = np.append(np.searchsorted(moments, self.firsts[1:]), len(moments))
            return np.repeat(self.positions, np.diff(ends, prepend=0))
        found = np.searchsorted(self.firsts, moments, side="right") - 1
        return self.positions[np.maximum(found, 0)]

    def within(self, moments: Longs) -> Longs:
        """The moments within their positions, as rows of channels bear them (Places)."""
        found = np.searchsorted(self.firsts, moments, side="right") - 1
        # The wall clock moves in front of what the first delivery's own clock moves.
        within: Longs = np.maximum(moments - self.firsts[np.maximum(found, 0)] - 2, 0)
        return within


@dataclass(slots=True)
class _Part:
    """Events of one record, or of several, on the way into their stream."""

    batches: Sequence[pa.RecordBatch]
    times: Times
    lengths: Longs
    moments: Longs
    now: Longs


_Events = tuple[pa.RecordBatch, Times, Longs]
"""A batch in the exact types of its stream, timestamps, and lengths of chunks, which may be 0."""


@dataclass(slots=True)
class _Reading:
    clock: Clock
    schemas: Mapping[str, StreamSchema]
    seen: SeenIds
    parts: dict[str, list[_Part]] = field(default_factory=dict)
    mixed: set[str] = field(default_factory=set)
    gathered: Gathered = field(default_factory=Gathered)
    next_moment: int = 0
    move_moments: list[Longs] = field(default_factory=list)
    move_clocks: list[Longs] = field(default_factory=list)
    wall_moments: list[int] = field(default_factory=list)
    wall_clocks: list[int] = field(default_factory=list)


def read_slice(
    entries: Sequence[EncodedEntry] | Together,
    clock: Clock,
    schemas: Mapping[str, StreamSchema],
    seen: SeenIds,
) -> Slice:
    """Decodes entries and moves the clocks; raises Unfit for what has no columnar form."""
    reading = _Reading(clock, schemas, seen)
    before, wall_before = clock.now, clock.wall
    if isinstance(entries, Together):
        positions, firsts = entries.positions, _add_together(reading, entries, 0)
    else:
        positions = np.array([entry.position for entry in entries], np.int64)
        firsts = _add_all(reading, entries)
    check_time(max(clock.now, clock.wall))
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
        _sizes([part for parts in reading.parts.values() for part in parts]),
    )
    streams = {name: _chunks(parts, schemas[name]) for name, parts in reading.parts.items()}
    for name in reading.mixed & streams.keys():  # two parts of a bundle, their chunks in turn
        streams[name] = streams[name].arranged(np.argsort(streams[name].order.moments))
    last = int(positions[-1]) if len(entries) else 0
    return Slice(streams, moves, walls, last, firsts, positions)


def _add_all(reading: _Reading, entries: Sequence[EncodedEntry]) -> Longs:
    """Adds all entries; the first moment of each."""
    firsts: list[int] = []
    for entry in entries:
        firsts.append(reading.next_moment)
        if _waits(reading, entry):
            continue
        _add_waiting(reading)
        record = entry.columns()
        if isinstance(record, Bundle):
            _add_bundle(reading, record)
            continue
        _move_wall(reading, record.clock_ms, reading.next_moment)
        reading.next_moment += 2
        if isinstance(record, EventColumns):
            _add(reading, record)
    _add_waiting(reading)
    return np.array(firsts, np.int64)


def _move_wall(reading: _Reading, clock_ms: int, moment: int) -> None:
    _move_walls(reading, [clock_ms], np.array([moment], np.int64))


def _move_walls(reading: _Reading, clocks_ms: Sequence[int] | Longs, moments: Longs) -> Longs:
    """Moves the wall clock, and that of a live app, at each of the moments; the wall clock there,
    or the app's if it is live."""
    clock = reading.clock
    walls: Longs = np.maximum.accumulate([clock.wall, *clocks_ms])[1:]
    clock.wall = int(walls[-1])
    reading.wall_moments += moments.tolist()
    reading.wall_clocks += walls.tolist()
    if clock.is_playback:
        return walls
    now: Longs = np.maximum(walls, clock.now)
    clock.now = int(now[-1])
    reading.move_moments.append(moments)
    reading.move_clocks.append(now)
    return now


def _waits(reading: _Reading, entry: EncodedEntry) -> bool:
    """Whether an entry's events wait until they are read together with others."""
    header = plain_header(entry, reading.schemas)
    if header is None:
        return False
    reading.gathered.add(entry, header)
    reading.next_moment += 2 + 2 * header.batch.rows
    return True


def _add_waiting(reading: _Reading) -> None:
    """Adds the records that wait."""
    gathered = reading.gathered
    if gathered.rows:
        reading.gathered = Gathered()
        begin = reading.next_moment - 2 * (len(gathered.rows) + sum(gathered.rows))
        _add_together(reading, gathered.together(), begin)


def _add_together(reading: _Reading, records: Together, begin: int) -> Longs:
    """Adds records whose first moment is `begin`; the first moment of each."""
    rows, turns = records.rows, records.turns
    firsts = offsets_of(2 + 2 * (rows if turns is None else turns.counts))
    reading.next_moment = begin + int(firsts[-1])
    firsts = firsts[:-1] + begin
    clocks = _move_walls(reading, records.clocks_ms, firsts)
    stamps = [
        each.column(each.num_columns - 1) for some in records.batches.values() for each in some
    ]
    if turns is not None:
        moments, now = _turned(reading, turns, firsts, clocks)
    if not stamps:
        return firsts
    times = numbers(stamps[0] if len(stamps) == 1 else pa.concat_arrays(stamps))
    times = plain_array(times, np.int64)
    bounds = records.bounds
    if turns is None:
        is_one = len(records.batches) == 1
        begins = offsets_of(rows)[:-1] if is_one else begins_of(records.streams, rows)
        moments, now = _laid(reading, records, firsts, begins, times, clocks)
    for number, (stream, batches) in enumerate(records.batches.items()):
        own = slice(bounds[number], bounds[number + 1])
        ones = _ones(own.stop - own.start)
        part = _Part(batches, times[own], ones, moments[own], now[own])
        reading.parts.setdefault(stream, []).append(part)
    return firsts


def _turned(reading: _Reading, turns: Turns, firsts: Longs, clocks: Longs) -> tuple[Longs, Longs]:
    """(the moments of all events, the app clock at them), as the deliveries move it; that of a live
    app goes by the records' `clocks`."""
    if turns.clocks is None:
        starts = offsets_of(turns.counts)
        moments = np.repeat(firsts + 2 - 2 * starts[:-1], turns.counts) + 2 * np.arange(starts[-1])
        return moments[turns.places] + 1, np.repeat(clocks, turns.counts)[turns.places]
    found = walked(turns.counts, firsts, turns.clocks, reading.clock.now)
    reading.move_moments.append(found.move_moments)
    reading.move_clocks.append(found.move_clocks)
    reading.clock.now = max([reading.clock.now, *found.now[-1:].tolist()])
    return found.moments[turns.places] + 1, found.now[turns.places]


def _laid(
    reading: _Reading,
    records: Together,
    firsts: Longs,
    begins: Longs,
    times: Longs,
    clocks: Longs,
) -> tuple[Longs, Longs]:
    """(the moments of all events, the app clock at them): in playback it moves by what is heard,
    else by the records' `clocks`."""
    clock, rows = reading.clock, records.rows
    heard = np.zeros(len(rows), np.bool_)
    if clock.is_playback:
        heard = records.heard
        clocks = np.full(len(rows), clock.now, np.int64)
    moments, now = np.empty(len(times), np.int64), np.empty(len(times), np.int64)
    moves = int(rows[heard].sum())
    moved = kernel.Moved(np.empty(moves, np.int64), np.empty(moves, np.int64))
    kernel.lay(rows, firsts, clocks, heard, begins, times, kernel.Laid(moments, now), moved)
    if moves:
        clock.now = int(moved.clocks[-1])
        reading.move_moments.append(moved.moments)
        reading.move_clocks.append(moved.clocks)
    return moments, now


@lru_cache(maxsize=1024)
def _ones(count: int) -> Longs:
    ones = np.ones(count, np.int64)
    ones.flags.writeable = False
    return ones


def _add(reading: _Reading, record: EventColumns) -> None:
    new = None
    if record.event_ids is not None:
        new = _new(reading, record.stream, record.event_ids)
    batch, times, lengths = _events(reading, record, new)
    start = reading.next_moment + 1
    reading.next_moment += 2 * len(lengths)
    moments = start + 2 * np.arange(len(lengths), dtype=np.int64)
    if not lengths.all():
        moments, lengths = moments[lengths > 0], lengths[lengths > 0]
    if not len(lengths):
        return
    last = times if len(times) == len(lengths) else times[np.cumsum(lengths) - 1]
    if reading.clock.is_playback and record.has_timestamps:
        now = _heard(reading, last, moments)
    else:
        now = np.full(len(last), reading.clock.now, np.int64)
    part = _Part([batch], times, lengths, moments, now)
    reading.parts.setdefault(record.stream, []).append(part)


def _add_bundle(reading: _Reading, bundle: Bundle) -> None:
    clock, clocks, count = reading.clock, bundle.clocks, len(bundle)
    moved = clock.is_playback or clocks is None
    if moved:
        _move_wall(reading, bundle.clock_ms, reading.next_moment)
    start = reading.next_moment + 2
    reading.next_moment = start + 2 * count + 2
    masks = _new_of(reading, bundle)
    found = [_events(reading, *each) for each in zip(bundle.parts, masks, strict=True)]
    if clocks is None:
        clocks = np.full(count, STAYS, np.int64)
        if clock.is_playback:
            _hear(bundle, found, clocks)
    now = _moves(reading, clocks, start)
    for i, (batch, times, lengths) in enumerate(found):
        numbers = bundle.numbers_of(i)[lengths > 0]
        if len(numbers):
            moments = start + 1 + 2 * numbers
            part = _Part([batch], times, lengths[lengths > 0], moments, now[numbers])
            reading.parts.setdefault(bundle.parts[i].stream, []).append(part)
    names = [part.stream for part in bundle.parts]
    if len(set(names)) < len(names):
        reading.mixed.update(names)
    moved = moved or bool((clocks != STAYS).any())
    if not clock.is_playback and (not moved or bundle.clock_ms > clock.wall):
        _move_wall(reading, bundle.clock_ms, start + 2 * count)


def _hear(bundle: Bundle, found: Sequence[_Events], clocks: Longs) -> None:
    """In playback the last event of each delivery is its clock, where the senders gave times."""
    for i, (_, times, lengths) in enumerate(found):
        if bundle.parts[i].has_timestamps:
            some = lengths > 0
            clocks[bundle.numbers_of(i)[some]] = times[np.cumsum(lengths)[some] - 1]


def _moves(reading: _Reading, clocks: Longs, start: int) -> Longs:
    """Moves the clock in front of each delivery; the app clock at each."""
    clock = reading.clock
    if not len(clocks):
        return clocks
    at = np.flatnonzero(clocks != STAYS)
    moments = start + 2 * at
    now: Longs = np.maximum.accumulate(np.maximum(clocks, clock.now))
    if not clock.is_playback:
        walls = np.maximum.accumulate(np.maximum(clocks, clock.wall))
        clock.wall = int(walls[-1])
        reading.wall_moments += moments.tolist()
        reading.wall_clocks += walls[at].tolist()
    clock.now = int(now[-1])
    reading.move_moments.append(moments)
    reading.move_clocks.append(now[at])
    return now


def _events(reading: _Reading, record: EventColumns, new: Mask | None) -> _Events:
    """Those events that are new."""
    lengths = record.chunk_lengths.astype(np.int64)
    if not len(record):
        return record.batch, np.zeros(0, np.int64), lengths
    schema = reading.schemas.get(record.stream)
    if schema is None:
        raise Unfit(f"events of {record.stream!r}, which the app does not have")
    batch = record.batch
    if not batch.schema.equals(arrow_schema(schema)):
        untyped = _untyped(record, schema)
        if untyped:
            raise Unfit(f"values of {record.stream}.{untyped} that are not of its type")
        try:
            batch = record.conformed(schema)
        except InvalidEventError as error:
            raise Unfit(str(error)) from error
    times = numbers(record.timestamps())
    if new is None or new.all():
        return batch, times, lengths
    chunk_of = np.repeat(np.arange(len(lengths)), lengths)
    kept = np.bincount(chunk_of[new], minlength=len(lengths)).astype(np.int64)
    return batch.filter(pa.array(new)), times[new], kept


def _untyped(record: EventColumns, schema: StreamSchema) -> str:
    """The first attribute that travels as `object` and is none (execute.encoding), or the other way
    round; or nothing."""
    for column, attribute in zip(record.batch.columns, schema.attributes, strict=False):
        is_object = attribute.type is AttributeType.OBJECT
        if pa.types.is_binary(column.type) != is_object and not pa.types.is_null(column.type):
            return attribute.name
    return ""


def _heard(reading: _Reading, last: Longs, moments: Longs) -> Longs:
    """The app clock of playback at each chunk, which the `last` event of a chunk moves."""
    clock = reading.clock
    now: Longs = np.maximum(np.maximum.accumulate(last), clock.now)
    clock.now = int(now[-1])
    reading.move_moments.append(moments - 1)
    reading.move_clocks.append(now)
    return now


def _new(reading: _Reading, stream: str, ids: pa.Array) -> Mask:
    """Whose id was not seen before (design invariant 6)."""
    add = reading.seen.add
    return np.array([key is None or add(f"{stream}\0{key}") for key in ids.to_pylist()], np.bool_)


def _new_of(reading: _Reading, bundle: Bundle) -> list[Mask | None]:
    """The same for each part of a bundle, asked in the order of the deliveries."""
    parts, add = bundle.parts, reading.seen.add
    ids = [None if part.event_ids is None else iter(part.event_ids.to_pylist()) for part in parts]
    new: list[list[bool]] = [[] for _ in parts]
    if any(each is not None for each in ids):
        for i, length in zip(bundle.order.tolist(), bundle.lengths.tolist(), strict=True):
            keys, stream = ids[i], parts[i].stream
            if keys is not None:
                some = islice(keys, length)
                new[i] += [key is None or add(f"{stream}\0{key}") for key in some]
    return [
        None if each is None else np.array(mask, np.bool_)
        for each, mask in zip(ids, new, strict=True)
    ]


def _chunks(parts: Sequence[_Part], schema: StreamSchema) -> Chunks:
    lengths = _joined([part.lengths for part in parts])
    starts = offsets_of(lengths)
    return Chunks(
        _columns([batch for part in parts for batch in part.batches], schema),
        within_reach(_joined([part.times for part in parts])),
        starts,
        Order(_joined([part.moments for part in parts])),
        _joined([part.now for part in parts]),
    )


def _columns(batches: Sequence[pa.RecordBatch], schema: StreamSchema) -> LazyColumns:
    """The columns of all batches, one behind the other."""
    types, first = schema.types, batches[0].schema
    # Records that say their names and others that do not, or some with ids, are no one table.
    is_one = len(batches) > 1 and all(batch.schema.equals(first) for batch in batches)
    table = pa.Table.from_batches(batches) if is_one else None

    def column(i: int) -> Column:
        arrays = [each.column(i) for each in batches] if table is None else table.column(i).chunks
        return from_arrow(types[i], arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays))

    found = LazyColumns(len(types), column)
    for i, type_ in enumerate(types):
        if type_ is AttributeType.OBJECT:
            found[i]  # what cannot be read shows now, whoever reads it
    return found


def _sizes(parts: Sequence[_Part]) -> tuple[Longs, Longs] | None:
    """Moments and sizes of the log's chunks of several events, by moment."""
    found = []
    for part in parts:
        if len(part.lengths) < len(part.times):
            several = part.lengths > 1
            found.append((part.moments[several], part.lengths[several]))
    if not found:
        return None
    moments, sizes = (_joined(each) for each in zip(*found, strict=True))
    if len(found) == 1:
        return moments, sizes
    order = np.argsort(moments, kind="stable")
    return moments[order], sizes[order]


def _joined(arrays: Sequence[Longs]) -> Longs:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
