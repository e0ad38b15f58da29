"""An aggregation as a unit: it takes the chunks of its stream and puts nothing out (semantics 17).

It is purged by a timer on the wall clock, which stands among the events as the reference's would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lockstep.aggregations.columns.arguments import Argument
from lockstep.aggregations.columns.bases import NO_LONGS, Longs
from lockstep.aggregations.columns.level import LEAST_MS, Cells, Level
from lockstep.aggregations.meaning.calendar import Bucketing, is_gmt
from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Column, Unfit
from lockstep.columns.compiled import plain
from lockstep.columns.frame import Evaluate, Frame
from lockstep.columns.keys import KeySpace, combined, value_names
from lockstep.columns.merging import counts_before
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.columns.units import States, Timer
from lockstep.rates.by_time.columns import Periods
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.checked import CheckedAggregation
from lockstep.streams.columns import Condition

_DAY_MS = 86_400_000
_SECOND_MS = 1_000
_FORGET_MIN = 4096


class Incoming:
    """What an aggregation makes of the chunks of its stream: filters, event times, groups and the
    arguments of the base values."""

    def __init__(
        self,
        conditions: Sequence[Condition],
        times: Callable[[Frame], Longs],
        groups: Sequence[Evaluate],
        arguments: Sequence[tuple[Argument, Evaluate]],
    ) -> None:
        self._conditions = conditions
        self._times = times
        self._groups = groups
        self._arguments = arguments
        self.arguments = [argument for argument, _ in arguments]
        self.space = KeySpace()
        self._live = 0

    def kept(self, chunks: Chunks) -> Chunks:
        """The events that pass the filters."""
        for condition in self._conditions:
            chunks = chunks.keep(condition(chunks.rows()))
        return chunks

    def times(self, frame: Frame) -> Longs:
        """The event times. Unfit where there is none."""
        times = self._times(frame)
        if len(times) and times.min() < LEAST_MS:
            raise Unfit("an event time before all calendars")
        return times

    def groups(self, frame: Frame) -> Longs:
        """The group of each event."""
        if not self._groups:
            number = self.space.id_of(())
            return np.full(len(frame), number, np.int64)
        names = [_group_names(value(frame)) for value in self._groups]
        return self.space.assign(*combined(names))

    def known(self, columns: Sequence[Column]) -> Longs:
        """The groups whose keys rows have; -1 where there is none, or a null or NaN."""
        names = [value_names(column) for column in columns]
        codes, keys = combined(names)
        table = np.array([self._find(key) for key in keys], np.int64)
        return table[codes] if len(table) else NO_LONGS

    def _find(self, key: tuple[Any, ...]) -> int:
        equals_nothing = any(value is None or value != value for value in key)
        return -1 if equals_nothing else self.space.find(key)

    def values(self, frame: Frame) -> list[Any]:
        """The arguments of the base values."""
        return [argument.of(value(frame)) for argument, value in self._arguments]

    def settle(self, levels: Sequence[Level]) -> None:
        """The slice is done: groups and values that nobody holds any more may be forgotten."""
        for place, argument in enumerate(self.arguments):
            argument.settle([level.bases[place] for level in levels])
        if len(self.space) <= 2 * self._live + _FORGET_MIN:
            return
        live = np.zeros(len(self.space), np.bool_)
        for level in levels:
            live[level.pairs.second[: len(level)]] = True
        self._live = int(live.sum())
        if 2 * self._live < len(live):
            moved = self.space.compact(live)
            for level in levels:
                level.rename_groups(moved)


def _group_names(column: Column) -> tuple[Any, list[Any]]:
    """Keys as the reference's groups have them: a null counts as the text `null`."""
    codes, keys = value_names(column)
    if keys and keys[-1] is None:
        keys = [*keys[:-1], "null"]
    return codes, keys


@dataclass(frozen=True, slots=True)
class Purges:
    """The timers that fire in a slice: when they are due, how many of its events stand in front of
    each, and where they stand (None: there are none)."""

    due_ms: Longs
    ends: Longs
    order: Order | None

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """(first, last + 1, end) of those with no event in between. After a clock that went far
        ahead they are many, and the buckets need to be gone through once for all of them."""
        firsts = np.flatnonzero(np.diff(self.ends, prepend=-1)).tolist()
        for first, last in pairwise([*firsts, len(self.ends)]):
            yield first, last, int(self.ends[first])


@dataclass(frozen=True, eq=False)
class Past:
    """What a slice brought an aggregation: where its chunks stand (None: there were none), the
    offsets of their events, and where its purges stand."""

    order: Order | None
    starts: Longs
    purges: Order | None

    def before(self, order: Order) -> tuple[Longs, Longs]:
        """(events, purges) in front of each chunk."""
        none = np.zeros(len(order), np.int64)
        events = none if self.order is None else self.starts[counts_before(self.order, order)]
        return events, none if self.purges is None else counts_before(self.purges, order)


