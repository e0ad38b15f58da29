"""What comes to be folded: reads the input log behind the state, for as long as it is worth it.

A bus that is away for a while costs the state nothing: it is read on from the same position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

from lockstep.bus import LogGoneError, begins_beyond
from lockstep.control.endings import last_revision
from lockstep.events import Fault, LockstepError, Position, TickRecord, UnavailableError
from lockstep.events.codec import EncodedEntry
from lockstep_services.processor.fold.slicing import SliceSize
from lockstep_services.processor.replica.leading import Lead
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site

IDLE_WAIT_MS: Final = 500
QUIET_WAIT_MS: Final = 15_000
"""Of who leads, until the next timer, and of a standby, until it is promoted."""
RESTING_WAIT_MS: Final = 60_000
"""The same where nothing came in that time, and no timer is set: each wait of a thousand apps is
work when it ends. What comes ends it at once."""
AWAY_PAUSE_MS: Final = 200
"""Behind the first try that finds the bus away; each is followed by one twice as long."""
AWAY_PAUSE_MAX_MS: Final = 1_000
READ_MAX_RECORDS: Final = 4_096
TICK_SPAN_MS: Final = 60_000
"""How far behind the first timer that is due a tick lets the clock go, at first: after an outage
all that would have fired meanwhile is due. What one tick brings is folded as one, in memory."""
TICK_SPAN_MIN_MS: Final = 10_000
TICK_SPAN_MAX_MS: Final = 24 * 3_600_000
"""The same when such steps take little time: each that takes less than half of a slice's target
lets the next one be twice as wide, each that takes longer than the target half as wide; but always
four times as wide as it takes, so that it ends."""

T = TypeVar("T")


class TrimmedAwayError(LockstepError):
    """Records that this replica has not folded are gone: only a revision can bring it on."""

    fault = Fault.EXTERNAL
    retryable = True


class TickSteps:
    """How far each tick goes while timers are long due. What one brings depends on the app: as far
    as a slice's target allows. How the time is cut changes no row (invariant 2)."""

    def __init__(self, target_ms: int) -> None:
        self._target_ms = target_ms
        self.span_ms = TICK_SPAN_MS
        self._began_ms: int | None = None

    def next(self, due_ms: int, now_ms: int, began_ms: int) -> int:
        """The time of the next tick; the first timer was due at `due_ms`, and the step before this
        one ends at `began_ms` of the machine's clock. Where no timer is due nothing is cut."""
        if self._began_ms is not None:
            took_ms = began_ms - self._began_ms
            if took_ms > self._target_ms:
                least_ms = max(TICK_SPAN_MIN_MS, 4 * took_ms)
                self.span_ms = max(least_ms, self.span_ms // 2)
            elif 2 * took_ms < self._target_ms:
                self.span_ms *= 2
            self.span_ms = min(self.span_ms, TICK_SPAN_MAX_MS)
        if now_ms - due_ms <= self.span_ms:
            self.end()
            return now_ms
        self._began_ms = began_ms
        return due_ms + self.span_ms

    def end(self) -> None:
        """Nothing is long due any more, or something else came between."""
        self.span_ms, self._began_ms = TICK_SPAN_MS, None


class Coming:
    """Reads of a log. While the bus is away each call waits and tries again; LogGoneError."""

    def __init__(self, site: Site, running: Running, lead: Lead, size: SliceSize) -> None:
        self._site = site
        self._running = running
        self._lead = lead
        self._size = size
        self._settings = site.settings.processor
        self._rests = False
        self.saw_the_end = False
        """Nothing stood behind what was read last, as far as its size tells: a read gives what is
        there, up to its limits."""
        self._away_ms = 0
        self._resumed = asyncio.Event()
        self._steps = TickSteps(self._settings.slice_target_ms)

    def resumed(self) -> None:
        """The state may be another one: a long wait ends."""
        self._resumed.set()

    async def next(self, position: Position) -> Sequence[EncodedEntry]:
        """What comes; nothing as soon as this replica is promoted, as a timer may be due. After a
        pause the state may be another one, with a timer: a long wait ends with it, too.
        TrimmedAwayError."""
        self._resumed.clear()
        coming = self._patiently(partial(self._read, position))
        is_promoted = self._lead.promoted.is_set()
        if is_promoted and not self._rests:
            return await coming
        ends = self._resumed if is_promoted else self._lead.promoted
        both = reading, waiting = (
            asyncio.ensure_future(coming),
            asyncio.ensure_future(ends.wait()),
        )
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            return reading.result() if reading.done() else ()
        finally:
            reading.cancel()
            waiting.cancel()

    async def is_the_end(self, position: Position) -> bool:
        """Whether a state that was restored is the one with which its layout has ended."""
        return await self._patiently(partial(self._ends_at, position))

    async def keep_time(self) -> None:
        """A tick when a timer is due and nothing came; also the first record of a state that has
        folded none, as triggers at the start are due with it. What is long due comes in steps."""
        engine = self._running.engine
        due_ms, now_ms = engine.next_due_ms, self._site.clock.now_ms()
        if engine.has_started and (due_ms is None or due_ms > now_ms):
            self._steps.end()
            return
        began_ms = self._site.clock.monotonic_ms()
        if engine.has_started and due_ms is not None:
            now_ms = self._steps.next(due_ms, now_ms, began_ms)
        # Equal ids keep a leader that is not sure of its first try from ticking twice.
        dedup_id = f"tick/{self._lead.epoch}/{engine.position}/{due_ms}"
        try:
            await self._site.input.append(TickRecord(now_ms), dedup_id=dedup_id)
            self._away_ms = 0
        except LogGoneError:
            raise
        except UnavailableError as error:  # it is due still, and is tried again after a look
            await self._away(error)
            self._steps.end()

    async def _patiently(self, work: Callable[[], Awaitable[T]]) -> T:
        while True:
            try:
                found = await work()
            except LogGoneError:
                raise
            except UnavailableError as error:
                await self._away(error)
            else:
                self._away_ms = 0
                return found

    async def _away(self, error: UnavailableError) -> None:
        """Tells the first time: a thousand apps may meet it."""
        if not self._away_ms:
            self._site.log.warning("reading waits for the bus", error=str(error))
        self._away_ms = min(AWAY_PAUSE_MAX_MS, self._away_ms * 2 or AWAY_PAUSE_MS)
        await self._site.clock.sleep_ms(self._away_ms)

    async def _ends_at(self, position: Position) -> bool:
        deployment = self._running.wanted.view.deployment
        if position <= deployment.origin.position:
            return False
        found = await self._site.input.read_encoded(
            position - 1, max_records=1, max_bytes=self._settings.slice_max_bytes, wait_ms=0
        )
        if found and found[0].position == position:
            return found[0].layout > deployment.layout
        # The record that would say so is gone: the units of the next layout go on, if there is one.
        return await last_revision(self._site.world.store.revisions, self._site.name) is not None

    async def _read(self, position: Position) -> Sequence[EncodedEntry]:
        log, wait_ms = self._site.input, self._patience_ms()
        max_records = min(self._size.records_to_read, READ_MAX_RECORDS)
        max_bytes = self._settings.slice_max_bytes
        entries = await log.read_encoded(
            position, max_records=max_records, max_bytes=max_bytes, wait_ms=wait_ms
        )
        # One that would go over the limit is left for the next read; it is a small part of it.
        read_bytes = sum(entry.size_bytes for entry in entries)
        self.saw_the_end = 0 < len(entries) < max_records and 2 * read_bytes < max_bytes
        first = await begins_beyond(log, position, entries)
        if first is not None:
            raise TrimmedAwayError(
                f"the log begins at {first}", where=f"{self._site.name.app} at {position}"
            )
        self._rests = not entries and wait_ms >= QUIET_WAIT_MS
        return entries

    def _patience_ms(self) -> int:
        quiet_ms = RESTING_WAIT_MS if self._rests else QUIET_WAIT_MS
        if not self._lead.is_active:
            return IDLE_WAIT_MS if self._lead.promoted.is_set() else quiet_ms
        due_ms = self._running.engine.next_due_ms
        if due_ms is None:
            return quiet_ms
        return min(QUIET_WAIT_MS, max(1, due_ms - self._site.clock.now_ms()))
