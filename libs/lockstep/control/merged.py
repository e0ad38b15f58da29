"""The output of an app that is a fleet, read as one log: the rows of all its units in one order
(merging.py), with identities of the whole app. Its sequence is the input position.

What it gives is a function of the units' logs alone: not of when marks come, nor of where reading
began. Rows of a position are given when every unit of its layout has settled it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from lockstep.bus import Bus, OutputEntry
from lockstep.clock import Clock
from lockstep.control.gathering import Gathering, complete_behind
from lockstep.control.layouts import OWN_LOG, Layout, layouts_of
from lockstep.control.merging import NOBODY, cut, merged
from lockstep.control.units import AppView
from lockstep.events import OutputRecord, Position
from lockstep.events.outputs import NO_ROWS, in_columns, joined
from lockstep.frame import run_until, wait_set

HELD_ROWS: Final = 65_536
"""Of all units together; each may hold a share, and no less than the following."""
LEAST_HELD_ROWS: Final = 2_048
ENTRY_ROWS: Final = 1_024
LOOK_EVERY_MS: Final = 250
"""How soon it is seen that the next layout has begun."""
REST_MS: Final = 10_000


@dataclass
class _Stage:
    """A layout that is read behind `start`, up to where the next one begins: None as long as none
    has."""

    layout: Layout
    gathering: Gathering
    start: Position
    has_next: bool
    end: Position | None = None

    @property
    def complete_to(self) -> Position:
        """Up to where its rows can be taken."""
        complete = self.gathering.complete_to
        return complete if self.end is None else min(complete, self.end)


class MergedOutputs:
    """One reader of one app. `run` in a task beside whoever reads.

    No entry has rows of more than `entry_rows` unless one position has. `is_kept`: nothing is
    forgotten behind the position where this reader is, if it is anywhere. Others begin where
    nothing is missing, as far as what is left tells.
    """

    def __init__(
        self,
        bus: Bus,
        view: AppView,
        clock: Clock,
        *,
        entry_rows: int = ENTRY_ROWS,
        is_kept: bool = False,
    ) -> None:
        self._is_kept = is_kept
        self._bus = bus
        self._view = view
        self._clock = clock
        self._entry_rows = entry_rows
        self._stops: tuple[Position, ...] = ()
        self._stage: _Stage | None = None
        self._ready: deque[OutputEntry] = deque()
        self._given: Position | None = None
        self._taken: Position = 0
        self._seeks = 0
        self._sought = asyncio.Event()
        self._moved = asyncio.Event()
        self._turn = asyncio.Event()

    async def layouts(self) -> list[Layout]:
        """As the logs tell now, the present one last. UnavailableError."""
        return await layouts_of(self._bus, self._view)

    async def last(self) -> Position:
        """Of the newest row in any of the logs. UnavailableError."""
        return max((one.last for one in await self.layouts()), default=0)

    def stop_at(self, *positions: Position) -> None:
        """From now on no entry has rows on both sides of one of these."""
        self._stops = positions

    async def read(
        self, after: Position, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """Entries behind `after` in order, as `OutputLog.read` has it. When the time is up, one
        without rows tells how far there are none."""
        if after != self._given:
            self._seek(after)
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while not self._collect():
            left_ms = deadline_ms - self._clock.monotonic_ms()
            if left_ms <= 0:
                break
            self._moved.clear()
            await wait_set(self._moved, self._clock, left_ms)
        if not self._ready and self._taken > after:
            self._ready.append(OutputEntry(self._taken, OutputRecord(NOBODY, NO_ROWS)))
        given = self._give(max_records, max_bytes)
        if given:
            self._given = given[-1].sequence
        return given

    async def run(self) -> None:
        """Layout by layout, until cancelled; UnavailableError when the bus is away."""
        await self._sought.wait()
        while True:
            seeks = self._seeks
            stage = await self._stage_behind(self._taken)
            if seeks != self._seeks:
                continue
            self._stage, self._taken = stage, stage.start
            self._moved.set()
            await run_until(partial(self._until_over, stage), stage.gathering.run)

    def _seek(self, after: Position) -> None:
        self._given = self._taken = after
        self._ready.clear()
        self._stage = None
        self._seeks += 1
        self._sought.set()
        self._turn.set()

    def _collect(self) -> bool:
        """Whether there are rows to give."""
        stage = self._stage
        if self._ready or stage is None:
            return bool(self._ready)
        up_to = stage.complete_to
        if up_to <= self._taken:
            return False
        parts = stage.gathering.take(up_to)
        streams = stage.layout.streams
        rows = joined(parts) if streams is None else merged(parts, streams)
        if rows:
            stops = [one for one in self._stops if one > self._taken]
            door_ms = stage.gathering.door_ms
            self._ready.extend(
                cut(rows, up_to, max_rows=self._entry_rows, stops=stops, door_ms=door_ms)
            )
        self._taken = up_to
        if stage.end is not None and up_to >= stage.end:
            self._turn.set()
        return bool(rows)

    def _give(self, max_records: int, max_bytes: int) -> list[OutputEntry]:
        given: list[OutputEntry] = []
        size_bytes = 0
        while self._ready and len(given) < max_records and size_bytes < max_bytes:
            entry = self._ready.popleft()
            given.append(entry)
            if isinstance(entry.record, OutputRecord):
                columns = in_columns(entry.record.rows).columns
                size_bytes += sum(each.batch.nbytes for each in columns)
        return given

    async def _stage_behind(self, after: Position) -> _Stage:
        layouts = await self.layouts()
        begins = [(at, one.begin) for at, one in enumerate(layouts) if one.begin is not None]
        first = begins[0] if begins else (0, 0)
        at, begin = max((one for one in begins if one[1] <= after), default=first)
        layout = layouts[at]
        starts = [after, begin]
        # In the app's own log rows bear the numbers that they have for good.
        if layout.number != OWN_LOG and not (self._is_kept and after):
            logs = [await self._bus.output_log(name, make=False) for name in layout.tails]
            starts += [await complete_behind(log) for log in logs]
        rows = max(LEAST_HELD_ROWS, HELD_ROWS // len(layout.tails))
        start = max(starts)
        gathering = Gathering(
            self._bus, list(layout.tails), self._clock, after=start, max_rows=rows,
            moved=self._moved,
        )  # fmt: skip
        stage = _Stage(layout, gathering, start, has_next=at + 1 < len(layouts))
        stage.end = _end_of(stage, layouts)
        return stage

    async def _until_over(self, stage: _Stage) -> None:
        """Its last position was taken, or somebody reads elsewhere."""
        while self._stage is stage and (stage.end is None or self._taken < stage.end):
            limit_ms = REST_MS
            if stage.has_next and stage.end is None:
                stage.end = _end_of(stage, await self.layouts())
                if stage.end is not None:
                    self._moved.set()
                    continue
                limit_ms = LOOK_EVERY_MS
            await wait_set(self._turn, self._clock, limit_ms)
            self._turn.clear()


def _end_of(stage: _Stage, layouts: Sequence[Layout]) -> Position | None:
    """Where the next layout has begun: the logs of this one hold everything up to there, which its
    gathering is told. Logs that were removed since hold nothing that anybody needs."""
    number = stage.layout.number
    later = (one.begin for one in layouts if one.number > number)
    end = next((begin for begin in later if begin is not None), None)
    if end is not None:
        tails = next((one.tails for one in layouts if one.number == number), {})
        for name in stage.layout.tails:
            stage.gathering.know(name, end, tails[name].sequence if name in tails else 0)
    return end
