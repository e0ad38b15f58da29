"""time(t) and timeLength(t, n) on columns (semantics 7.3, 7.5).

Where only current events are wanted, what a timer expires is seen by nobody: the aggregates lose it
in the same order when the next event comes, so no timer is run, and idle rows are swept after the
slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import Flow
from lockstep.columns.order import BEHIND, Level, Order
from lockstep.columns.rule import NotLowerable
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.chained import Chained
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.time import kernel as timed
from lockstep.windows.timers import Timers


class TimeWindow(Chained):
    """The events of the last t milliseconds by clock, of each realm; `most` is the n of
    timeLength."""

    def __init__(self, setup: Setup, length_ms: int, most: int | None = None) -> None:
        super().__init__(setup)
        self._length_ms = length_ms
        self._most = most
        self._swept_ms = 0

    def flow(self, step: Step) -> Flow:
        inside = int(self.count.sum())
        places, starts, keys = self.enter(step)
        now = plain(step.chunks.now, np.int64)
        limits = (self._length_ms, self._most or 0)
        out = sliding.slide_by_time(
            starts, now, keys, places, *limits, self.held.times, inside, *self.chain()
        )
        clock = step.moves.last
        if len(self.head) > 1 and clock < self._swept_ms + self._length_ms:
            return self.made(step, out)
        self._swept_ms = clock
        return self._swept(step, out, clock)

    def _swept(self, step: Step, out: tuple[Longs, ...], clock: int) -> Flow:
        """The flow, ended by a chunk of what is out by the clock."""
        places, keys = sliding.sweep_by_time(
            clock - self._length_ms, self.held.times, *self.chain(), int(self.count.sum())
        )
        if not len(places):
            return self.made(step, out)
        return ended(self.made(step, out), step, places, keys, clock, self._left)

    def store(self, realm: int) -> Any:
        events = super().store(realm)
        return events if self._most is None else (events, self.is_armed(realm))

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        super().load(realm, state if self._most is None else state[0], groups)

    def is_armed(self, realm: int) -> bool:
        """Whether the reference's window would have a timer pending."""
        return bool(len(self.inside(realm)))

    def due_ms(self) -> int | None:
        """See ColumnarWindow. No sooner than the next sweep: a tick that does nothing would be due
        again at once."""
        heads = self.head[self.head != -1]
        if not len(heads):
            return None
        first_ms = int(self.held.times[heads].min())
        return (max(first_ms, self._swept_ms) if len(self.head) > 1 else first_ms) + self._length_ms

    def timers(self, realm: int) -> list[tuple[int, int]]:
        head = int(self.head[realm]) if realm < len(self.head) else -1
        return [] if head == -1 else [(int(self.held.times[head]) + self._length_ms, 0)]


def ended(
    flow: Flow, step: Step, places: Longs, keys: Longs, clock: int, left: list[Longs]
) -> Flow:
    """The flow with one more chunk per realm, of events that leave when the slice is over."""
    left.append(places)
    firsts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    count = len(firsts)
    ends = np.append(firsts[1:], len(places)) + len(flow)
    moments = np.full(count, BEHIND, np.int64)
    order = flow.order
    levels = tuple(
        level if isinstance(level, int) else np.append(level, np.zeros(count, np.int64))
        for level in order.levels
    )
    assert flow.row is not None
    assert flow.kind is not None
    assert flow.place is not None
    assert flow.time is not None
    return Flow(
        flow.source,
        np.append(flow.offsets, ends),
        Order(np.append(order.moments, moments), levels),
        np.append(flow.now, np.full(count, clock, np.int64)),
        np.append(flow.row, np.full(len(places), -1, np.int64)),
        np.append(flow.kind, np.ones(len(places), np.int8)),
        np.append(flow.place, places),
        np.append(flow.time, np.full(len(places), clock, np.int64)),
        flow.held,
        None if flow.keys is None else np.append(flow.keys, keys[firsts]),
    )


