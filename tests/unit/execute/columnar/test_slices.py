"""Records of a slice: how they become streams of chunks, and what they do to the clocks."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from lockstep.columns.moves import Clock
from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.columnar import slices_kernel as kernel
from lockstep.execute.columnar.slices import Slice, read_slice
from lockstep.execute.encoding import encoded
from lockstep.execute.reference.deduplication import SeenIds
from lockstep.siddhiql import check
from tests.unit.columns.flows import longs

SCHEMAS = check(
    "define stream S (i int); define stream R (i int); from S select i insert into Out;"
).streams


def read(entries: list[LogEntry], clock: Clock) -> Slice:
    """A slice of these entries."""
    return read_slice(encoded(entries, SCHEMAS), clock, SCHEMAS, SeenIds(10))


def record(stream: str, clock_ms: int, *times: int, has_timestamps: bool = True) -> EventsRecord:
    """Single events with these times."""
    chunks = tuple((InputEvent(time, (n,)),) for n, time in enumerate(times))
    return EventsRecord(stream, clock_ms, chunks, has_timestamps)


def test_records_of_single_events_are_read_together() -> None:
    """Each event is a chunk of its own stream, at a moment of its own; the clock of a live app is
    that of the records, and never goes back."""
    entries = [
        LogEntry(1, record("S", 100, 7, 8)),
        LogEntry(2, record("R", 90, 9)),
        LogEntry(3, record("S", 120, 5)),
    ]
    clock = Clock(now=50, wall=50)
    found = read(entries, clock)
    one, other = found.streams["S"], found.streams["R"]
    assert one.columns[0].to_pylist() == [0, 1, 0]
    assert one.times.tolist() == [7, 8, 5]
    assert one.now.tolist() == [100, 100, 120]
    assert other.now.tolist() == [100]
    assert one.order.moments.tolist() == [3, 5, 13]
    assert other.order.moments.tolist() == [9]
    assert found.moves.moments.tolist() == [0, 6, 10]
    assert found.moves.clock.tolist() == [100, 100, 120]
    assert found.firsts.tolist() == [0, 6, 10]
    assert clock == Clock(now=120, wall=120)


def test_in_playback_each_event_moves_the_clock_whose_sender_gave_its_time() -> None:
    """The others stand at the clock as it is; the wall clock goes by the records."""
    entries = [
        LogEntry(1, record("S", 100, 700, 800, 750)),
        LogEntry(2, record("R", 110, 950, has_timestamps=False)),
        LogEntry(3, record("S", 120, 820)),
    ]
    clock = Clock(now=710, wall=50, is_playback=True)
    found = read(entries, clock)
    assert found.streams["S"].now.tolist() == [710, 800, 800, 820]
    assert found.streams["R"].now.tolist() == [800]
    assert found.moves.clock.tolist() == [710, 800, 800, 820]
    assert found.moves.moments.tolist() == [2, 4, 6, 14]
    assert found.walls.clock.tolist() == [100, 110, 120]
    assert clock == Clock(now=820, wall=120, is_playback=True)


@pytest.mark.parametrize("is_playback", [False, True])
def test_it_is_the_same_one_by_one(is_playback: bool) -> None:
    """Records that are read together bring what they bring alone, with others between them."""
    random = Random(5)
    for _ in range(100):
        entries = []
        for position in range(1, random.randrange(2, 12)):
            wall = random.randrange(1000)
            times = [random.randrange(1000) for _ in range(random.randrange(1, 4))]
            given = random.random() < 0.7
            made = record(random.choice("SR"), wall, *times, has_timestamps=given)
            if random.random() < 0.2:
                events = tuple(InputEvent(time, (0,)) for time in times)
                made = EventsRecord("S", wall, (events,), given)
            is_tick = random.random() < 0.2
            entries.append(LogEntry(position, TickRecord(wall) if is_tick else made))
        clocks = Clock(is_playback=is_playback), Clock(is_playback=is_playback)
        whole = read(entries, clocks[0])
        parts = [read([entry], clocks[1]) for entry in entries]
        assert clocks[0] == clocks[1]
        for stream in whole.streams:
            own = [part.streams[stream] for part in parts if stream in part.streams]
            chunks = whole.streams[stream]
            assert chunks.now.tolist() == [now for each in own for now in each.now.tolist()]
            assert chunks.times.tolist() == [time for each in own for time in each.times.tolist()]
        for name in ("moves", "walls"):
            moved = [clock for part in parts for clock in getattr(part, name).clock.tolist()]
            assert getattr(whole, name).clock.tolist() == moved


def test_records_are_laid_out_stream_by_stream() -> None:
    """The clock of a record is the least; events move it where they are heard."""
    rows, heard = longs(2, 1, 2), np.array([True, False, True])
    laid = kernel.Laid(*(np.zeros(5, np.int64) for _ in range(2)))
    moved = kernel.Moved(np.zeros(4, np.int64), np.zeros(4, np.int64))
    times, begins = longs(7, 6, 8, 11, 9), longs(0, 4, 2)
    kernel.lay(rows, longs(0, 6, 10), longs(5, 5, 5), heard, begins, times, laid, moved)
    assert laid.moments.tolist() == [3, 5, 13, 15, 9]
    assert laid.now.tolist() == [7, 7, 8, 11, 7]
    assert moved.moments.tolist() == [2, 4, 12, 14]
    assert moved.clocks.tolist() == [7, 7, 8, 11]
