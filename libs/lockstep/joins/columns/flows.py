"""What the sides of a join bring, as flows: the side's own window on columns, a named window, or no
window at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from lockstep.columns.chunks import Chunks, joined_orders, lengths_of
from lockstep.columns.column import Column, Longs
from lockstep.columns.flow import CURRENT, EXPIRED, RESET, Flow
from lockstep.columns.frame import Evaluate
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids
from lockstep.columns.merging import merged
from lockstep.columns.moves import Moves
from lockstep.columns.order import IN_FRONT, Order
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import WrittenWindow
from lockstep.columns.units import Timer
from lockstep.events import AttributeType
from lockstep.joins.columns import flow_kernel as joining
from lockstep.streams.columns import Condition
from lockstep.windows.contract import ColumnarWindow, RecallsTimers, Step

BOTH = joining.OBSERVES | joining.TRIGGERS


@dataclass(frozen=True, slots=True)
class FlowSide:
    """A side as written: its stream, filters, the values that have to be equal, and what it does.
    `path`: where the reference keeps its own window; `named`: the named window that it reads."""

    number: int
    stream: str
    types: Sequence[AttributeType]
    before: Sequence[Condition]
    key: Sequence[Evaluate]
    triggers: bool
    is_outer: bool
    path: str = ""
    named: WrittenWindow | None = None


@dataclass(frozen=True, eq=False)
class Brought:
    """What a side, or both, bring in a slice. Per chunk: its side, its events (first, and behind
    the last), its role, where it stands, the clock, the partition instance; per event: its kind,
    key, the place of its row (the row of the slice, where nothing is held), and its timestamp."""

    side: Longs
    first: Longs
    end: Longs
    role: Longs
    order: Order
    now: Longs
    realm: Longs
    kind: Longs
    key: Longs
    place: Longs
    time: Longs


@dataclass(frozen=True, eq=False)
class Given:
    """What the sides get of a slice, behind their filters: the chunks as they left their streams,
    as the sides take them at `place`, and the keys of the events."""

    sources: Sequence[Chunks]
    chunks: Sequence[Chunks]
    keys: Sequence[Ids]
    place: int


class Sides(Protocol):
    """Both sides of a join."""

    @property
    def held(self) -> Sequence[Any]:
        """What gives the columns of each side's rows, None where nothing is held."""

    def rows(self) -> list[HeldRows]:
        """All rows that are held; the first are the left side's, the last the right one's."""

    def add(self, side: int, columns: Sequence[Column], times: Longs, keys: Ids) -> Longs:
        """Takes rows that a named window holds; gives their places."""

    def bring(self, given: Given, moves: Moves) -> list[Brought]:
        """What a slice brings."""

    def settle(self) -> None:
        """The slice is done."""

    def due_ms(self) -> int | None:
        """When the next timer fires, or None."""

    def store(self, side: int, realm: int, path: str) -> tuple[Any, list[Timer]]:
        """The state of a side's own window, and its timers."""

    def load(self, side: int, realm: int, state: Any, timers: Any, keys_of: Any) -> None:
        """Takes over what `store` gave."""

    def inside(self, side: int, realm: int) -> Longs:
        """The places of the rows that are found in a side's own window, in order."""


def of_stream(side: FlowSide, chunks: Chunks, keys: Ids, place: int, *, leaves: bool) -> Brought:
    """A side without a window: each event comes, leaves if somebody wants to see that, and
    resets."""
    kinds = (CURRENT, EXPIRED, RESET) if leaves else (CURRENT, RESET)
    width, count = len(kinds), len(chunks)
    now = np.repeat(chunks.per_event(chunks.now), width)
    kind = np.tile(np.array(kinds, np.int64), count)
    return Brought(
        np.full(chunks.count, side.number, np.int64),
        chunks.starts[:-1] * width,
        chunks.starts[1:] * width,
        np.full(chunks.count, joining.TRIGGERS if side.triggers else 0, np.int64),
        chunks.order.below(place, 0),
        chunks.now,
        realms_of(chunks.keys, chunks.count),
        kind,
        np.repeat(keys, width),
        np.repeat(np.arange(count, dtype=np.int64), width),
        np.where(kind == CURRENT, np.repeat(chunks.times, width), now),
    )


def of_window(sides: Sequence[FlowSide], side: Longs, flow: Flow, realm: Longs) -> Brought:
    """What a window on columns lets out, of the side of each chunk."""
    held = flow.held
    assert held is not None
    assert flow.place is not None
    kind = flow.kinds().astype(np.int64)
    triggers = np.array([each.triggers for each in sides])
    return Brought(
        side,
        flow.offsets[:-1],
        flow.offsets[1:],
        np.where(triggers[side], BOTH, joining.OBSERVES),
        flow.order,
        flow.now,
        realm,
        kind,
        np.where(kind == RESET, 0, held.extra(0)[flow.place]),
        np.where(kind == RESET, -1, flow.place),
        np.asarray(flow.frame().times()),
    )


