"""The two windows of a join whose pairs also leave again: who is inside on each side, chained by
arrival and by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Longs, Mask, Suspected
from lockstep.columns.compiled import plain
from lockstep.columns.frame import Evaluate, Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.moves import Moves
from lockstep.columns.played import Played
from lockstep.columns.pool import StringPool
from lockstep.columns.stored import columns_of, events_of
from lockstep.events import AttributeType
from lockstep.joins.columns import kernel as joining
from lockstep.streams.columns import Condition
from lockstep.windows import sliding_kernel as sliding
from lockstep.windows.external_time.columns import attribute_clock


@dataclass(frozen=True, slots=True)
class JoinSide:
    """A side as written: its stream, filters, window (kind of kernels.joining, length, attribute of
    externalTime), key values, and what it does."""

    stream: str
    types: Sequence[AttributeType]
    before: Sequence[Condition]
    window: int
    length: int
    attribute: int
    path: str
    key: Sequence[Evaluate]
    triggers: bool
    is_outer: bool

    def passed(self, chunks: Chunks) -> Chunks:
        """What the filters in front of the window let through."""
        for condition in self.before:
            chunks = chunks.keep(condition(chunks.rows()))
        return chunks


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Per played event: its side, the id of its key (-1: equal to nothing), its place among the
    held rows (-1: its side has no window), and what externalTime goes by."""

    side_of: Longs
    key: Ids
    place: Longs
    value: Longs


class JoinKeys:
    """The keys of a join as small numbers, the same on both sides."""

    FORGET_MIN: Final = 4096
    """With so many keys nobody looks for those that are gone."""

    def __init__(self) -> None:
        self._space = KeySpace()

    def __len__(self) -> int:
        return len(self._space)

    def ids(self, side: JoinSide, own: Sequence[Column], times: Longs) -> Ids:
        """The id of the key of each row of a side; -1: equal to nothing."""
        frame = Rows(len(times), lambda _, i: own[i], lambda: times, lambda: times)
        columns = [key(frame) for key in side.key]
        names = [value_names(column) for column in columns]
        codes, keys = names[0] if len(names) == 1 else combined(names)
        ids = self._space.assign(codes, keys) if len(times) else np.zeros(0, np.int64)
        for column in columns:
            if column.nulls is not None:
                ids[column.nulls] = -1
            if column.values.dtype.kind == "f":
                ids[np.isnan(column.values)] = -1
        return ids

    def compact(self, live: Mask) -> Ids:
        """Forgets the keys that are not live; gives the new id of each old one (-1: none)."""
        return self._space.compact(live)


