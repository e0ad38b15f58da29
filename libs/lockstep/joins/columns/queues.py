"""The two windows of a join of which only current rows are wanted. Rows leave in the order in which
they came, so a window is a queue: a range of numbers of rows. What comes and leaves within a slice
is never copied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from lockstep.columns.chunks import Chunks, joined_orders
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.held import HeldRows
from lockstep.columns.merging import merged
from lockstep.columns.moves import Moves
from lockstep.columns.played import Played
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.joins.columns import kernel as joining
from lockstep.joins.columns import queue_kernel as queues
from lockstep.joins.columns.sides import JoinKeys, JoinSide, refuse_if
from lockstep.operators.limits import allowed
from lockstep.windows.external_time.columns import attribute_clock

_ROOM: Final = 1024
_NONE: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Met:
    """Events that looked for rows, in their order, with their sides, and the pairs: the number of
    the event, and what it met, by place where that was held before the slice (`held`), else by row
    (`fresh`); -1 where it is the other one."""

    side_of: Longs
    events: Played
    trigger: Longs
    held: Longs
    fresh: Longs

    def keep(self, mask: Mask) -> Met:
        """Some of the pairs."""
        trigger, held, fresh = self.trigger[mask], self.held[mask], self.fresh[mask]
        return replace(self, trigger=trigger, held=held, fresh=fresh)

    def with_unmatched(self, outer: Mask) -> Met:
        """With a pair for each event of an `outer` side that is in none."""
        lonely = outer[self.side_of]
        lonely[self.trigger] = False
        events = np.flatnonzero(lonely)
        trigger, none = np.append(self.trigger, events), np.full(len(events), -1, np.int64)
        arranged = np.argsort(trigger, kind="stable")
        return replace(
            self,
            trigger=trigger[arranged],
            held=np.append(self.held, none)[arranged],
            fresh=np.append(self.fresh, none)[arranged],
        )


class _Numbers:
    """Rows of both sides by number: what their window goes by, their place when a slice is over,
    chains of keys, and from which number up to before which they are inside (`bounds`)."""

    def __init__(self, sides: tuple[JoinSide, JoinSide]) -> None:
        self._sides = sides
        self._space = JoinKeys()
        self.bounds = np.zeros((2, 2), np.int64)
        self.clock = np.zeros((2, 0), np.int64)
        self.places = np.full((2, 0), -1, np.int64)
        self._same = np.full((2, 0), -1, np.int64)
        self._heads = np.full((2, 1), -1, np.int64)
        self._tails = np.full((2, 1), -1, np.int64)

    def ids(self, side: JoinSide, columns: Sequence[Column], times: Longs) -> Longs:
        """The key of each row of a side; -1: equal to nothing."""
        ids = self._space.ids(side, columns, times)
        self._heads = _reaching(self._heads, len(self._space))
        self._tails = _reaching(self._tails, len(self._space))
        own: Longs = plain(ids, np.int64)
        return own

    def append(self, number: int, columns: Sequence[Column], times: Longs) -> None:
        """Numbers for new rows of a side, and what their window goes by."""
        side = self._sides[number]
        if side.window == joining.NONE:
            return
        self._make_room(number, len(times))
        is_external = side.window == joining.EXTERNAL
        first = int(self.bounds[number, 1])
        self.bounds[number, 1] += len(times)
        self.clock[number, first : first + len(times)] = (
            attribute_clock(columns[side.attribute]) if is_external else times
        )

    def _make_room(self, number: int, count: int) -> None:
        """Room for so many more rows of a side. What is inside moves to the front when as much as
        that, or as there are keys, has left since: so each row pays for itself once."""
        low, top = self.bounds[number].tolist()
        width = self.clock.shape[1]
        if top + count <= width:
            return
        needed = 2 * (top - low + count) + self._heads.shape[1]
        if needed > width:
            wider = max(needed, _ROOM)
            for name in ("clock", "places", "_same"):
                setattr(self, name, _reaching(getattr(self, name), wider))
        queues.to_front(number, low, top, self.places, self.inside())
        self.bounds[number] = 0, top - low

    def inside(self) -> queues.Inside:
        """As kernels take it."""
        return queues.Inside(self.clock, self._same, self._heads, self._tails)

    def forget_keys(self) -> None:
        """Forgets those of no row that is inside, if there are many."""
        known = len(self._space)
        if known <= JoinKeys.FORGET_MIN:
            return
        tails = self._tails[:, :known]
        live: Mask = np.any((tails >= self.bounds[:, :1]) & (tails >= 0), axis=0)
        if 2 * int(live.sum()) >= known:
            return
        self._space.compact(live)
        kept = np.flatnonzero(live)
        self._heads, self._tails = self._heads[:, kept].copy(), self._tails[:, kept].copy()


class JoinedQueues:
    """Both windows. `held` has the rows that stay when a slice is over."""

    def __init__(
        self, sides: tuple[JoinSide, JoinSide], place: int, listed: Sequence[bool], pool: StringPool
    ) -> None:
        self._sides = sides
        self._place = place
        self._numbers = _Numbers(sides)
        self.held = [HeldRows(side.types, pool) for side in sides]
        self._left: list[tuple[int, Longs]] = []
        self._room = _ROOM
        self._windows = queues.Windows(
            np.array([side.window for side in sides], np.int64),
            np.array([side.length for side in sides], np.int64),
            np.array([side.triggers for side in sides], np.bool_),
            np.array(listed, np.bool_),
        )

    # --- folding ---------------------------------------------------------------------------------

    def meet(self, streams: Mapping[str, Chunks], moves: Moves) -> Met:
        """Plays a slice. Suspected, if a step brings more pairs than it may."""
        chunks = [streams.get(side.stream) for side in self._sides]
        found, firsts = self._play(chunks, moves)
        return self._met(chunks, found, firsts)

    def sweep(self, moves: Moves) -> None:
        """Nothing came: what timers take out."""
        self._play([None, None], moves)

    def _play(
        self, chunks: Sequence[Chunks | None], moves: Moves
    ) -> tuple[tuple[Longs, ...], Longs]:
        """(lines and pairs as kernels have them, the number of each side's first new row)."""
        coming = self._coming(chunks)
        before = self._numbers.bounds.copy()
        for number, own in enumerate(chunks):
            if own is not None and self._sides[number].window != joining.NONE:
                before[number, 1] -= len(own)
        state = np.zeros(queues.SIZE, np.int64)
        state[queues.OWN] = state[queues.NEXT] = state[queues.STEP] = -1
        state[queues.FIRST : queues.FIRST + 2] = before[:, 1]
        state[queues.LOW : queues.LOW + 2] = before[:, 0]
        found = self._played(coming, moves, state)
        self._numbers.bounds[:, 0] = state[queues.LOW : queues.LOW + 2]
        for number, own in enumerate(chunks):
            if self._sides[number].window != joining.NONE:
                self._keep(number, own, before[number])
        return found, before[:, 1]

    def _coming(self, chunks: Sequence[Chunks | None]) -> list[queues.Coming]:
        ranks = _ranks(self._place, [each for each in chunks if each is not None])
        coming = []
        for number, (side, own) in enumerate(zip(self._sides, chunks, strict=True)):
            if own is None:
                none = np.zeros(0, np.int64)
                coming.append(queues.Coming(none, none, np.zeros(1, np.int64), none, none))
                continue
            keys = self._numbers.ids(side, own.columns, own.times)
            self._numbers.append(number, own.columns, own.times)
            moments = plain(own.order.moments, np.int64)
            rank = moments if ranks is None else ranks.pop(0)
            starts, now = plain(own.starts, np.int64), plain(own.now, np.int64)
            coming.append(queues.Coming(rank, moments, starts, now, keys))
        return coming

    def _played(
        self, coming: Sequence[queues.Coming], moves: Moves, state: Longs
    ) -> tuple[Longs, ...]:
        """Lines and pairs, as kernels have them (queues.Found)."""
        moments, clock = plain(moves.moments, np.int64), plain(moves.clock, np.int64)
        windows, inside, least = self._windows, self._numbers.inside(), allowed(1)
        found = queues.Found(*(np.empty(self._room, np.int64) for _ in queues.Found._fields))
        left, right = coming
        while True:
            why = queues.meet(left, right, moments, clock, windows, inside, least, state, found)
            if why == queues.DONE:
                break
            if why == queues.FULL:
                self._room *= 2
                found = queues.Found(*(_longer(each, self._room) for each in found))
                continue
            most = int(moves.most_rows(state[queues.STEP : queues.STEP + 1])[0])
            refuse_if(most <= state[queues.ALLOWED])
            state[queues.ALLOWED] = most
        lines, pairs = int(state[queues.LINES]), int(state[queues.PAIRS])
        self._room = max(_ROOM, (lines + pairs) * 2)
        ends = (lines, lines, lines, pairs, pairs)
        return tuple(each[:end] for each, end in zip(found, ends, strict=True))

    def _keep(self, number: int, chunks: Chunks | None, before: Longs) -> None:
        """Holds the new rows that are still inside; gives back who has left, when the slice is
        over. `before`: where the window stood."""
        low, top = self._numbers.bounds[number].tolist()
        old, first = before.tolist()
        self._left.append((number, self._numbers.places[number, old : min(low, first)].copy()))
        if chunks is None or low == top:
            return
        kept = max(low, first)
        rows = np.arange(kept - first, top - first)
        columns = [column.take(rows) for column in chunks.columns]
        self._numbers.places[number, kept:top] = self.held[number].add(columns, chunks.times[rows])

    def settle(self) -> None:
        """The slice is over."""
        for number, places in self._left:
            self.held[number].places.give_back(places)
        self._left.clear()
        self._numbers.forget_keys()

    # --- what was found --------------------------------------------------------------------------

    def _met(self, chunks: Sequence[Chunks | None], found: tuple[Longs, ...], firsts: Longs) -> Met:
        side_of, row, chunk, trigger, met = found
        other = 1 - side_of[trigger]
        is_held = met < firsts[other]
        held, fresh = np.full(len(met), -1, np.int64), np.full(len(met), -1, np.int64)
        held[is_held] = self._numbers.places[other[is_held], met[is_held]]
        fresh[~is_held] = met[~is_held] - firsts[other[~is_held]]
        return Met(side_of, self._events(chunks, side_of, row, chunk), trigger, held, fresh)

    def _events(
        self, chunks: Sequence[Chunks | None], side_of: Longs, row: Longs, chunk: Longs
    ) -> Played:
        """Some events of both sides, in their order."""
        streams = [each for each in chunks if each is not None]
        numbers = [number for number, each in enumerate(chunks) if each is not None]
        run_of, times = np.empty(len(row), np.int64), np.empty(len(row), np.int64)
        runs = queues.Runs(np.empty(len(row), np.int64), np.empty(len(row), np.int64))
        count = queues.runs_of(side_of, chunk, run_of, runs)
        left, right = (_NONE if own is None else plain(own.times, np.int64) for own in chunks)
        queues.times_of(side_of, row, left, right, times)
        orders, clocks, places = [], [], []
        for own, number in zip(streams, numbers, strict=True):
            at = np.flatnonzero(runs.side[:count] == number)
            own_chunks = runs.chunk[at]
            orders.append(own.order.below(self._place).take(own_chunks))
            clocks.append(own.now[own_chunks])
            places.append(at)
        back = np.empty(count, np.int64)
        back[np.concatenate(places)] = np.arange(count)
        return Played(
            streams,
            side_of if len(streams) == len(chunks) else np.zeros_like(side_of),
            row,
            run_of,
            times,
            joined_orders(orders).take(back),
            np.concatenate(clocks)[back],
            None,
        )

    def column(
        self, number: int, attribute: int, chunks: Chunks | None, row: Longs, place: Longs
    ) -> Column:
        """An attribute of a side: of rows of the slice, else of held ones by place; -1 twice is
        null."""
        if chunks is None:
            return self.held[number].column(attribute, place)
        return self.held[number].mixed(attribute, place, chunks.columns[attribute], row)

    # --- state -----------------------------------------------------------------------------------

    def due_ms(self, number: int) -> int | None:
        """When the next row of a side leaves by itself."""
        low, top = self._numbers.bounds[number].tolist()
        if self._sides[number].window != joining.TIME or low == top:
            return None
        return int(self._numbers.clock[number, low]) + self._sides[number].length

    def stored(self, number: int) -> Any:
        """What a side's window holds, as the reference has it."""
        low, top = self._numbers.bounds[number].tolist()
        return events_of(self.held[number], self._numbers.places[number, low:top].copy())

    def load(self, number: int, events: Any) -> None:
        """Takes over what `stored` gave."""
        side = self._sides[number]
        times, columns = columns_of(events, side.types)
        if not len(times):
            return
        keys = self._numbers.ids(side, columns, times)
        self._numbers.append(number, columns, times)
        top = int(self._numbers.bounds[number, 1])
        first = top - len(times)
        self._numbers.places[number, first:top] = self.held[number].add(columns, times)
        queues.enter_rows(number, first, keys, self._numbers.inside())


def _ranks(place: int, streams: Sequence[Chunks]) -> list[Longs] | None:
    """The rank of each chunk among those of both streams; None: its moment tells."""
    levels = [stream.order.levels for stream in streams]
    whole = all(isinstance(level, int) for each in levels for level in each)
    if len(streams) < 2 or (whole and levels[0] == levels[1]):
        return None
    arranged = merged([stream.order.below(place) for stream in streams])
    rank = np.empty(len(arranged), np.int64)
    rank[arranged] = np.arange(len(arranged))
    return [each.copy() for each in np.split(rank, [streams[0].count])]


def _reaching(values: Any, width: int) -> Any:
    """At least so wide."""
    if width <= values.shape[1]:
        return values
    bigger = np.full((2, max(width, 2 * values.shape[1])), -1, values.dtype)
    bigger[:, : values.shape[1]] = values
    return bigger


def _longer(values: Longs, length: int) -> Longs:
    longer = np.empty(length, values.dtype)
    longer[: len(values)] = values
    return longer
