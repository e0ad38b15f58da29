"""Reads the input log and folds it: slices are what is there, bounded; the leader keeps time going.

A replica that finds its next record trimmed away starts again from a revision.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import Final

from lockstep.control import Gathering, UnitView
from lockstep.events import OutputId, Position
from lockstep.events.codec import EncodedEntry, EventsHeader
from lockstep.events.envelope import TickHeader
from lockstep.events.outputs import last_id
from lockstep.execute.contract import WriteOutcome
from lockstep.frame import wait_set
from lockstep.telemetry import Level
from lockstep_services.processor.fold.blocked import Blocked
from lockstep_services.processor.fold.coming import IDLE_WAIT_MS, Coming
from lockstep_services.processor.fold.slicing import SliceSize, gather_ms
from lockstep_services.processor.replica.leading import Lead, Published, Reach
from lockstep_services.processor.replica.passing import Passage
from lockstep_services.processor.replica.running import Running
from lockstep_services.processor.replica.site import Site
from lockstep_services.processor.state.engine import AppEngine, Folded

FULL_WAIT_MS: Final = 200
BLOCKED_WAIT_MS: Final = 2_000
TOUCH_EVERY_MS: Final = 20_000
"""After so long without a slice the state is touched: Spark gives idle workers a minute."""


class FoldLoop:
    """`run` in one task. `pause` makes it stand still between slices."""

    def __init__(
        self,
        site: Site,
        running: Running,
        lead: Lead,
        reach: Reach,
        published: Published,
        channels: Gathering | None = None,
    ) -> None:
        self._channels = channels
        view = running.wanted.view
        self._partitions = view.group.partitions if isinstance(view, UnitView) else 1
        self._site = site
        self._running = running
        self._lead = lead
        self._reach = reach
        self._published = published
        self._blocked = Blocked(site, running, reach)
        self._settings = site.settings.processor
        self._clock = site.clock
        self._size = SliceSize(
            limit=self._settings.slice_max_events, target_ms=self._settings.slice_target_ms
        )
        self._coming = Coming(site, running, lead, self._size)
        self._ahead: Sequence[EncodedEntry] = ()  # read already, behind the position `_behind`
        self._behind: Position = 0
        self._announced = 0  # so many of those ahead the next slice takes, as was said already
        self._end: Position | None = None  # behind it the units of another layout go on
        self._pauses = 0
        self._touched_ms = self._clock.monotonic_ms()
        self._busy = asyncio.Lock()
        self.on_rows: Callable[[OutputId], None] = lambda up_to: None
        self.on_writes: Callable[[Sequence[WriteOutcome]], None] = lambda outcomes: None

    def pause(self) -> None:
        """No further slice until `resume`, which each pause has to be followed by."""
        self._pauses += 1

    @property
    def channel_rows(self) -> int:
        """Rows of other units that wait to be folded."""
        return 0 if self._channels is None else self._channels.held_rows

    async def at_rest(self) -> None:
        """Paused: returns when the slice under way has ended."""
        async with self._busy:
            pass

    def resume(self) -> None:
        """Goes on when nobody else has paused."""
        self._pauses -= 1
        self._coming.resumed()

    async def run(self) -> None:
        """Folds until cancelled; errors of the executor come out."""
        while True:
            if self._stands_still or self._reach.has_ended:
                await self._clock.sleep_ms(FULL_WAIT_MS // 4)
            elif self._running.engine.stopped is not None:
                await self._clock.sleep_ms(BLOCKED_WAIT_MS)
                if not self._lead.is_active:
                    await self._blocked.look()
            elif self._reach.is_full:
                self._published.space.clear()
                await wait_set(self._published.space, self._clock, FULL_WAIT_MS)
            else:
                await self.step()

    @property
    def _stands_still(self) -> bool:
        return bool(self._pauses) or not self._reach.may_fold or self._running.awaits_past

    async def keep(self) -> None:
        """Touches until cancelled; errors of the executor come out."""
        while True:
            left_ms = self._touched_ms + TOUCH_EVERY_MS - self._clock.monotonic_ms()
            await self._clock.sleep_ms(max(TOUCH_EVERY_MS // 4, left_ms))
            await self.touch()

    async def touch(self) -> None:
        """Says to a state that has folded nothing for long that it is still wanted."""
        if self._clock.monotonic_ms() - self._touched_ms < TOUCH_EVERY_MS:
            return
        async with self._busy:
            if not self._pauses and self._reach.may_fold:
                self._touched_ms = self._clock.monotonic_ms()
                await self._running.engine.touch()

    async def step(self) -> None:
        """One slice, or one tick that is due, or a wait for either."""
        position = self._running.engine.position
        if self._behind != position:
            if self._channels is not None:
                self._channels.take(position)  # what a restored state has already
            if await self._coming.is_the_end(position):
                self._reach.ended.set()
                return
        if not self._ahead or self._behind != position:
            self._ahead, self._behind = await self._coming.next(position), position
            self._announced = 0
        async with self._busy:
            if self._stands_still:
                return
            if self._running.engine.position != position:
                return  # a revision was restored meanwhile
            if not self._ahead:
                if self._lead.is_active:
                    await self._coming.keep_time()
                return
            taken = self._announced or self._fitting(_complete(self._ahead, self._channels))
            entries, self._ahead = self._ahead[:taken], self._ahead[taken:]
            if self._channels is None:
                self._announced = self._fitting(self._ahead)
            if entries:
                await self._fold(self._to_the_end(entries), has_more=bool(self._ahead))
                self._behind = self._running.engine.position
        if not taken and self._channels is not None:
            await wait_set(self._channels.moved, self._clock, IDLE_WAIT_MS)
            self._channels.moved.clear()
            return
        pause_ms = gather_ms(
            is_active=self._lead.is_active,
            has_more=bool(self._ahead),
            standby_gather_ms=self._settings.standby_gather_ms,
        )
        if pause_ms:
            await wait_set(self._lead.promoted, self._clock, pause_ms)

    def _fitting(self, entries: Sequence[EncodedEntry]) -> int:
        """How many of the first a slice takes."""
        return self._size.fit(-(-_events_in(entry) // self._partitions) for entry in entries)

    def _to_the_end(self, entries: Sequence[EncodedEntry]) -> Sequence[EncodedEntry]:
        """Up to where the units of another layout go on, if that is among them."""
        for index, entry in enumerate(entries):
            if entry.layout > self._running.wanted.view.deployment.layout:
                self._end = entry.position
                return entries[: index + 1]
        return entries

    async def _fold(self, entries: Sequence[EncodedEntry], *, has_more: bool) -> None:
        started_ms = self._clock.monotonic_ms()
        self._reach.folding_since_ms = started_ms
        before = self._running.engine.position
        upstream = () if self._channels is None else self._channels.take(entries[-1].position)
        span = self._site.traces.follow("fold", _traces_in(entries), **self._site.labels)
        with span:
            folded = await self._running.engine.fold(
                entries, upstream, self._ahead[: self._announced]
            )
        self._reach.folding_since_ms = None
        if not self._reach.took_more:
            self._reach.took_more = any(not isinstance(each.header, TickHeader) for each in entries)
        self._reach.folded.set()
        self._touched_ms = self._clock.monotonic_ms()
        result, events = folded.result, folded.events
        self._reach.filling.read(before, _sizes(entries, result.position))
        _tell_of_poison(self._site, self._running.engine, folded)
        took_ms = self._clock.monotonic_ms() - started_ms
        self._reach.effort.folded(self._touched_ms, events=events, busy_ms=took_ms)
        own = max(events // self._partitions, len(entries))
        self._size.took(took_ms, own, has_more=has_more)
        self._reach.log_end = max(self._reach.log_end, result.position)
        if not has_more and self._coming.saw_the_end:
            self._reach.end_read = result.position
        if result.writes:
            self.on_writes(result.writes)
        if result.rows:
            self.on_rows(last_id(result.rows))
        if result.faults or not self._running.engine.outbox.is_empty:
            self._published.to_publish.set()
        self._published.settle()
        for stream, number in _by_stream(entries).items():
            self._reach.events.passed(self._touched_ms, stream, number)
        self._count(folded, took_ms)
        door_ms = _door_ms(entries)
        if result.rows:
            traces = (span.carried,) if span.carried else ()
            last = last_id(result.rows).position
            self._published.passing.folded(last, Passage(door_ms, traces))
        if self._lead.is_active:
            self._site.reached("folded", door_ms)
            if self._running.engine.unfoldable is not None:
                self._lead.tick_due.set()  # it may be outdone
        # Only now: who stores the end finds its rows held back, and what stopped in front of it is
        # no end.
        if self._end is not None and result.position >= self._end:
            self._reach.ended.set()

    def _count(self, folded: Folded, took_ms: int) -> None:
        """What is only looked up when somebody asks is not counted here (showing.py)."""
        metrics, labels = self._site.metrics, self._site.labels
        self._site.count("lockstep_processor_events_total", folded.events)
        if folded.repeated:
            self._site.count("lockstep_processor_repeated_events_total", folded.repeated)
        metrics.observe("lockstep_processor_slice_events", folded.events, **labels)
        metrics.observe("lockstep_processor_slice_ms", took_ms, **labels)
        is_detailed = metrics.level(self._site.name.app) is Level.DETAIL
        for query, (rows, took_us) in self._running.engine.take_work().items():
            metrics.count("lockstep_query_rows_total", rows, query=query, **labels)
            if rows:
                self._reach.rows.passed(self._touched_ms, query, rows)
            if is_detailed and took_us:
                took = took_us / 1_000
                metrics.count("lockstep_query_busy_ms_total", took, query=query, **labels)


def _complete(
    entries: Sequence[EncodedEntry], channels: Gathering | None
) -> Sequence[EncodedEntry]:
    """Those of whose positions all other units' rows are here."""
    if channels is None:
        return entries
    up_to = channels.complete_to
    return list(takewhile(lambda entry: entry.position <= up_to, entries))


