"""session(gap [, key [, latency]]) on columns (semantics 7.9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Longs
from lockstep.columns.compiled import plain
from lockstep.columns.flow import EXPIRED, Flow
from lockstep.columns.growing import GrowingArray
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import KeySpace, value_names
from lockstep.columns.rule import NotLowerable
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import AttributeType
from lockstep.operators.contract import StreamEvent
from lockstep.operators.packed import SMALL_ROWS, PackedEvents
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.batches import grown_lines
from lockstep.windows.contract import ColumnarCall, Setup, Step
from lockstep.windows.session import kernel as sessions
from lockstep.windows.time.columns import timed_order
from lockstep.windows.timers import Timers

_FORGET_MIN = 4096
_NONE = np.zeros(0, np.int64)
_Events = PackedEvents | Sequence[StreamEvent]


class SessionWindow:
    """Sessions by key, or (in a partition, without `key`) one in each realm."""

    slides = True
    in_order = False
    resets = False
    hears_timers = True

    def __init__(
        self, setup: Setup, gap_ms: int, key: int | None = None, latency_ms: int = 0
    ) -> None:
        self.setup = setup
        self.shows_timers = setup.wants_expired
        self.held: HeldRows = HeldRows(setup.types, setup.pool, extras=1)
        self._gap_ms = gap_ms
        self._latency_ms = latency_ms
        self._key = key
        self._space = KeySpace()
        self._sessions = np.zeros((0, sessions.COLUMNS), np.int64)
        self._lines = np.zeros((0, 2), np.int64)
        self._newer = GrowingArray(np.int64)
        self._timers = Timers()
        self._free: list[Longs] = []

    def flow(self, step: Step) -> Flow:
        chunks, moves = step.chunks, step.moves
        keys = _keys_of(step.chunks, self._key, self._space)
        self._reserve(max(len(self._space), int(keys.max()) + 1 if len(keys) else 1))
        inside = len(self.held)
        places = self.held.add(chunks.columns, chunks.times, [step.groups])
        self._newer.reserve(len(self.held.times))
        self._timers.reserve(2 * len(places) + 1)
        kind, row, place, made, dropped = sessions.run_sessions(
            plain(chunks.starts, np.int64),
            plain(chunks.order.moments, np.int64),
            plain(chunks.now, np.int64),
            plain(keys, np.int64),
            places,
            self.held.times,
            plain(moves.moments, np.int64),
            plain(moves.clock, np.int64),
            moves.before,
            moves.leaps,
            self._gap_ms,
            self._latency_ms,
            self.setup.keyed,
            inside,
            self._sessions,
            self._lines,
            self._newer.values,
            self._timers.heap,
            self._timers.counts,
        )
        self._free += [place[kind == EXPIRED], places[dropped]]
        starts, source, moment, due, clock, key, firing = np.ascontiguousarray(made.T)
        owner = (self.setup.rank, firing)
        order = timed_order(chunks.order, source, moment, due, owner, step.place)
        realms = None
        if chunks.keys is not None:
            own = chunks.keys[np.maximum(source, 0)] if chunks.count else key
            realms = np.where(source < 0, key, own)
        # Expired rows keep their own times.
        time = self.held.times[place]
        offsets = np.append(starts, len(kind))
        return Flow(chunks, offsets, order, clock, row, kind, place, time, self.held, realms)

    def _reserve(self, keys: int) -> None:
        self._lines = grown_lines(self._lines, keys, -1)
        self._sessions = grown_lines(self._sessions, 2 * len(self._lines))

    def settle(self) -> None:
        for places in self._free:
            self.held.places.give_back(places)
        self._free.clear()
        many = max(len(self._space), int(self._timers.counts[0]))
        if many > _FORGET_MIN and many > 4 * len(self.held):
            self._forget()

    def _forget(self) -> None:
        """Drops the keys and timers that nobody needs any more."""
        heap = self._timers.heap[: self._timers.counts[0]]
        line = heap[:, 2]
        key, at = np.divmod(line, 2)
        wanted = (self._lines[key, 0] == at) | (self._lines[key, 1] == at)
        wanted &= self._sessions[line, sessions.TIMER_DUE] == heap[:, 0]
        wanted &= self._sessions[line, sessions.TIMER_NUMBER] == heap[:, 1]
        self._timers.keep(wanted)
        if self._key is None:
            return
        live = np.max(self._lines[: len(self._space)], axis=1) >= 0
        moved, kept = self._space.compact(live), np.flatnonzero(live)
        rows = np.stack([2 * kept, 2 * kept + 1], axis=1).ravel()
        self._lines, self._sessions = self._lines[kept], self._sessions[rows]
        self._timers.rename(2 * moved, 2)

    def due_ms(self) -> int | None:
        """See ColumnarWindow; a session that has gone on since is asked again."""
        return self._timers.due_ms

    # --- state -----------------------------------------------------------------------------------

    def _ordered(self, which: int, realm: int) -> list[tuple[int, int]]:
        """(key, line) of the sessions that are open or put aside, in order of their creation."""
        if self.setup.keyed:
            own = np.arange(realm, min(realm + 1, len(self._lines)))
            keys = own[self._lines[own, which] >= 0]
        else:
            keys = np.flatnonzero(self._lines[:, which] >= 0)
        lines = 2 * keys + self._lines[keys, which]
        arranged = np.argsort(self._sessions[lines, sessions.NUMBER])
        return list(zip(keys[arranged].tolist(), lines[arranged].tolist(), strict=True))

    def _places(self, line: int) -> Longs:
        own = self._sessions[line]
        found: Longs = sliding.follow(own[sessions.HEAD], self._newer.values, own[sessions.COUNT])
        return found

    def keeps(self, realm: int) -> Longs:
        lines = [line for which in range(2) for _, line in self._ordered(which, realm)]
        return np.concatenate([_NONE, *map(self._places, lines)])

    def inside(self, realm: int) -> Longs:
        return self.keeps(realm)

    def store(self, realm: int) -> Any:
        ordered = [self._ordered(which, realm) for which in (sessions.OPEN, sessions.ASIDE)]
        lines = [line for each in ordered for _, line in each]
        events = iter(_drawn(self.held, [self._places(line) for line in lines]))
        columns = (sessions.LATE, sessions.START, sessions.END)
        spans = iter(self._sessions[np.array(lines, np.int64)][:, columns].tolist())
        return tuple(
            [
                (
                    None if self._key is None else self._space.keys[key],
                    (next(events), *next(spans)),
                )
                for key, _ in each
            ]
            for each in ordered
        )

    def load(self, realm: int, state: Any, groups: Callable[..., Any]) -> None:
        order = (sessions.ASIDE, sessions.OPEN)
        events = [saved[0] for which in order for _, saved in state[which]]
        chains = iter(_added(self.held, events))
        self._newer.reserve(len(self.held.times))
        for which in order:
            for name, (_, *span) in state[which]:
                key = realm if self._key is None else self._space.id_of(name)
                self._load(key, which, span, next(chains))
        every = self.keeps(realm)
        if len(every):
            columns = self.held.columns(every)
            self.held.extra(0)[every] = groups(columns, self.held.times[every], realm)

    def _load(self, key: int, which: int, span: Sequence[int], places: Longs) -> None:
        self._reserve(key + 1)
        late, start, end = span
        self._newer.values[places[:-1]] = places[1:]
        self._newer.values[places[-1]] = -1
        at = 1 if self._lines[key, 1 - which] == 0 else 0
        self._lines[key, which] = at
        number = int(self._timers.counts[1]) + 1
        due = end + (self._latency_ms if which == sessions.ASIDE else 0)
        if which == sessions.OPEN and not self.setup.keyed:
            number += sessions.BEHIND_ASIDE
        last = places[late - 1] if late else -1
        own = (start, end, places[0], places[-1], last, len(places), late, number, due, number)
        self._sessions[2 * key + at] = own
        self._timers.counts[1] += 1
        if not self.setup.keyed:
            _ask(self._timers, due, number, 2 * key + at)

    def timers(self, realm: int) -> list[tuple[int, int]]:
        due: dict[int, int] = {}
        for which, more in ((sessions.OPEN, 0), (sessions.ASIDE, self._latency_ms)):
            for _, line in self._ordered(which, realm):
                own = self._sessions[line]
                number = int(own[sessions.NUMBER]) if self.setup.keyed else 0
                due[int(own[sessions.END]) + more] = number
        return sorted(due.items())

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        """See RecallsTimers: what fires first of a partition's instances hangs on who asked
        first."""
        if not self.setup.keyed or realm >= len(self._lines) or self._lines[realm, 0] < 0:
            return
        line = 2 * realm + int(self._lines[realm, 0])
        end = int(self._sessions[line, sessions.END])
        number = next((number for due, number in timers if due == end), 0)
        self._sessions[line, sessions.NUMBER] = number
        self._sessions[line, sessions.TIMER_NUMBER] = number
        _ask(self._timers, end, number, line)


def _drawn(held: HeldRows, chains: Sequence[Longs]) -> list[_Events]:
    """The events of each session. Small ones stand in a snapshot one by one: they are drawn all at
    once, for a drawing costs much more than the few rows of one of them."""
    few = [places for places in chains if len(places) <= SMALL_ROWS]
    events = iter(events_of(held, np.concatenate(few)).events() if few else ())
    return [
        list(islice(events, len(places))) if len(places) <= SMALL_ROWS else events_of(held, places)
        for places in chains
    ]


def _added(held: HeldRows, of_each: Sequence[_Events]) -> list[Longs]:
    """Holds the events of each session, and gives their places: those that are not packed are
    added all at once."""
    loose = [events for events in of_each if not isinstance(events, PackedEvents)]
    places = _add(held, list(chain.from_iterable(loose))) if loose else _NONE
    cut = iter(np.split(places, np.cumsum([len(events) for events in loose])))
    return [
        _add(held, events) if isinstance(events, PackedEvents) else next(cut) for events in of_each
    ]


def _add(held: HeldRows, events: _Events) -> Longs:
    times, columns = columns_of(events, held.types)
    return held.add(columns, times, [np.zeros(len(times), np.int64)])


def _ask(timers: Timers, due_ms: int, number: int, line: int) -> None:
    last = int(timers.counts[1])
    timers.ask(due_ms, number, line)
    timers.counts[1] = max(last, number % sessions.BEHIND_ASIDE)


def _keys_of(chunks: Chunks, key: int | None, space: KeySpace) -> Longs:
    """The key of each event: an attribute, or the partition instance."""
    if key is not None and len(chunks):
        return space.assign(*value_names(chunks.columns[key]))
    if chunks.keys is not None:
        return chunks.per_event(chunks.keys)
    return np.zeros(len(chunks), np.int64)


def session(call: ColumnarCall, setup: Setup) -> SessionWindow:
    """NotLowerable for keys in a partition."""
    if setup.keyed and len(call) > 1:
        raise NotLowerable("session with a key in a partition")
    key = call.attribute(1, AttributeType.STRING) if len(call) > 1 else None
    latency_ms = int(call.constant(2)) if len(call) > 2 else 0
    return SessionWindow(setup, int(call.constant(0)), key, latency_ms)
