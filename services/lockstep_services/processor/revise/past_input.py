"""What an app took in, in the order of its log: from the log where that still has it, else from the
archive. No position twice, and none left out unseen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Container, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockstep.archive.naming import Logs
from lockstep.bus import Bus, InputLog, LogGoneError, LogName
from lockstep.events import Fault, LockstepError, Position, TickRecord
from lockstep.events.codec import EncodedEntry, EventsHeader, encode_record
from lockstep.frame import Offload

if TYPE_CHECKING:  # the tables' library is a heavy import, for whoever reads them alone
    from lockstep.archive.events_in import Restored
    from lockstep.archive.place import Place
    from lockstep_services.processor.revise.past_archive import PastArchive

READ_RECORDS: Final = 4_096
READ_WAIT_MS: Final = 1_000


class PastFailedError(LockstepError):
    """A past that cannot be folded, however often it is tried."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class PastSlice:
    """Records that follow one another, and how many of their events are not there any more."""

    entries: Sequence[EncodedEntry]
    missing: int = 0


class PastInput:
    """Of one input log. `place`: None where nothing is archived."""

    def __init__(
        self, bus: Bus, name: LogName, place: Place | None, offload: Offload, max_bytes: int
    ) -> None:
        self._bus = bus
        self._name = name
        self._place = place
        self._offload = offload
        self._max_bytes = max_bytes
        self._log: InputLog | None = None
        self._is_gone = False

    async def slices(self, after: Position, up_to: Position) -> AsyncGenerator[PastSlice, None]:
        """What stands behind `after` up to `up_to`. PastFailedError, UnavailableError."""
        position = after
        while position < up_to:
            before = position
            async for found in self._next(position, up_to):
                yield found
                position = found.entries[-1].position
            if position > before:
                continue
            if await self._log_begins() > position + 1:
                raise PastFailedError(
                    f"neither the log of '{self._name.app}' nor its archive has what stands behind "
                    f"position {position}",
                    hint="`lockstep archive list` says what there is; a later time leaves out what "
                    "is gone",
                )
            return  # the log has no more up to there

    async def _next(self, position: Position, up_to: Position) -> AsyncGenerator[PastSlice, None]:
        if await self._log_begins() <= position + 1:
            entries = await self._of_log(position)
            if kept := [one for one in entries if one.position <= up_to]:
                yield PastSlice(kept)
            return
        if self._place is None:
            return
        reading = self._archived(self._place, position, up_to)
        coming = asyncio.ensure_future(self._offload.run(lambda: next(reading, None)))
        try:
            while (found := await coming) is not None:
                # The next one is read while this one is folded.
                coming = asyncio.ensure_future(self._offload.run(lambda: next(reading, None)))
                yield PastSlice([one.entry for one in found], sum(one.missing for one in found))
        finally:
            coming.cancel()

    async def _log_begins(self) -> Position:
        log = await self._opened()
        if log is None:
            return 1 << 62
        first, _ = await log.bounds()
        return first

    async def _of_log(self, position: Position) -> Sequence[EncodedEntry]:
        log = await self._opened()
        assert log is not None
        return await log.read_encoded(
            position, max_records=READ_RECORDS, max_bytes=self._max_bytes, wait_ms=READ_WAIT_MS
        )

    async def _opened(self) -> InputLog | None:
        """A reader of its own: the app's goes on beside it."""
        if self._log is None and not self._is_gone:
            try:
                self._log = await self._bus.input_log(self._name, make=False)
            except LogGoneError:
                self._is_gone = True
        return self._log

    def _archived(
        self, place: Place, after: Position, up_to: Position
    ) -> Iterator[list[Restored] | None]:
        # In the thread that reads: loading the tables' library takes a while.
        logs = Logs(self._name.app, self._name.since_ms)
        yield from opened(place).slices(logs, after, up_to)


def opened(place: Place) -> PastArchive:
    """The past that a place keeps. Loads the tables' library, for whoever needs it alone."""
    from lockstep_services.processor.revise.past_archive import PastArchive

    return PastArchive(place)


def known(
    entries: Sequence[EncodedEntry], inputs: Container[str]
) -> tuple[list[EncodedEntry], int]:
    """Records of streams that a text does not have only move the clock; of how many events."""
    ignored = 0
    kept: list[EncodedEntry] = []
    for entry in entries:
        header = entry.header
        if isinstance(header, EventsHeader) and header.stream not in inputs:
            ignored += header.events
            tick = encode_record(TickRecord(header.clock_ms))
            kept.append(EncodedEntry(entry.position, tick))
        else:
            kept.append(entry)
    return kept, ignored
