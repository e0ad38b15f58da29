"""Joins of two windows of any kind whose flow tells what is inside: expired rows, batches, named
windows, instances of a partition, a stream with itself, any condition (semantics 9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.chunks import Chunks, empty, joined_orders
from lockstep.columns.column import Column, Longs, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.flow import EXPIRED, RESET
from lockstep.columns.frame import Rows
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.columns.merging import merged
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order, level_of
from lockstep.columns.output import Output
from lockstep.columns.realms import Realms
from lockstep.columns.units import States
from lockstep.joins.columns import flow_kernel as joining
from lockstep.joins.columns.flows import Brought, FlowSide, Given, Sides, one_by_one
from lockstep.joins.columns.sides import refuse_if
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState
from lockstep.streams.columns import Condition

_COMPACT_FROM = 4096


class FlowJoin:
    """See Unit. `condition` is what has to hold beside equal keys."""

    def __init__(
        self,
        node: QueryNode,
        writes: str,
        place: int,
        sides: tuple[FlowSide, FlowSide],
        windows: Sides,
        condition: Condition | None,
        selector: SelectorOperator,
        realms: Realms,
        *,
        shows_timers: bool,
    ) -> None:
        self.name = node.name
        self.place = place
        self.writes = writes
        self.reads: tuple[str, ...] = (sides[0].stream, sides[1].stream)
        self.shows_timers = shows_timers
        self.hears_timers = shows_timers
        self.is_observed = not realms.is_partition
        self._keeps_realms = not realms.is_partition or node.writes.startswith("#")
        self._sides = sides
        self._windows = windows
        self._condition = condition
        self._selector = selector
        self._realms = realms
        self._selecting = SelectorState(node.name, realms, selector)
        self._left: list[tuple[int, Longs]] = []
        self._inside = Inside([side.named is None for side in sides])

    # --- folding ---------------------------------------------------------------------------------

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        given = self._given(inputs)
        chunks = given.chunks
        for each in chunks:
            if each.keys is not None and len(each.keys):
                groups = self._selector.groups
                groups.realms = max(groups.realms, int(each.keys.max()) + 1)
        brought = self._windows.bring(given, moves)
        self._inside.reserve(self._windows.rows())
        slice_ = _Slice(brought, moves, self._inside)
        for side in self._sides:
            if side.named is not None:
                self._left.append((side.number, slice_.left(side.number)))
        pairs = _Pairs(slice_, self._sides, chunks, self._windows)
        if self._condition is not None:
            stays = self._condition(pairs.frame()) | (pairs.kinds == RESET)
            pairs.take(np.flatnonzero(stays))
        pairs.add_unmatched()
        steps = slice_.chunk_of[pairs.trigger]
        output = self._selector.run_changes(
            pairs.frame(),
            pairs.kinds,
            pairs.trigger,
            steps,
            slice_.order,
            slice_.now,
            slice_.realm if self._realms.is_partition else None,
        )
        return output if self._keeps_realms else output.without_realms()

    def _given(self, inputs: Mapping[str, Chunks]) -> Given:
        sources, chunks, keys = [], [], []
        alternates = self.reads[0] == self.reads[1]
        for side in self._sides:
            source = inputs.get(side.stream)
            if source is None:
                source = empty(side.types, keyed=self._realms.is_partition)
            own = one_by_one(source, self.place, side.number) if alternates else source
            for condition in side.before:
                mask = condition(source.rows())
                source, own = source.keep(mask), own.keep(mask)
            sources.append(source)
            chunks.append(own)
            keys.append(self._inside.ids(side, own.columns, own.times, own.keys, own.chunk_of))
        return Given(sources, chunks, keys, 0 if alternates else self.place)

    def settle(self) -> None:
        self._windows.settle()
        for side, places in self._left:
            self._windows.held[side].places.give_back(places)
        self._left.clear()
        self._inside.settle(self._windows.rows())
        self._selector.forget_groups()

    def due_ms(self) -> int | None:
        return self._windows.due_ms()

    # --- state -----------------------------------------------------------------------------------

    def text_columns(self) -> list[Any]:
        return [column for held in self._windows.rows() for column in held.text_columns()]

    def store(self, states: States) -> None:
        self._selecting.prepare()
        for realm, path in self._realms.paths(self.name):
            states.operators[f"{path}/selector"] = self._selecting.stored(realm)
            for side in self._sides:
                if side.path:
                    own = f"{path}/{side.path}"
                    state, timers = self._windows.store(side.number, realm, own)
                    states.operators[own] = state
                    states.timers += timers

    def load(self, states: States) -> None:
        for realm, path in self._realms.paths(self.name):
            self._selecting.load(realm, states.operators[f"{path}/selector"])
            for side in self._sides:
                if side.path:
                    self._load(side, realm, f"{path}/{side.path}", states)
        for side in self._sides:
            if side.named is not None:
                self._load_named(side)
        self._selecting.reserve()

    def _load(self, side: FlowSide, realm: int, path: str, states: States) -> None:
        timers = [(timer.due_ms, timer.sequence) for timer in states.timers_of(path)]

        def keys_of(columns: Sequence[Column], times: Longs, of: int) -> Ids:
            keyed = self._realms.is_partition
            key = np.full(len(times), of, np.int64) if keyed else None
            return self._inside.ids(side, columns, times, key, np.arange(len(times)))

        self._windows.load(side.number, realm, states.operators[path], timers, keys_of)
        held = self._windows.rows()[-1 if side.number else 0]
        self._inside.reserve(self._windows.rows())
        places = self._windows.inside(side.number, realm)
        self._inside.enter(side.number, places, held.extra(0)[places])

    def _load_named(self, side: FlowSide) -> None:
        assert side.named is not None
        times, columns = side.named.content()
        rows = Rows(len(times), lambda _, i: columns[i], lambda: times, lambda: times)
        kept = np.ones(len(times), np.bool_)
        for condition in side.before:
            kept &= condition(rows)
        index = np.flatnonzero(kept)
        columns, times = [column.take(index) for column in columns], times[index]
        keys = self._inside.ids(side, columns, times, None, np.arange(len(times)))
        places = self._windows.add(side.number, columns, times, keys)
        self._inside.reserve(self._windows.rows())
        self._inside.enter(side.number, places, keys)


class Inside:
    """Who is inside on both sides, by key. Key 0 is that of rows that are equal to nothing."""

    def __init__(self, known: Sequence[bool]) -> None:
        self._known = np.array(known)
        self._space = KeySpace()
        self._heads = np.full((2, 2), -1, np.int64)
        self._tails = np.full((2, 2), -1, np.int64)
        self._newer = np.full((2, 1), -1, np.int64)

    def ids(
        self,
        side: FlowSide,
        columns: Sequence[Column],
        times: Longs,
        realm: Longs | None,
        chunk_of: Longs,
    ) -> Ids:
        """The key of each row."""
        count = len(times)
        if not count:
            return np.zeros(0, np.int64)
        frame = Rows(count, lambda _, i: columns[i], lambda: times, lambda: times)
        nowhere = np.zeros(count, np.bool_)
        names: list[Any] = []
        for key in side.key:
            column = key(frame)
            if column.nulls is not None:
                nowhere |= column.nulls
            if column.values.dtype.kind == "f":
                nowhere |= np.isnan(column.values)
            names.append(value_names(column))
        if realm is not None:
            of_each = realm[chunk_of]
            names.append((of_each, range(int(of_each.max()) + 1)))
        if not names:
            names.append((np.zeros(count, np.int64), [None]))
        codes, keys = names[0] if len(names) == 1 else combined(names)
        return np.where(nowhere, 0, self._space.assign(codes, keys) + 1)

    def reserve(self, held: Sequence[HeldRows]) -> None:
        """Makes room for all keys, and for the rows that the sides hold."""
        keys = len(self._space) + 1
        if keys > self._heads.shape[1]:
            self._heads, self._tails = _wider(self._heads, keys), _wider(self._tails, keys)
        places = max((len(each.times) for each in held), default=0)
        if places > self._newer.shape[1]:
            self._newer = _wider(self._newer, places)

    def join(self, chunks: joining.Chunks, brought: Brought) -> Any:
        """See kernel."""
        inside = joining.Inside(self._heads, self._tails, self._newer, self._known)
        return joining.join_flows(chunks, brought.kind, brought.key, brought.place, inside)

    def enter(self, side: int, places: Longs, keys: Ids) -> None:
        """Rows that a snapshot says are inside, in order."""
        kinds = np.zeros(len(places), np.int64)
        inside = joining.Inside(self._heads, self._tails, self._newer, self._known)
        key, place = plain(keys, np.int64), plain(places, np.int64)
        joining.observe(side, 0, len(places), kinds, key, place, inside)

    def settle(self, held: Sequence[HeldRows]) -> None:
        """Forgets the keys that nobody inside has, if they are many."""
        count = len(self._space)
        live = (self._heads != -1).any(axis=0)[1 : count + 1]
        if count <= _COMPACT_FROM or 2 * int(live.sum()) >= count:
            return
        for each in held:
            # Rows that wait for their turn (an open batch) are not inside yet.
            live[np.maximum(each.extra(0)[: each.places.capacity] - 1, 0)] = True
        if 2 * int(live.sum()) >= count:
            return
        kept = np.append(0, np.flatnonzero(live) + 1)
        moved = np.append(0, self._space.compact(live) + 1)
        self._heads, self._tails = self._heads[:, kept].copy(), self._tails[:, kept].copy()
        for each in held:
            own = each.extra(0)
            own[:] = moved[np.clip(own, 0, count)]


class _Slice:
    """What both sides bring in a slice, in order. Per chunk: order, clock and partition instance;
    per trigger: its event and chunk; per pair: its trigger and the place of the row it meets."""

    def __init__(self, brought: Sequence[Brought], moves: Moves, inside: Inside) -> None:
        self._starts = np.cumsum([0] + [len(each.kind) for each in brought])
        whole = _concatenated(brought)
        orders = [each.order for each in brought]
        arranged = merged(orders)
        self.order = joined_orders(orders).take(arranged)
        self.now = whole.now[arranged]
        self.realm = whole.realm[arranged]
        self.side = whole.side[arranged]
        self.brought = whole
        chunks = joining.Chunks(
            plain(self.side, np.int64),
            plain(whole.first[arranged], np.int64),
            plain(whole.end[arranged], np.int64),
            plain(whole.role[arranged], np.int64),
            plain(moves.most_rows(self.order.moments), np.int64),
            _goes_on(self.order),
        )
        triggers, pairs, over = inside.join(chunks, whole)
        refuse_if(over)
        self.event, self.chunk_of = triggers[:, 0], triggers[:, 1]
        self.trigger, self.met = pairs[:, 0], pairs[:, 1]

    def left(self, side: int) -> Longs:
        """The places of the rows that left a side, where each side brings its own."""
        events = slice(self._starts[side], self._starts[side + 1])
        places = self.brought.place[events]
        gone: Longs = places[(self.brought.kind[events] == EXPIRED) & (places >= 0)]
        return gone


def _goes_on(order: Order) -> Mask:
    """Whether a chunk belongs to what the chunk of the log, or the timer, of the one before it
    brought."""
    same = np.zeros(len(order), np.bool_)
    if len(order) < 2:
        return same
    same[1:] = order.moments[1:] == order.moments[:-1]
    for level in range(3):
        values = level_of(order, level)
        same[1:] &= (order.moments[1:] & 1 == 1) | (values[1:] == values[:-1])
    return same


def _concatenated(brought: Sequence[Brought]) -> Brought:
    starts = np.cumsum([0] + [len(each.kind) for each in brought])
    moved = [
        replace(each, first=each.first + start, end=each.end + start)
        for each, start in zip(brought, starts.tolist(), strict=False)
    ]
    names = ("side", "first", "end", "role", "now", "realm", "kind", "key", "place", "time")
    parts = {
        name: plain(np.concatenate([getattr(each, name) for each in moved]), np.int64)
        for name in names
    }
    return Brought(order=brought[0].order, **parts)


class _Pairs:
    """Triggers beside the rows that they meet."""

    def __init__(
        self, slice_: _Slice, sides: Sequence[FlowSide], chunks: Sequence[Chunks], windows: Sides
    ) -> None:
        self._slice = slice_
        self._sides = sides
        self._chunks = chunks
        self._held = windows.held
        self.trigger = slice_.trigger
        self.met = slice_.met

    @property
    def kinds(self) -> Longs:
        """The kind of each pair."""
        found: Longs = self._slice.brought.kind[self._slice.event[self.trigger]]
        return found

    def take(self, index: Longs) -> None:
        """Keeps some of the pairs."""
        self.trigger, self.met = self.trigger[index], self.met[index]

    def add_unmatched(self) -> None:
        """Outer joins: triggers of a preserved side that meet nobody stand alone."""
        outer = np.array([side.is_outer for side in self._sides])
        if not outer.any():
            return
        lonely = outer[self._slice.side[self._slice.chunk_of]]
        lonely[self.trigger] = False
        alone = np.flatnonzero(lonely)
        trigger = np.concatenate([self.trigger, alone])
        met = np.concatenate([self.met, np.full(len(alone), -1, np.int64)])
        arranged = np.argsort(trigger, kind="stable")
        self.trigger, self.met = trigger[arranged], met[arranged]

    def frame(self) -> Rows:
        """The pairs as a frame of shape JOINED."""
        slice_ = self._slice
        event = slice_.event[self.trigger]
        chunk = slice_.chunk_of[self.trigger]
        by_left = slice_.side[chunk] == 0
        own, met = slice_.brought.place[event], self.met
        refs = [np.where(by_left == (number == 0), own, met) for number in range(2)]

        def find(slot: int, attribute: int) -> Column:
            held = self._held[slot]
            if held is not None:
                column: Column = held.column(attribute, refs[slot])
                return column
            return self._chunks[slot].columns[attribute].take(refs[slot])

        def absent(slot: int) -> Mask | None:
            gone: Mask = refs[slot] < 0
            return gone if gone.any() else None

        times, now = slice_.brought.time[event], slice_.now[chunk]
        return Rows(len(event), find, lambda: times, lambda: now, absent)


def _wider(values: Longs, width: int) -> Longs:
    bigger = np.full((2, len(grown(values[0], width))), -1, np.int64)
    bigger[:, : values.shape[1]] = values
    return bigger