class JoinedWindows:
    """Both windows. Rows of `held` are by side; what left is given back when the slice is over."""

    def __init__(self, sides: tuple[JoinSide, JoinSide], pool: StringPool) -> None:
        self._sides = sides
        self._space = JoinKeys()
        self.held = [HeldRows(side.types, pool) for side in sides]
        self._ends = np.array([[-1, -1, 0], [-1, -1, 0]], np.int64)
        self._newer = np.full((2, 1), -1, np.int64)
        self._same = np.full((2, 1), -1, np.int64)
        self._keys = np.full((2, 1), -1, np.int64)
        self._times = np.zeros((2, 1), np.int64)
        self._heads = np.full((2, 1), -1, np.int64)
        self._tails = np.full((2, 1), -1, np.int64)
        self._left: list[tuple[int, Longs]] = []
        self._windows = np.array([side.window for side in sides], np.int64)
        self._lengths = np.array([side.length for side in sides], np.int64)
        self._triggers = np.array([side.triggers for side in sides], np.bool_)

    def arrive(self, streams: dict[str, Chunks], played: Played) -> Arrivals:
        """Gives the events of a slice keys and, where their side has a window, places."""
        count = len(played)
        side_of = np.zeros(count, np.int64)
        key, place = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
        value = np.zeros(count, np.int64)
        for number, side in enumerate(self._sides):
            chunks = streams.get(side.stream)
            if chunks is None:
                continue
            events, rows = played.of(chunks)
            side_of[events] = number
            key[events] = self._key_ids(side, chunks.columns, chunks.times)[rows]
            if side.window == joining.NONE:
                continue
            places, clock = self._add(number, chunks.columns, chunks.times)
            place[events], value[events] = places[rows], clock[rows]
        return Arrivals(side_of, key, place, value)

    def _add(self, number: int, columns: Sequence[Column], times: Longs) -> tuple[Longs, Longs]:
        """(places of new rows, what their window goes by)."""
        side = self._sides[number]
        is_external = side.window == joining.EXTERNAL
        clock = attribute_clock(columns[side.attribute]) if is_external else times
        places = self.held[number].add(columns, times)
        capacity = len(self.held[number].times)
        if capacity > self._newer.shape[1]:
            for name in ("_newer", "_same", "_keys", "_times"):
                setattr(self, name, _wider(getattr(self, name), capacity))
        self._times[number, places] = clock
        return places, clock

    def _key_ids(self, side: JoinSide, own: Sequence[Column], times: Longs) -> Ids:
        ids = self._space.ids(side, own, times)
        if len(self._space) > self._heads.shape[1]:
            self._heads = _wider(self._heads, len(self._space))
            self._tails = _wider(self._tails, len(self._space))
        return ids

    def _events(self, arrivals: Arrivals, played: Played, moves: Moves) -> joining.Events:
        moved = np.searchsorted(moves.moments, played.order.moments).astype(np.int64)
        return joining.Events(
            arrivals.side_of,
            arrivals.key,
            arrivals.place,
            plain(played.per_event(played.now), np.int64),
            arrivals.value,
            plain(played.times, np.int64),
            plain(played.per_event(moved), np.int64),
            plain(played.per_event(played.order.moments), np.int64),
            plain(played.per_event(moves.most_rows(played.order.moments)), np.int64),
        )

    def _both(self) -> joining.Sides:
        return joining.Sides(self._windows, self._lengths, self._triggers, self._times)

    def _chains(self) -> joining.Chains:
        return joining.Chains(
            self._ends, self._newer, self._same, self._keys, self._heads, self._tails
        )

    def settle(self) -> None:
        for number, places in self._left:
            self.held[number].places.give_back(places)
        self._left.clear()
        live = (self._heads != -1).any(axis=0)[: len(self._space)]
        if len(self._space) <= JoinKeys.FORGET_MIN or 2 * int(live.sum()) >= len(self._space):
            return
        kept = np.flatnonzero(live)
        moved = self._space.compact(live)
        self._heads, self._tails = self._heads[:, kept].copy(), self._tails[:, kept].copy()
        known = (self._keys >= 0) & (self._keys < len(moved))
        self._keys = np.where(known, moved[np.where(known, self._keys, 0)], -1)

    # --- state -----------------------------------------------------------------------------------

    def stored(self, number: int) -> Any:
        """What a side's window holds, as the reference has it."""
        head, _, count = self._ends[number]
        places = sliding.follow(head, np.ascontiguousarray(self._newer[number]), count)
        return events_of(self.held[number], places)

    def load(self, number: int, events: Any) -> None:
        """Takes over what `stored` gave."""
        times, columns = columns_of(events, self._sides[number].types)
        count = len(times)
        if not count:
            return
        key = self._key_ids(self._sides[number], columns, times)
        places, _ = self._add(number, columns, times)
        joining.take_in_all(number, places, plain(key, np.int64), self._chains())


def refuse_if(over: bool) -> None:
    """Suspected, if an event meets more rows than it may."""
    if over:
        raise Suspected("a join of an event with too many rows")


def _wider(values: Any, width: int) -> Any:
    bigger = np.full((2, len(grown(values[0], width))), -1, values.dtype)
    bigger[:, : values.shape[1]] = values
    return bigger