def of_named(
    side: FlowSide, held: HeldRows, source: Chunks, chunks: Chunks, keys: Ids, place: int
) -> Brought:
    """What a named window lets out: it is inside at once (`source`), and gets to the side when it
    is its turn (`chunks`: the same events, cut as the side takes them)."""
    kind = np.zeros(len(source), np.int64) if source.kinds is None else source.kinds
    kind = kind.astype(np.int64)
    comes = np.flatnonzero(kind == CURRENT)
    places = np.full(len(source), -1, np.int64)
    columns = [column.take(comes) for column in source.columns]
    places[comes] = held.add(columns, source.times[comes], [keys[comes]])

    parts = [(source, source.order.below(IN_FRONT), joining.OBSERVES)]
    if side.triggers:
        parts.append((chunks, chunks.order.below(place, 0), joining.TRIGGERS))
    count = sum(part.count for part, _, _ in parts)
    return Brought(
        np.full(count, side.number, np.int64),
        np.concatenate([part.starts[:-1] for part, _, _ in parts]),
        np.concatenate([part.starts[1:] for part, _, _ in parts]),
        np.concatenate([np.full(part.count, role, np.int64) for part, _, role in parts]),
        joined_orders([order for _, order, _ in parts]),
        np.concatenate([part.now for part, _, _ in parts]),
        realms_of(None, count),
        kind,
        keys,
        places,
        source.times,
    )


def realms_of(keys: Longs | None, count: int) -> Longs:
    """The partition instance of each chunk, 0 outside of partitions."""
    return np.zeros(count, np.int64) if keys is None else keys


def one_by_one(chunks: Chunks, place: int, side: int) -> Chunks:
    """The chunks of a stream that is joined with itself: the reference hands each event to the left
    side, then to the right one, then goes on with the next."""
    count = len(chunks)
    at = chunks.chunk_of
    number = np.arange(count, dtype=np.int64) - chunks.starts[:-1][at]
    return replace(
        chunks,
        starts=np.arange(count + 1, dtype=np.int64),
        order=chunks.order.take(at).below(place, 2 * number + side),
        now=chunks.now[at],
        keys=None if chunks.keys is None else chunks.keys[at],
    )


class Apart:
    """See Sides: each side by itself. At most one of the windows shows its timers."""

    def __init__(
        self,
        sides: Sequence[FlowSide],
        windows: Sequence[ColumnarWindow | None],
        pool: StringPool,
        *,
        leaves: bool,
    ) -> None:
        self._sides = sides
        self._windows = windows
        self._leaves = leaves
        self.held: list[Any] = [
            window.held
            if window is not None
            else (None if side.named is None else HeldRows(side.types, pool, extras=1))
            for side, window in zip(sides, windows, strict=True)
        ]

    def bring(self, given: Given, moves: Moves) -> list[Brought]:
        brought: list[Brought] = []
        keys, at = given.keys, given.place
        for side, window in zip(self._sides, self._windows, strict=True):
            number = side.number
            own, held = given.chunks[number], self.held[number]
            if window is not None:
                flow = window.flow(Step(own, keys[number], moves, at))
                which = np.full(flow.count, number, np.int64)
                realm = realms_of(flow.keys, flow.count)
                brought.append(of_window(self._sides, which, flow, realm))
            elif held is not None:
                brought.append(of_named(side, held, given.sources[number], own, keys[number], at))
            else:
                brought.append(of_stream(side, own, keys[number], at, leaves=self._leaves))
        return brought

    def rows(self) -> list[HeldRows]:
        return [held for held in self.held if held is not None]

    def add(self, side: int, columns: Sequence[Column], times: Longs, keys: Ids) -> Longs:
        held: HeldRows = self.held[side]
        return held.add(columns, times, [keys])

    def settle(self) -> None:
        for window in self._windows:
            if window is not None:
                window.settle()

    def due_ms(self) -> int | None:
        due = [window.due_ms() for window in self._windows if window is not None]
        return min((each for each in due if each is not None), default=None)

    def store(self, side: int, realm: int, path: str) -> tuple[Any, list[Timer]]:
        window = self._windows[side]
        assert window is not None
        return window.store(realm), [
            Timer(due, path, number) for due, number in window.timers(realm)
        ]

    def load(self, side: int, realm: int, state: Any, timers: Any, keys_of: Any) -> None:
        window = self._windows[side]
        assert window is not None
        window.load(realm, state, keys_of)
        if isinstance(window, RecallsTimers):
            window.load_timers(realm, timers)

    def inside(self, side: int, realm: int) -> Longs:
        window = self._windows[side]
        assert window is not None
        found: Longs = window.inside(realm)
        return found


