"""The engine: an app plan in motion. Time and events go in by its methods; everything it does is a
pure function of what went in (design invariant 2).

Live apps: the app clock is the wall clock, and timers fire one after another, each at its own time.
Playback apps: the app clock is the highest event timestamp; timers that are due fire in order, all
looking at the new clock (semantics 2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lockstep.events import describe
from lockstep.execute.reference.junction import Junction, WindowJunction
from lockstep.execute.reference.scheduler import Rank, Scheduler
from lockstep.operators.contract import Emit, PlainState, Stateful, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS, FaultListener
from lockstep.operators.limits import LimitError, Meter, limits
from lockstep.plan import AppPlan
from lockstep.plan.paths import owner_of
from lockstep.plan.ranks import LAST, ranks_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.durations import duration_ms

TIMERS = "_timers"
"""The stream that faults of timers are told under: no event of a stream caused them."""
RATE = "/rate"
"""How the paths of output rates end."""
NOBODYS: Rank = (LAST, True)


def _no_fault(
    stream: str, events: Sequence[StreamEvent], query: str | None, error: BaseException
) -> None:
    """The fault listener of an engine that nobody listens to."""


class Engine:
    """One app (or a part of one) in execution, in one thread. It is empty until it is assembled
    (assembly.py).

    `ranks`: who goes first of those whose timers are due at once, where it is not the plan that
    says so (see ranks.py).
    """

    def __init__(
        self,
        plan: AppPlan,
        *,
        on_fault: FaultListener = _no_fault,
        ranks: Mapping[str, int] | None = None,
    ) -> None:
        self.plan = plan
        self.on_fault = on_fault
        self.now = 0
        self.wall = 0
        self.is_playback = plan.checked.is_playback
        self.meter = Meter()
        self.compiled: dict[Any, Any] = {}
        self.operators: dict[str, Stateful] = {}
        self.sequence = 0
        self._ranks = ranks_of(plan) if ranks is None else ranks
        self._rank_by_id: dict[int, Rank] = {}
        self.app_timers, self.wall_timers = (
            Scheduler(self._next_sequence, lambda target: self._rank_by_id.get(id(target), NOBODYS))
            for _ in range(2)
        )
        self.junctions: dict[str, Junction] = {}
        self.tables: dict[str, Any] = {}
        self.windows: dict[str, Any] = {}
        self.aggregations: dict[str, Any] = {}
        self.queries: dict[str, Any] = {}
        self.on_inner_query: Callable[[Any, str], None] | None = None
        """Told of each query that an instance of a partition brings with it."""
        self.query_rows: Counter[str] = Counter()
        self.starters: list[Callable[[], None]] = []
        self.playback = Playback(self, plan.checked.annotations.get("playback"))

    def _next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence

    # --- what operators and assembly use ---------------------------------------------------------

    def new_junction(self, name: str) -> Junction:
        """A stream of the app, before anybody reads it."""
        made = WindowJunction if name in self.plan.checked.windows else Junction
        return made(name, self.failed, self.meter)

    def subscribe(self, source: str, receive: Emit, owner: str) -> None:
        """Makes an owner's function a receiver of a stream, behind the present ones (ranks.py)."""
        self.junction(source).subscribe(receive)

    def register(self, path: str, operator: Stateful) -> None:
        """Gives an operator its id."""
        if path in self.operators:
            raise ValueError(f"two operators at {path}")
        self.operators[path] = operator
        rank = self._ranks.get(owner_of(path), LAST)
        self._rank_by_id[id(operator)] = rank, not path.endswith(RATE)

    def forget(self, paths: Sequence[str]) -> None:
        """Takes operators out, with their timers (purged partition instances)."""
        gone = {id(self.operators.pop(path)) for path in paths}
        for each in gone:
            del self._rank_by_id[each]
        self.app_timers.discard(gone)
        self.wall_timers.discard(gone)

    def junction(self, name: str) -> Junction:
        """The stream, trigger or named window's output of that name."""
        return self.junctions[name]

    def failed(self, stream: str, chunk: list[StreamEvent], error: BaseException) -> None:
        """A chunk was dropped: to the fault stream if there is one, else to the listener."""
        fault = self.junctions.get(f"!{stream}")
        if fault is not None:
            told = describe(error)  # a text, so that it can be stored and sent
            fault.send([StreamEvent(e.timestamp_ms, (*e.data, told)) for e in chunk])
            return
        self.on_fault(stream, chunk, None, error)

    # --- time ------------------------------------------------------------------------------------

    def start(self, clock_ms: int) -> None:
        """Starts the app at a wall time; not called after a restore."""
        self.wall = max(self.wall, clock_ms)
        if not self.is_playback:
            self.now = self.wall
        for start in self.starters:
            start()

    def move_wall(self, clock_ms: int) -> None:
        """Time passed: timers due up to `clock_ms` fire, each at its own time."""
        while True:
            due, scheduler = self._next_wall()
            if due is None or due > clock_ms:
                break
            assert scheduler is not None
            self._set_wall(due)
            self._fire(scheduler)
        self._set_wall(clock_ms)

    def _set_wall(self, clock_ms: int) -> None:
        if clock_ms > self.wall:
            self.wall = clock_ms
        if not self.is_playback and self.wall > self.now:
            self.now = self.wall

    def _next_wall(self) -> tuple[int | None, Scheduler | None]:
        """The next timer that waits for the wall clock, and whose it is. An output rate's goes in
        front of those of its query's window that are due with it (see ranks.py)."""
        wall = self.wall_timers.head()
        app = None if self.is_playback else self.app_timers.head()
        if wall is None and app is None:
            return None, None
        if app is None or (wall is not None and wall <= app):
            assert wall is not None
            return wall[0], self.wall_timers
        return app[0], self.app_timers

    def next_due_ms(self) -> int | None:
        """The wall time at which a tick is due if nothing comes."""
        return self._next_wall()[0]

    def move_app(self, clock_ms: int) -> None:
        """Playback: the clock jumps to `clock_ms` (never back), then what is due fires in due
        order.
        """
        if clock_ms > self.now:
            self.now = clock_ms
        head = self.app_timers.head()
        if head is not None and head[0] <= self.now:
            self._fire_due()

    def _fire_due(self) -> None:
        """All timers of the app clock that are due."""
        for _ in range(limits().event_rows + 1):
            head = self.app_timers.head()
            if head is None or head[0] > self.now:
                return
            self._fire(self.app_timers)
        raise LimitError(
            f"the clock leaps so far that more than {limits().event_rows} timers fire "
            "(limits.event_rows)"
        )

    def _fire(self, scheduler: Scheduler) -> None:
        due_ms, target = scheduler.pop()
        self.meter.next(0)
        try:
            target.on_timer(due_ms)
        except PROCESSING_ERRORS as error:
            self.on_fault(TIMERS, (), _path_of(self, target), error)