def _door_ms(entries: Sequence[EncodedEntry]) -> int:
    """When the door took the first of the events, by its clock; 0 where there are none."""
    headers = (entry.header for entry in entries)
    return next((each.clock_ms for each in headers if isinstance(each, EventsHeader)), 0)


def _traces_in(entries: Sequence[EncodedEntry]) -> list[str]:
    headers = (entry.header for entry in entries)
    return [each.trace for each in headers if isinstance(each, EventsHeader) and each.trace]


def _by_stream(entries: Sequence[EncodedEntry]) -> dict[str, int]:
    """How many events of each stream are in the records, whosever they are."""
    found: dict[str, int] = {}
    for entry in entries:
        header = entry.header
        if isinstance(header, EventsHeader):
            found[header.stream] = found.get(header.stream, 0) + header.events
    return found


def _sizes(entries: Sequence[EncodedEntry], up_to: Position) -> list[tuple[Position, int]]:
    """Of those that were folded."""
    return [(each.position, each.size_bytes) for each in entries if each.position <= up_to]


def _events_in(entry: EncodedEntry) -> int:
    return entry.header.events if isinstance(entry.header, EventsHeader) else 0


def _tell_of_poison(site: Site, engine: AppEngine, folded: Folded) -> None:
    found = [fault for fault in folded.result.faults if fault.is_poison]
    if found:
        site.count("lockstep_processor_poison_events_total", len(found))
        site.log.warning(
            "events set aside", number=len(found), position=found[0].position,
            why=found[0].reason, **site.labels,
        )  # fmt: skip
    if engine.stopped is not None:
        site.log.error("app stopped", why=engine.stopped, **site.labels)
