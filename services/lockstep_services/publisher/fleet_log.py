"""What the sinks of a fleet read: the app's own output log, from when it was one unit, and behind
it the merged output of its units; with one cursor for both.

So a sink keeps its cursor under one name, in whatever it keeps it, and whoever delivered before is
shut out as ever. A cursor below FLEET_CURSORS is a sequence of the app's own log, where the sink
goes on until it has all of it. From there on it is a position, counted from FLEET_CURSORS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.archive.rows_out import MERGED
from lockstep.bus import Bus, OutputEntry, OutputLog, OutputTail
from lockstep.clock import Clock
from lockstep.control import OWN_LOG, AppView, MergedOutputs
from lockstep.control.merged import LOOK_EVERY_MS
from lockstep.control.merging import NOBODY
from lockstep.events import OutputRecord, Position
from lockstep.events.outputs import NO_ROWS

FLEET_CURSORS: Final = MERGED
"""More than any log has records; what is added to it, JSON and databases can still say."""


def position_of(cursor: int) -> Position:
    """Up to which position a fleet's sink has everything; 0 while it reads the app's own log."""
    return max(0, cursor - FLEET_CURSORS)


class FleetLog:
    """The reading side of an OutputLog. `run` in a task beside whoever reads."""

    def __init__(self, bus: Bus, view: AppView, clock: Clock, *, entry_rows: int) -> None:
        self._bus = bus
        self._view = view
        # Logs are trimmed up to the sinks' cursors at most.
        self._merged = MergedOutputs(bus, view, clock, entry_rows=entry_rows, is_kept=True)
        self._own: OutputLog | None = None
        self._has_ended = False
        self.run = self._merged.run

    async def tail(self) -> OutputTail:
        """No cursor is behind the end of the input log."""
        log = await self._bus.input_log(self._view.input, make=False)
        _, last = await log.bounds()
        return OutputTail(FLEET_CURSORS + last, NOBODY, None)

    async def read(
        self, after: int, *, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """As OutputLog.read, by cursor."""
        if after < FLEET_CURSORS:
            return await self._read_own(after, max_records, max_bytes, wait_ms)
        entries = await self._merged.read(
            after - FLEET_CURSORS, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        return [OutputEntry(FLEET_CURSORS + one.sequence, one.record) for one in entries]

    async def _read_own(
        self, after: int, max_records: int, max_bytes: int, wait_ms: int
    ) -> Sequence[OutputEntry]:
        """Its records as they are; behind the last one a record without rows, whose cursor is the
        position of its last row."""
        if self._own is None:
            self._own = await self._bus.output_log(self._view.log, make=False)
        log = self._own
        if not self._has_ended:  # asked first: then the log has all that it will ever have
            layouts = await self._merged.layouts()
            fleets = [one for one in layouts if one.number != OWN_LOG]
            self._has_ended = any(one.begin is not None for one in fleets)
        found = await log.read(
            after,
            max_records=max_records,
            max_bytes=max_bytes,
            wait_ms=0 if self._has_ended else min(wait_ms, LOOK_EVERY_MS),
        )
        if found or not self._has_ended:
            return found
        last = (await log.tail()).last_id
        end = FLEET_CURSORS + (0 if last is None else last.position)
        return [OutputEntry(end, OutputRecord(NOBODY, NO_ROWS))]
