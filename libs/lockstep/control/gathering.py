"""The output logs of several units, read side by side: rows up to a position that all have settled.

What is given out is a pure function of the logs. When it is given out hangs on marks.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from lockstep.bus import Bus, LogGoneError, LogName, OutputEntry, OutputLog
from lockstep.clock import Clock
from lockstep.control.marks import Mark, MarkWatch
from lockstep.events import Fault, LockstepError, OutputRecord, Position, UnavailableError
from lockstep.events.outputs import NO_ROWS, RowsOfColumns, first_id, in_columns, joined
from lockstep.frame import run_side_by_side, wait_set

READ_MAX_RECORDS: Final = 256
READ_MAX_BYTES: Final = 4_194_304
READ_WAIT_MS: Final = 500
FULL_WAIT_MS: Final = 100
AWAY_PAUSE_MS: Final = 200


class RowsForgottenError(LockstepError):
    """A log may have forgotten rows that were not read yet: a newer state goes on behind them."""

    fault = Fault.EXTERNAL
    retryable = True


@dataclass
class _Reading:
    """One log: what was read of it and nobody has taken."""

    name: LogName
    sequence: int | None = None
    last: Position = 0
    settled: Position = 0
    held: deque[tuple[Position, RowsOfColumns]] = field(default_factory=deque)
    held_rows: int = 0
    doors_ms: deque[tuple[Position, int]] = field(default_factory=deque)


class Gathering:
    """`run` in a task. Rows of positions behind `after`, of `streams` (None: of all of them).

    A bus that is away is waited for up to `patience_ms`: what was read stays, so that whoever folds
    it need not begin again. `moved` (one may be given) rings when more is complete. At most
    `max_rows` of each log are held: who does not take them slows the reading down. `open_log`: how
    a log is opened, if not by the bus. `has_newer`: whether there is a state behind `after` that
    logs may be trimmed for; with it, rows that are forgotten are an error and are never skipped.

    `door_ms`: when the door took the oldest event of the rows taken last; 0: nobody knew. It hangs
    on how much was taken at once, and is for people alone.
    """

    def __init__(
        self,
        bus: Bus,
        logs: Sequence[LogName],
        clock: Clock,
        *,
        after: Position,
        max_rows: int,
        streams: frozenset[str] | None = None,
        moved: asyncio.Event | None = None,
        patience_ms: int = 0,
        open_log: Callable[[LogName], Awaitable[OutputLog]] | None = None,
        has_newer: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        self._open_log = open_log or partial(bus.output_log, make=False)
        self._has_newer = has_newer
        self._patience_ms = patience_ms
        self._heard_ms = clock.monotonic_ms()
        self._clock = clock
        self._streams = streams
        self._max_rows = max_rows
        self._after = after
        self._readings = [_Reading(name) for name in logs]
        self._marks = MarkWatch(bus.topics, logs[0].app)
        self._space = asyncio.Event()
        self.door_ms = 0
        self.moved = moved or asyncio.Event()

    async def run(self) -> None:
        """Until cancelled; UnavailableError when the bus is away for too long, or a log is gone;
        RowsForgottenError."""
        readers = [partial(self._patiently, partial(self._read, one)) for one in self._readings]
        marks = partial(self._patiently, self._marks.run)
        await run_side_by_side(marks, self._hear, *readers)

    async def _patiently(self, work: Callable[[], Awaitable[None]]) -> None:
        """Again where it stopped, as long as the bus has answered lately."""
        while True:
            try:
                return await work()
            except LogGoneError:
                raise
            except UnavailableError:
                if self._clock.monotonic_ms() - self._heard_ms >= self._patience_ms:
                    raise
            await self._clock.sleep_ms(AWAY_PAUSE_MS)

    @property
    def complete_to(self) -> Position:
        """Up to which position all rows of all logs are here, or were taken."""
        return min(map(self._settled, self._readings))

    def _settled(self, reading: _Reading) -> Position:
        """Records tell of themselves, and marks of a log's end. All in front of the last row read
        is here in any case, as the rows of a log ascend."""
        marked = self._marks.settled(reading.name, reading.sequence or 0)
        return max(marked, reading.settled, reading.last - 1)

    @property
    def held_rows(self) -> int:
        """Rows of all logs that are here and nobody has taken."""
        return sum(one.held_rows for one in self._readings)

    def sequences(self) -> dict[LogName, int]:
        """How far each log was read."""
        return {one.name: one.sequence or 0 for one in self._readings}

    def know(self, name: LogName, position: Position, sequence: int) -> None:
        """Of a log that has ended: its records up to `sequence` hold all up to `position`."""
        mark = Mark(name.app, name.group, name.partition, name.since_ms, position, sequence)
        self._marks.take(mark)

    def take(self, up_to: Position) -> list[RowsOfColumns]:
        """The rows of each log, in the order of the logs, that nobody has taken and whose positions
        are `up_to` or smaller."""
        taken = [self._take(one, up_to) for one in self._readings]
        doors = [ms for one in self._readings for ms in _doors_passed(one, up_to)]
        self.door_ms = min(doors, default=0)
        self._space.set()
        return taken

    def _take(self, reading: _Reading, up_to: Position) -> RowsOfColumns:
        parts: list[RowsOfColumns] = []
        held = reading.held
        while held and held[0][0] <= up_to:
            parts.append(held.popleft()[1])
        if held:
            last, rows = held[0]
            count = _rows_to(rows, up_to)
            if count:
                parts.append(rows[:count])
                held[0] = (last, rows[count:])
        reading.held_rows -= sum(map(len, parts))
        return joined(parts) if parts else NO_ROWS

    async def _hear(self) -> None:
        while True:
            await self._marks.moved.wait()
            self._marks.moved.clear()
            self.moved.set()

    async def _read(self, reading: _Reading) -> None:
        log = await self._open_log(reading.name)
        if reading.sequence is None:
            reading.sequence = await self._begin(reading.name, log)
        while True:
            if self._is_full(reading):
                self._space.clear()
                await wait_set(self._space, self._clock, FULL_WAIT_MS)
                continue
            entries = await log.read(
                reading.sequence,
                max_records=READ_MAX_RECORDS,
                max_bytes=READ_MAX_BYTES,
                wait_ms=READ_WAIT_MS,
            )
            self._heard_ms = self._clock.monotonic_ms()
            if entries:
                if entries[0].sequence > reading.sequence + 1 and self._has_newer is not None:
                    await self._refuse_gap(reading.name, log, reading.sequence)
                self._keep(reading, entries)

    async def _begin(self, name: LogName, log: OutputLog) -> int:
        """Behind which sequence to read. What is forgotten by now was not needed behind `after`,
        unless it was trimmed for a newer state."""
        if self._has_newer is None:
            return await before_position(log, self._after)
        forgotten = await _first_sequence(log) - 1
        sequence = await before_position(log, self._after)
        if forgotten > 0:
            complete = await complete_behind(log)
            if complete > self._after and await self._has_newer():
                raise RowsForgottenError(
                    f"its rows are complete behind position {complete} only, and wanted behind"
                    f" {self._after}; there is a newer state",
                    where="/".join(map(str, name.key)),
                )
        return max(sequence, forgotten)

    async def _refuse_gap(self, name: LogName, log: OutputLog, sequence: int) -> None:
        """Some carriers leave gaps of their own: then nothing is lost."""
        first = await _first_sequence(log)
        if first > sequence + 1:
            raise RowsForgottenError(
                f"the log begins at {first}, and was read up to {sequence}",
                where="/".join(map(str, name.key)),
            )

    def _is_full(self, reading: _Reading) -> bool:
        """It holds enough, and some of it can be taken once the other logs are as far."""
        if reading.held_rows < self._max_rows:
            return False
        _, rows = reading.held[0]
        return rows.first_id.position <= self._settled(reading)

    def _keep(self, reading: _Reading, entries: Sequence[OutputEntry]) -> None:
        for entry in entries:
            if not isinstance(entry.record, OutputRecord) or not entry.record.rows:
                continue
            rows = in_columns(entry.record.rows)
            last = reading.last = rows.last_id.position
            reading.settled = max(reading.settled, entry.record.settled)
            door_ms = entry.record.door_ms
            if self._streams is not None:
                rows = RowsOfColumns(each for each in rows.columns if each.stream in self._streams)
            rows = rows[_rows_to(rows, self._after) :]
            if rows:
                reading.held.append((last, rows))
                reading.held_rows += len(rows)
                if door_ms:
                    reading.doors_ms.append((last, door_ms))
        reading.sequence = entries[-1].sequence
        self.moved.set()


def _doors_passed(reading: _Reading, up_to: Position) -> Iterator[int]:
    """Of the records whose rows were taken whole."""
    doors_ms = reading.doors_ms
    while doors_ms and doors_ms[0][0] <= up_to:
        yield doors_ms.popleft()[1]


def _rows_to(rows: RowsOfColumns, position: Position) -> int:
    """How many rows are of this position or an earlier one."""
    return sum(int(each.positions.searchsorted(position, side="right")) for each in rows.columns)


async def _first_sequence(log: OutputLog) -> int:
    """Of what it still has; 1 where it has nothing."""
    found = await log.read(0, max_records=1, max_bytes=READ_MAX_BYTES, wait_ms=0)
    return found[0].sequence if found else 1


async def before_position(log: OutputLog, position: Position) -> int:
    """The sequence behind which all rows of later positions stand; found in steps of halves."""
    if position <= 0:
        return 0
    tail = await log.tail()
    if tail.last_id is None or tail.last_id.position <= position:
        return max(0, tail.sequence - 1)
    first = await first_behind(log, 0)
    if first is None or first > position:
        return 0
    low, high = 0, tail.sequence
    while low < high:
        middle = (low + high) // 2
        first = await first_behind(log, middle)
        if first is not None and first <= position:
            low = middle + 1
        else:
            high = middle
    return max(0, low - 1)


async def complete_behind(log: OutputLog) -> Position:
    """Behind which position the log has forgotten nothing, but perhaps some rows of the first."""
    # Asked first: a row that comes while the log is looked through is none that it has forgotten.
    last = (await log.tail()).last_id
    found = await log.read(0, max_records=1, max_bytes=READ_MAX_BYTES, wait_ms=0)
    if not found or found[0].sequence == 1:
        return 0
    first = await first_behind(log, 0)
    if first is not None:
        return first - 1
    return 0 if last is None else last.position


async def first_behind(log: OutputLog, sequence: int) -> Position | None:
    """The position of the first row behind a sequence; None when there is none."""
    while found := await log.read(sequence, max_records=1, max_bytes=READ_MAX_BYTES, wait_ms=0):
        entry = found[0]
        if isinstance(entry.record, OutputRecord) and entry.record.rows:
            return first_id(entry.record.rows).position
        sequence = entry.sequence
    return None
