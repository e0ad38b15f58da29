"""The reference engine for a part of an app, which tells where in the run of the whole app each of
its chunks stands (see columns.order)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Unfit
from lockstep.columns.labels import Levels, label
from lockstep.columns.moves import Moves
from lockstep.columns.order import BEHIND, START
from lockstep.columns.units import Timer
from lockstep.events import Event, Operation, describe
from lockstep.execute.columnar.hosted.records import Records
from lockstep.execute.observe import Observation, Observe, QueryChunk, StreamChunk
from lockstep.execute.reference.assembly import assemble
from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.junction import Junction
from lockstep.operators.contract import EXPIRED, Emit, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import Meter, too_deep
from lockstep.plan import AppPlan
from lockstep.plan.ranks import owners_of

IN_FRONT = -BEHIND
"""The level of what a query put out, in front of everything that came of it."""

_PER_RECEIVER = 1 << 40
Observed = tuple[tuple[int, ...], Observation]


class Place:
    """Where the run stands: a moment, the levels there, and how many chunks came out below them."""

    __slots__ = ("count", "levels", "moment")

    def __init__(self) -> None:
        self.moment = START
        self.levels: Levels = ()
        self.count = 0

    def next(self) -> Levels:
        """The levels of the next chunk that comes out here."""
        count = self.count
        self.count = count + 1
        return (*self.levels, count)

    def at(self, moment: int, levels: Levels) -> None:
        """Goes somewhere else."""
        self.moment, self.levels, self.count = moment, levels, 0


class _MomentMeter(Meter):
    """All of a moment is one step: that counts more than the reference does, never less."""

    __slots__ = ("moves",)

    def __init__(self) -> None:
        super().__init__()
        self.moves: Moves | None = None

    def next(self, events: int) -> None:
        """Moments are told by whoever moves the place."""

    def allowed(self) -> int:
        """See Meter."""
        return 0 if self.moves is None else int(self.moves.most_rows(np.array([self.step]))[0])


class PlacedJunction(Junction):
    """A junction that keeps the place through its receivers, and refuses to drop a chunk: what
    else that would drop is not all known here."""

    __slots__ = ("place", "told")

    def __init__(
        self, name: str, place: Place, told: Callable[[str, Levels, Any], None], meter: Meter
    ) -> None:
        super().__init__(name, _refuse, meter)
        self.place = place
        self.told = told

    def send(self, chunk: list[StreamEvent]) -> None:
        self._count.add(len(chunk))
        self._count.depth += 1
        try:
            self._through(chunk)
        except RecursionError as error:
            raise too_deep(f"stream {self.name}") from error
        finally:
            self._count.depth -= 1

    def _through(self, chunk: list[StreamEvent]) -> None:
        place = self.place
        above = place.levels
        levels = place.next()
        count = place.count
        self.told(self.name, levels, chunk)
        for receive in self._receivers:
            place.levels = levels
            self._hand(receive, chunk)
        place.levels, place.count = above, count

    def deliver(self, number: int, chunk: list[StreamEvent]) -> None:
        """Hands a chunk from outside to one receiver."""
        self._count.add(0 if number else len(chunk))
        self._count.depth += 1
        try:
            self._hand(self._receivers[number], chunk)
        finally:
            self._count.depth -= 1

    def _hand(self, receive: Emit, chunk: list[StreamEvent]) -> None:
        try:
            receive(chunk)
        except PROCESSING_ERRORS as error:
            _refuse(self.name, chunk, error)


def _refuse(stream: str, chunk: Sequence[Any], error: BaseException) -> None:
    raise Unfit(f"{stream} brought what a query refuses: {describe(error)}") from error


class HostedEngine(Engine):
    """An engine of a plan that is part of another one, whose `ranks` tell who goes first.

    `records` takes the chunks of the streams (and the changes of the tables) it has room for;
    `observed` takes everything, where it is not None. Errors that a junction would contain raise
    Unfit.
    """

    def __init__(
        self,
        plan: AppPlan,
        ranks: Mapping[str, int],
        records: Mapping[str, Records],
        *,
        observe: Observe,
    ) -> None:
        self.place = Place()
        self.receivers: dict[str, list[int]] = {}
        self.records = records
        self.observed: list[Observed] | None = [] if observe else None
        self._owners = ranks
        self._counts: dict[str, int] = {}
        super().__init__(plan, on_fault=_fault, ranks=ranks)
        self._moments = self.meter = _MomentMeter()
        assemble(self)
        if observe:
            for name, query in self.queries.items():
                self._listen(query, name)
            if observe is Observe.ALL:
                self.on_inner_query = self._listen
        for name, table in self.tables.items():
            if name in records:
                table.listen(self._table_listener(records[name]))

    # --- what the engine is made of --------------------------------------------------------------

    def new_junction(self, name: str) -> Junction:
        return PlacedJunction(name, self.place, self._told, self.meter)

    def subscribe(self, source: str, receive: Emit, owner: str) -> None:
        """See Engine. A receiver runs below its owner's rank; a second one of the same owner (as a
        join of a stream with itself has) behind the first."""
        rank = self._owners[owner]
        number = self._counts.get(f"{source} {owner}", 0)
        self._counts[f"{source} {owner}"] = number + 1
        place, first = self.place, number * _PER_RECEIVER

        def placed(chunk: list[StreamEvent]) -> None:
            place.levels = (*place.levels, rank)
            place.count = first
            receive(chunk)

        self.junction(source).subscribe(placed)
        self.receivers.setdefault(source, []).append(rank)

    def failed(self, stream: str, chunk: list[StreamEvent], error: BaseException) -> None:
        _refuse(stream, chunk, error)

    # --- what is told ----------------------------------------------------------------------------

    def _told(self, stream: str, levels: Levels, chunk: list[StreamEvent]) -> None:
        records = self.records.get(stream)
        moment = self.place.moment
        if records is not None:
            records.add(moment, levels, chunk, self.now)
        if self.observed is not None:
            events = tuple(Event(e.timestamp_ms, e.data, e.kind == EXPIRED) for e in chunk)
            self.observed.append(((moment, *levels, BEHIND), StreamChunk(stream, events)))

    def _listen(self, query: Any, name: str) -> None:
        def listen(chunk: list[StreamEvent]) -> None:
            assert self.observed is not None
            place = self.place
            events = [Event(e.timestamp_ms, e.data, e.kind == EXPIRED) for e in chunk]
            current = tuple(event for event in events if not event.expired)
            expired = tuple(event for event in events if event.expired)
            at = (place.moment, *place.levels, place.count, IN_FRONT)
            self.observed.append((at, QueryChunk(name, current, expired)))

        query.listeners.append(listen)

    def _table_listener(self, records: Records) -> Callable[[Operation, tuple[Any, ...]], None]:
        def listen(operation: Operation, data: tuple[Any, ...]) -> None:
            event = StreamEvent(self.now, data)
            records.add(self.place.moment, self.place.next(), [event], self.now, operation)

        return listen

    # --- time ------------------------------------------------------------------------------------

    def start(
        self, clock_ms: int, in_front: Callable[[Levels], None] = lambda levels: None
    ) -> None:
        """See Engine; what triggers send at once stands at START. `in_front` brings what others
        send there in front of the place where one of its own starts: who has not begun yet sees
        nothing of it."""
        self._set_wall(clock_ms)
        for owner, start in zip(owners_of(self.plan), self.starters, strict=True):
            levels = (self._owners[owner],)
            in_front(levels)
            self.place.at(START, levels)
            start()

    def due_on(self, *, wall: bool) -> int | None:
        """When the next timer of a clock is due: of the wall clock, which a live app goes by, or of
        the clock of an app in playback."""
        if wall:
            return self.next_due_ms()
        head = self.app_timers.head()
        return None if head is None else head[0]

    def fire(
        self, moment: int, until_ms: int, behind: Levels, bound: Levels | None, *, wall: bool
    ) -> Levels:
        """Fires what is due until a time and stands in front of `bound`; gives the last firing
        (`behind` when there was none)."""
        while True:
            if wall:
                head, scheduler = self._next_timer()
            else:
                head, scheduler = self.app_timers.head(), self.app_timers
            if head is None or head[0] > until_ms:
                return behind
            firing = label(head[0], head[1][0], behind)
            if bound is not None and firing >= bound:
                return behind
            if wall:
                self._set_wall(head[0])
            behind = firing
            self.place.at(moment, firing)
            self.meter.step = moment
            self._fire(scheduler)

    def begin(self, moves: Moves) -> None:
        """A slice begins."""
        self._moments.moves = moves

    def reach(self, clock_ms: int) -> None:
        """The wall clock is there."""
        self._set_wall(clock_ms)

    def _next_timer(self) -> Any:
        app = None if self.is_playback else self.app_timers.head()
        wall = self.wall_timers.head()
        if app is None or (wall is not None and wall <= app):
            return wall, self.wall_timers
        return app, self.app_timers

    def pending(self, paths: Mapping[int, str]) -> list[Timer]:
        """The timers that wait; `paths` are those of operators by id."""
        return [
            Timer(due_ms, paths[id(target)], sequence, wall)
            for scheduler, wall in ((self.app_timers, False), (self.wall_timers, True))
            for due_ms, sequence, target in scheduler.pending()
        ]

    def refill(self, timers: Sequence[Timer]) -> None:
        """Puts back what `pending` gave."""
        self.sequence = max((timer.sequence for timer in timers), default=0)
        for scheduler, wall in ((self.app_timers, False), (self.wall_timers, True)):
            chosen: list[Any] = [
                (timer.due_ms, timer.sequence, self.operators[timer.path])
                for timer in timers
                if timer.wall is wall
            ]
            scheduler.refill(chosen)

    def arrive(self, stream: str, number: int, at: tuple[int, Levels], chunk: Any) -> None:
        """Hands a chunk that stands at a moment and levels to a stream's receiver."""
        self.place.at(*at)
        self.meter.step = at[0]
        junction: Any = self.junctions[stream]
        junction.deliver(number, chunk)


def _fault(
    stream: str, events: Sequence[StreamEvent], query: str | None, error: BaseException
) -> None:
    _refuse(stream, events, error)