class AggregationUnit:
    """See Unit. `levels` are by granularity, finest first; `is_read`: other units read them."""

    shows_timers = False
    is_observed = False

    def __init__(
        self, checked: CheckedAggregation, place: int, reads: str, incoming: Incoming
    ) -> None:
        self.aggregation = checked.definition.name
        self.name = f"aggregation {self.aggregation}"
        self.place = place
        self.reads = (reads,)
        self.writes = self.aggregation
        self.is_read = False
        self.checked = checked
        self.incoming = incoming
        self._waiting: tuple[Chunks | None, Moves] | None = None
        self._past: Past | None = None
        bucketings = {g: Bucketing(g, checked.time_zone) for g in checked.granularities}
        self.levels = {g: Level(b, incoming.arguments) for g, b in bucketings.items()}
        self._unit_ms = _unit_ms(list(bucketings.values()), checked.time_zone)
        self._kept_ms = checked.retention.kept_ms
        interval_ms = checked.retention.interval_ms
        self._periods = None if interval_ms is None else Periods(interval_ms)

    # --- folding ---------------------------------------------------------------------------------

    def start(self, clock_ms: int) -> None:
        if self._periods is not None:
            self._periods.start(clock_ms)

    def wall_due_ms(self) -> int | None:
        return None if self._periods is None else self._periods.next_ms

    def due_ms(self) -> int | None:
        return None

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        """See Unit. Where others read the buckets they are filled when somebody does."""
        chunks = inputs.get(self.reads[0])
        self._waiting = (None if chunks is None else self.incoming.kept(chunks)), moves
        if not self.is_read:
            self._catch_up()
        return Output.nothing(())

    def past(self) -> Past:
        """What this slice has brought: its readers find out with it where they stand."""
        if self._past is None:
            self._past = self._catch_up(traced=True)
        return self._past

    def _catch_up(self, *, traced: bool = False) -> Past:
        (chunks, moves), self._waiting = self._waiting or (None, None), None
        if moves is None:
            return Past(None, NO_LONGS, None)
        if chunks is not None and not len(chunks):
            chunks = None
        purges = self._purges(chunks, moves)
        if chunks is None:
            self._purge(purges.due_ms, 0)
            return Past(None, NO_LONGS, purges.order)
        self._fold(chunks, purges, traced=traced)
        return Past(chunks.order.below(self.place), chunks.starts, purges.order)

    def _fold(self, chunks: Chunks, purges: Purges, *, traced: bool) -> None:
        frame = chunks.rows()
        times = plain(self.incoming.times(frame), np.int64)
        groups = self.incoming.groups(frame)
        slots = [np.empty(len(chunks), np.int64) for _ in self.levels]
        at, none = 0, len(purges.due_ms)
        for first, last, end in (*purges.runs(), (none, none, len(chunks))):
            cells = Cells(times[at:end], groups[at:end], self._unit_ms)
            for own, level in zip(slots, self.levels.values(), strict=True):
                own[at:end] = level.claim(cells)
            self._purge(purges.due_ms[first:last], first)
            at = end
        values = self.incoming.values(frame)
        for own, level in zip(slots, self.levels.values(), strict=True):
            level.fold(own, times, values, traced=traced)

    # --- purging ---------------------------------------------------------------------------------

    def _purges(self, chunks: Chunks | None, moves: Moves) -> Purges:
        periods = self._periods
        if periods is None or periods.next_ms is None or not periods.passes(moves):
            return Purges(NO_LONGS, NO_LONGS, None)
        fired = periods.passes(moves)
        numbers = np.arange(fired, dtype=np.int64)
        order, _ = periods.firings(numbers, self.place, moves)
        due = periods.next_ms + numbers * periods.every_ms
        ends = np.zeros(fired, np.int64)
        if chunks is not None:
            before = counts_before(chunks.order.below(self.place), order)
            ends = chunks.starts[before]
        periods.go_on(fired)
        return Purges(due, ends, order)

    def _purge(self, due_ms: Longs, number: int) -> None:
        """`number`: of the first of them."""
        if len(due_ms):
            for granularity, kept_ms in self._kept_ms.items():
                self.levels[granularity].purge(due_ms - kept_ms, number)

    def settle(self) -> None:
        self._catch_up()
        self._past = None
        for level in self.levels.values():
            level.settle()
        self.incoming.settle(list(self.levels.values()))

    # --- state -----------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return f"aggregation/{self.aggregation}/buckets"

    def store(self, states: States) -> None:
        keys = self.incoming.space.keys
        states.operators[self.path] = [
            (granularity.value, level.store(keys), []) for granularity, level in self.levels.items()
        ]
        due_ms = self.wall_due_ms()
        if due_ms is not None:
            states.timers.append(Timer(due_ms, self.path, wall=True))

    def load(self, states: States) -> None:
        for name, saved, *_ in states.operators[self.path]:
            self.levels[Granularity(name)].load(saved, self.incoming.space.id_of)
        for timer in states.timers:
            if timer.path == self.path and self._periods is not None:
                self._periods.next_ms = timer.due_ms

    def text_columns(self) -> list[Any]:
        return [
            codes
            for level in self.levels.values()
            for base in level.bases
            for codes in base.text_columns()
        ]


def _unit_ms(bucketings: Sequence[Bucketing], time_zone: str) -> int:
    """A span of time of which every bucket of all granularities is made."""
    fixed = [each.fixed_ms for each in bucketings if each.fixed_ms is not None]
    if fixed:
        return min(fixed)
    return _DAY_MS if is_gmt(time_zone) else _SECOND_MS