class RowsOfBoth(HeldRows):
    """Rows of two schemas in the places of one window. The last extra is the side of each."""

    def __init__(self, schemas: Sequence[Sequence[AttributeType]], pool: StringPool) -> None:
        super().__init__([*schemas[0], *schemas[1]], pool, extras=2)
        self._bounds = ((0, len(schemas[0])), (len(schemas[0]), len(self.types)))
        self.coming: tuple[Longs, Sequence[Sequence[Column]]] | None = None
        self.side = 0

    def add(self, columns: Sequence[Column], times: Longs, extras: Sequence[Longs] = ()) -> Longs:
        """Takes the rows of `coming`, or those of a side that is loaded."""
        of_each, both = self.coming or (
            np.full(len(times), self.side, np.int64),
            [columns] * 2,
        )
        places = super().add((), times, [*extras, of_each])
        for number, own in enumerate(both):
            rows = places[of_each == number]
            for i, column in enumerate(own if len(rows) else ()):
                self.put(self._bounds[number][0] + i, rows, column)
        return places

    def columns(self, places: Longs) -> tuple[Column, ...]:
        """The attributes of the side whose rows these are."""
        first, end = self._bounds[int(self.extra(1)[places[0]]) if len(places) else 0]
        return tuple(self.column(i, places) for i in range(first, end))


class RowsOfOne:
    """One side of them."""

    def __init__(self, both: RowsOfBoth, first: int) -> None:
        self._both = both
        self._first = first

    def column(self, i: int, places: Longs) -> Column:
        """See HeldRows."""
        return self._both.column(self._first + i, places)


class Together:
    """See Sides: windows of one kind whose timers are seen, as the realms of one window, which
    knows who asked first."""

    def __init__(self, sides: Sequence[FlowSide], window: Any, pool: StringPool) -> None:
        self._sides = sides
        self._window = window
        schemas = [side.types for side in sides]
        self._rows = window.held = RowsOfBoth(schemas, pool)
        self.held: list[Any] = [RowsOfOne(self._rows, 0), RowsOfOne(self._rows, len(schemas[0]))]

    def bring(self, given: Given, moves: Moves) -> list[Brought]:
        own, keys, at = given.chunks, given.keys, given.place
        orders = [each.order for each in own]
        lengths = np.concatenate([lengths_of(each.starts) for each in own])
        count = sum(map(len, own))
        every = Chunks(
            (Column(AttributeType.LONG, np.arange(count, dtype=np.int64)),),
            np.concatenate([each.times for each in own]),
            np.append(0, np.cumsum(lengths)).astype(np.int64),
            joined_orders(orders),
            np.concatenate([each.now for each in own]),
            np.concatenate(
                [2 * realms_of(each.keys, each.count) + n for n, each in enumerate(own)]
            ),
        )
        every = every.arranged(merged(orders))
        arranged = every.columns[0].values
        of_each = (arranged >= len(own[0])).astype(np.int64)
        rows = np.where(of_each == 1, arranged - len(own[0]), arranged)
        columns = [
            [column.take(rows[of_each == n]) for column in each.columns]
            for n, each in enumerate(own)
        ]
        self._rows.coming = (of_each, columns)
        groups = np.concatenate(list(keys))[arranged]
        flow = self._window.flow(Step(replace(every, columns=()), groups, moves, at))
        self._rows.coming = None
        return [of_window(self._sides, flow.keys & 1, flow, flow.keys >> 1)]

    def rows(self) -> list[HeldRows]:
        return [self._rows]

    def add(self, side: int, columns: Sequence[Column], times: Longs, keys: Ids) -> Longs:
        raise NotImplementedError("a named window has no window of the join's own")

    def settle(self) -> None:
        self._window.settle()

    def due_ms(self) -> int | None:
        due: int | None = self._window.due_ms()
        return due

    def store(self, side: int, realm: int, path: str) -> tuple[Any, list[Timer]]:
        own = 2 * realm + side
        timers = [Timer(due, path, number) for due, number in self._window.timers(own)]
        return self._window.store(own), timers

    def load(self, side: int, realm: int, state: Any, timers: Any, keys_of: Any) -> None:
        window, own = self._window, 2 * realm + side
        self._rows.side = side
        window.setup = replace(window.setup, types=self._sides[side].types)
        window.load(own, state, lambda columns, times, _: keys_of(columns, times, realm))
        window.load_timers(own, timers)

    def inside(self, side: int, realm: int) -> Longs:
        found: Longs = self._window.inside(2 * realm + side)
        return found