def _path_of(engine: Engine, target: object) -> str | None:
    return next((path for path, held in engine.operators.items() if held is target), None)


class Playback:
    """Idle time in playback: when nothing comes for `idle` of wall time the app clock jumps ahead
    by `increment`, again and again (semantics 2). Without idle time it does nothing."""

    def __init__(self, engine: Engine, annotation: ast.Annotation | None) -> None:
        self._engine = engine
        self._idle_ms: int | None = None
        self._increment_ms = 0
        self._due_ms = 0
        if annotation is not None:
            idle, increment = annotation.get("idle.time"), annotation.get("increment")
            if idle is not None and increment is not None:
                self._idle_ms, self._increment_ms = duration_ms(idle), duration_ms(increment)
        engine.register("playback", self)

    def switch(self, on: bool, idle_ms: int | None, increment_ms: int | None) -> None:
        """Turns playback on (the clock waits for the first event) or off, while the app runs."""
        engine = self._engine
        if on and not engine.is_playback:
            engine.now = 0
        engine.is_playback = on
        self._idle_ms = idle_ms if on and increment_ms is not None else None
        self._increment_ms = increment_ms or 0
        if on:
            self.alive()
        else:
            engine.now = max(engine.now, engine.wall)

    def alive(self) -> None:
        """An event came: the idle time starts anew."""
        if self._idle_ms is not None:
            self._due_ms = self._engine.wall + self._idle_ms
            self._engine.wall_timers.add(self, self._due_ms)

    def hear(self, timestamp_ms: int) -> None:
        """In playback an event of that time is about to come, which moves the clock."""
        if self._idle_ms is not None:
            self.alive()
        self._engine.move_app(timestamp_ms)

    def on_timer(self, due_ms: int) -> None:
        """Nothing came for the idle time, if this is the last timer asked for."""
        if self._idle_ms is None or due_ms != self._due_ms:
            return
        self._due_ms = due_ms + self._idle_ms
        self._engine.wall_timers.add(self, self._due_ms)
        self._engine.move_app(self._engine.now + self._increment_ms)

    def snapshot(self) -> PlainState:
        """The settings of the moment and when the idle time ends."""
        return (self._idle_ms, self._increment_ms, self._due_ms)

    def restore(self, state: PlainState) -> None:
        self._idle_ms, self._increment_ms, self._due_ms = state
