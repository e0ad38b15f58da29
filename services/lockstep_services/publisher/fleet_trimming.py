"""When the output logs of a fleet forget, and when those of its former layouts go altogether.

All of them forget by position: what every sink has and pages no longer look back on, and what no
unit that reads the log may have to fold again. Pages look back on one former layout at most.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from lockstep.bus import Bus, LogName, OutputTail, nearly_full_bytes
from lockstep.clock import Clock
from lockstep.control import (
    OWN_LOG,
    AppView,
    Layout,
    UnitView,
    before_position,
    group_and_layout,
    layouts_of,
    unit_key,
)
from lockstep.control.gathering import first_behind
from lockstep.events import Position
from lockstep.settings import Settings
from lockstep.store import Revision, Revisions
from lockstep.store.rules import counts_for
from lockstep.telemetry import Logger
from lockstep_services.publisher.fleet_log import FLEET_CURSORS, position_of
from lockstep_services.publisher.trimming import Pauses, kept_bytes, trim_to

MAX_SEEN: Final = 4_096


class _Ends:
    """Of one log: where it ended when it was looked at, so that a position's place is known
    without a search."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, Position]] = deque()
        self._known = False

    def saw(self, tail: OutputTail) -> None:
        """All records up to the tail's hold positions up to its last row's."""
        if tail.last_id is None or (self._seen and tail.sequence <= self._seen[-1][0]):
            return
        if len(self._seen) >= MAX_SEEN:
            self._seen = deque(list(self._seen)[1::2])
        self._seen.append((tail.sequence, tail.last_id.position))

    def take(self, position: Position) -> int | None:
        """Up to which sequence there are only positions up to this one; None: not seen yet."""
        found = 0
        while self._seen and self._seen[0][1] <= position:
            found, _ = self._seen.popleft()
        self._known = self._known or found > 0
        return found if self._known else None