class TimerTimeWindow(TimeWindow):
    """The same where what timers expire is seen; one realm."""

    shows_timers = True
    hears_timers = True

    def __init__(self, setup: Setup, length_ms: int, most: int | None = None) -> None:
        super().__init__(setup, length_ms, most)
        self._pending = np.zeros(0, np.int64)

    def flow(self, step: Step) -> Flow:
        inside = int(self.count[0])
        places, starts, _ = self.enter(step)
        pending = np.append(self._pending, np.zeros(len(places) + 1, np.int64))
        chunks, moves = step.chunks, step.moves
        chain = np.array([self.head[0], self.tail[0], self.count[0]], np.int64)
        kind, row, place, time, offsets, made, asked = sliding.slide_by_timers(
            starts,
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            places,
            self._length_ms,
            -1 if self._most is None else self._most,
            self.held.times,
            inside,
            plain(moves.moments, np.int64),
            plain(moves.clock, np.int64),
            moves.before,
            moves.leaps,
            chain,
            self.newer,
            pending,
            len(self._pending),
        )
        source, moment, due, clock = np.ascontiguousarray(made.T)
        self._pending = pending[:asked].copy()
        self.head[0], self.tail[0], self.count[0] = chain
        self._left.append(place[kind == 1])
        order = timed_order(chunks.order, source, moment, due, (self.setup.rank, 0), step.place)
        return Flow(chunks, offsets, order, clock, row, kind, place, time, self.held)

    def is_armed(self, realm: int) -> bool:
        return bool(len(self._pending))

    def due_ms(self) -> int | None:
        return int(self._pending[0]) if len(self._pending) else None

    def timers(self, realm: int) -> list[tuple[int, int]]:
        return [(due_ms, 0) for due_ms in self._pending.tolist()]

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        self._pending = np.array(sorted(due_ms for due_ms, _ in timers), np.int64)


def timed_order(
    order: Order,
    source: Longs,
    moments: Longs,
    due: Longs,
    owner: tuple[int, Level],
    place: int,
) -> Order:
    """The places of chunks that come from chunks of the slice (`source`) or from timers (-1), which
    were `due` then; `owner` is the rank of the timers' owner and the number of the firing among
    those of the same due time. `place` is the query's among the receivers.

    A timer's chunk stands at a moment of the clock, a step below its firing (see labels.py): late
    timers that it makes others ask for come behind it. An owner's firings at one moment have
    ascending due times.
    """
    of_timer = source < 0
    from_slice = np.maximum(source, 0)
    levels: list[Level] = [
        np.full(len(source), level) if isinstance(level, int) else _taken(level, from_slice)
        for level in order.levels
    ]
    levels += [place, np.arange(len(source), dtype=np.int64)]
    while len(levels) < 4:
        levels.append(BEHIND)
    firing: tuple[Level, ...] = (due, *owner, 0)
    for number, level in enumerate(levels):
        own = firing[number] if number < len(firing) else BEHIND
        levels[number] = np.where(of_timer, own, level)
    return Order(moments, tuple(levels))


def _taken(level: Longs, index: Longs) -> Longs:
    # Where nothing came every place stands for a timer.
    return level[index] if len(level) else np.zeros(len(index), np.int64)


class RealmTimeWindow(TimeWindow):
    """time(t) where what timers expire is seen, for the instances of a partition or the sides of a
    join: `lengths_ms` are those of the realms, again and again."""

    shows_timers = True
    hears_timers = True

    def __init__(self, setup: Setup, *lengths_ms: int) -> None:
        super().__init__(setup, lengths_ms[0])
        self._lengths = np.array(lengths_ms, np.int64)
        self._waits = np.zeros(1, np.int64)
        self._timers = Timers()

    def _reserve(self, realms: int) -> None:
        super()._reserve(realms)
        self._waits = grown(self._waits, len(self.head))

    def flow(self, step: Step) -> Flow:
        inside = int(self.count.sum())
        places, _, keys = self.enter(step)
        self._timers.reserve(2 * len(places) + inside + 1)
        chunks = step.chunks
        kind, row, place, at, offsets, made = timed.slide_realms(
            timed.Events.of(chunks, keys, places),
            self._lengths,
            timed.Rows(self.held.times, self.newer),
            timed.Clock.of(step.moves),
            timed.Realms(self.head, self.tail, self.count, self._waits),
            self._timers.heap,
            self._timers.counts,
            inside,
        )
        source, moment, due, clock, number, realm = np.ascontiguousarray(made.T)
        self._left.append(place[kind == 1])
        owner = (self.setup.rank, number)
        order = timed_order(chunks.order, source, moment, due, owner, step.place)
        keyed = None if chunks.keys is None else realm
        return Flow(chunks, offsets, order, clock, row, kind, place, at, self.held, keyed)

    def due_ms(self) -> int | None:
        return self._timers.due_ms

    def timers(self, realm: int) -> list[tuple[int, int]]:
        heap = self._timers.heap[: self._timers.counts[0]]
        return [(due_ms, number) for due_ms, number, owner in heap.tolist() if owner == realm]

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        self._reserve(realm + 1)
        for due_ms, number in timers:
            self._timers.ask(due_ms, number, realm)
        self._waits[realm] += len(timers)


def time(call: ColumnarCall, setup: Setup) -> Chained:
    """time(t) or timeLength(t, n)."""
    limits = [int(call.constant(index)) for index in range(len(call))]
    if not setup.wants_expired:
        return TimeWindow(setup, *limits)
    if setup.keyed:
        if len(limits) > 1:
            raise NotLowerable("expired rows of timeLength in a partition")
        return RealmTimeWindow(setup, *limits)
    return TimerTimeWindow(setup, *limits)