class FleetTrimmer:
    """Trims one app's output logs. `run` in one supervised task.

    `delivered`: the cursor of each sink, or None while that is not known or not to be asked.
    """

    def __init__(
        self,
        view: AppView,
        bus: Bus,
        revisions: Revisions,
        clock: Clock,
        settings: Settings,
        log: Logger,
        delivered: Callable[[], Iterable[int] | None],
    ) -> None:
        self._view = view
        self._bus = bus
        self._revisions = revisions
        self._log = log
        self.pauses = Pauses(clock, settings.publisher.trim_interval_ms)
        self._keep_records = settings.publisher.keep_records
        self._keep_bytes = kept_bytes(settings)
        bus_settings = settings.bus
        self._full_bytes = nearly_full_bytes(
            bus_settings.max_log_bytes, bus_settings.max_message_bytes
        )
        self._delivered = delivered
        self._ends: dict[LogName, _Ends] = {}
        self._full: set[LogName] = set()
        self.log_end: Position = 0

    async def run(self) -> None:
        """Until cancelled; UnavailableError when the bus or the store is away."""
        is_quiet = False
        while True:
            await self.pauses.pause(is_quiet=is_quiet)
            before = self.log_end
            await self.trim()
            is_quiet = self.log_end == before and not self._full

    async def trim(self) -> None:
        """Once."""
        _, self.log_end = await (await self._bus.input_log(self._view.input, make=False)).bounds()
        layouts = await layouts_of(self._bus, self._view)
        for layout in layouts:
            for name, tail in layout.tails.items():
                self._ends.setdefault(name, _Ends()).saw(tail)
        await self._remove_remains(layouts)
        delivered = self._delivered()
        if delivered is None:
            return
        cursors = list(delivered)
        pages = await self._pages(layouts)
        up_to = min([pages, *map(position_of, cursors)])
        needed = await self._needed(layouts)
        for layout in layouts:
            for name in layout.tails:
                if layout.number == OWN_LOG:
                    own = [one for one in cursors if one < FLEET_CURSORS]
                    await self._forget(name, pages, own)
                else:
                    await self._forget(name, min(up_to, needed.get(name, up_to)))
        await self._remove(layouts, up_to)

    async def _forget(self, name: LogName, up_to: Position, sequences: Sequence[int] = ()) -> None:
        """What is of a position up to this one, and was delivered up to these sequences."""
        if up_to <= 0:
            return
        log = await self._bus.output_log(name, make=False)
        found = self._ends[name].take(up_to)
        last = await before_position(log, up_to) if found is None else found
        if min([last, *sequences]) > 0:
            await log.trim(min([last, *sequences]))

    async def _pages(self, layouts: Sequence[Layout]) -> Position:
        """Up to which position pages need nothing: where any of the logs holds enough behind it,
        or where the layout before the present one begins."""
        found = [0]
        self._full.clear()
        for layout in layouts:
            for name, tail in layout.tails.items():
                log = await self._bus.output_log(name, make=False)
                held = await log.held()
                if held.size_bytes >= self._full_bytes:
                    self._full.add(name)
                unneeded = trim_to(
                    tail.sequence, held, (), keep_records=self._keep_records,
                    keep_bytes=self._keep_bytes,
                )  # fmt: skip
                if unneeded > 0 and (first := await first_behind(log, unneeded)) is not None:
                    found.append(first - 1)
        begins = [one.begin for one in layouts if one.begin is not None]
        return max([*found, *begins[:-1][-1:]])

    async def _needed(self, layouts: Sequence[Layout]) -> Mapping[LogName, Position]:
        """Of logs that units read: behind which position one of them may have to read again. Of a
        log that is nearly full nobody keeps more than it needs to begin: its readers get nothing
        new when it is full, so there would be no newer revisions in the place of the oldest."""
        tails = {name: tail for layout in layouts for name, tail in layout.tails.items()}
        units = [*self._view.units]
        if layouts[-1].begin is None:  # else all units of the former layout have ended
            units += self._view.former
        found: dict[LogName, Position] = {}
        for unit in units:
            if isinstance(unit, UnitView) and unit.upstream:
                kept = await self._revisions.list(*unit.log.key)
                oldest = min((one.position for one in kept if one.verified), default=0)
                newest = _newest(kept, tails.get(unit.log))
                for name in unit.upstream:
                    needed = newest if newest is not None and name in self._full else oldest
                    found[name] = min(needed, found.get(name, needed))
        return found

    async def _remove(self, layouts: Sequence[Layout], up_to: Position) -> None:
        """The logs of layouts of which nobody needs a position, once all units of the layout that
        followed could begin again without them."""
        for index, layout in enumerate(layouts):
            later = [one for one in layouts[index + 1 :] if one.begin is not None]
            if layout.number == OWN_LOG or not later:
                continue  # its name is the input log's, too: it stays, with one record
            begin = later[0].begin
            if begin is None or up_to < begin or not await self._stands_alone(later):
                continue
            for name in layout.tails:
                await self._bus.remove_logs(name)
                del self._ends[name]
            self._log.info(
                "removed the logs of a former layout", app=self._view.name, layout=layout.number,
                logs=len(layout.tails),
            )  # fmt: skip

    async def _remove_remains(self, layouts: Sequence[Layout]) -> None:
        """Some logs of a former layout whose others are gone: whoever removed them died in the
        midst, or a service that had not heard of it has made some anew."""
        present, known = layouts[-1], {name for one in layouts for name in one.tails}
        if present.begin is None:
            return
        for name in await self._bus.logs(self._view.name):
            is_former = OWN_LOG < group_and_layout(name.group)[1] < present.number
            if is_former and name.since_ms == self._view.log.since_ms and name not in known:
                await self._bus.remove_logs(name)
                self._ends.pop(name, None)
                self._log.info("removed a log that a laggard has made anew", unit=unit_key(name))

    async def _stands_alone(self, later: Sequence[Layout]) -> bool:
        """The next of these layouts was followed itself, or each of its units has a verified
        revision."""
        if len(later) > 1:
            return True
        for name in later[0].tails:
            kept = await self._revisions.list(*name.key)
            if not any(one.verified for one in kept):
                return False
        return True


def _newest(kept: Sequence[Revision], tail: OutputTail | None) -> Position | None:
    """Of the verified revisions of the state that a unit's log bears: who begins again begins with
    the newest. None: nothing tells."""
    state = None if tail is None else tail.generation
    if state is None:
        return None
    return max((one.position for one in kept if counts_for(one, state)), default=None)
