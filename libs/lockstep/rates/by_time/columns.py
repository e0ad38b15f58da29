"""`output [all|first|last] every t` on columns (semantics 14.2). `all` and `last` run on the wall
clock."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Index
from lockstep.columns.compiled import plain
from lockstep.columns.merging import counts_before
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.output import Output
from lockstep.rates.by_time import kernel as limiting
from lockstep.rates.contract import Rated
from lockstep.rates.rows import Block, Keys, Limited, last_by_group
from lockstep.rates.waiting import Waiting


class Periods:
    """A timer of period `every` on the wall clock, from the start of the app."""

    def __init__(self, every_ms: int) -> None:
        self.every_ms = every_ms
        self.next_ms: int | None = None

    def start(self, clock_ms: int) -> None:
        self.next_ms = clock_ms + self.every_ms

    def before(self, order: Order, place: int, moves: Moves) -> Index:
        """How many times it has fired in the slice in front of each chunk."""
        walls = moves.wall
        passed = np.searchsorted(walls.moments, order.moments, side="left")
        fired = self._fired(np.append(walls.before, walls.clock)[passed])
        of_timers = np.flatnonzero((order.moments & 1) == 0)
        if len(of_timers):
            own, _ = self.firings(np.arange(self.passes(moves), dtype=np.int64), place, moves)
            fired[of_timers] = counts_before(own, order.take(of_timers))
        return fired

    def _fired(self, clock: Index) -> Index:
        assert self.next_ms is not None
        fired: Index = np.maximum((clock - self.next_ms) // self.every_ms + 1, 0)
        return fired

    def passes(self, moves: Moves) -> int:
        """How many times it fires in the slice."""
        return int(self._fired(np.array([moves.wall.last], np.int64))[0])

    def firings(self, numbers: Index, place: int, moves: Moves) -> tuple[Order, Index]:
        """(where some of the firings stand, the app clock there)."""
        assert self.next_ms is not None
        due = self.next_ms + numbers * self.every_ms
        walls = moves.wall
        moments = walls.moments[np.searchsorted(walls.clock, due, side="left")]
        now = np.maximum(due, walls.before)
        if moves.leaps:
            passed = np.searchsorted(moves.moments, moments, side="left")
            now = np.append(moves.before, moves.clock)[passed]
        return Order(moments, (due, place, 0, 0)), now

    def go_on(self, fired: int) -> None:
        """The slice is over."""
        assert self.next_ms is not None
        self.next_ms += fired * self.every_ms


class Periodic:
    """See Limiter. Rows of a period leave together at its end."""

    goes_by_wall = True
    carried = 0
    lasts = False
    """See Waiting."""

    def __init__(self, rated: Rated, every: int) -> None:
        self.rated = rated
        self.keys = Keys()
        self.periods = Periods(every)
        self._held = Waiting(rated.types, self.keys, lasts=self.lasts)

    def start(self, clock_ms: int) -> None:
        self.periods.start(clock_ms)

    def due_ms(self) -> int | None:
        return self.periods.next_ms

    def chosen(self, period: Index, rows: Block) -> tuple[Index, Index]:
        """(rows that leave at the end of their period, their periods)."""
        return np.arange(len(rows), dtype=np.int64), period

    def run(self, rows: Limited, moves: Moves) -> Output:
        fired = self.periods.passes(moves)
        if not fired:
            self._held.add(rows.block)
            return Output.nothing(self.rated.types)
        own = self.periods.before(rows.chunks.order, self.rated.place, moves)
        whole = rows.block.behind(self._held.joined())
        held = np.zeros(len(self._held), np.int64)
        index, period = self.chosen(np.append(held, rows.chunks.per_event(own)), whole)
        leaves = period < fired
        numbers, lengths = np.unique(period[leaves], return_counts=True)
        order, now = self.periods.firings(numbers, self.rated.place, moves)
        starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
        self._held.replace(whole.take(index[~leaves]))
        self.periods.go_on(fired)
        return whole.take(index[leaves]).output(starts, order, now)

    def store(self, realm: int) -> Any:
        return self.keys.saved(self._held.joined())

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self._held.replace(self.keys.loaded(state, self.rated.types))
        self.periods.next_ms = due_ms


class AllByTime(Periodic):
    """All rows of a period together."""


class LastByTime(Periodic):
    """The last row of a period, by group."""

    lasts = True

    def chosen(self, period: Index, rows: Block) -> tuple[Index, Index]:
        return last_by_group(period, rows.groups)


class FirstByTime:
    """A row passes if none of its group passed in the `every` before it, by the app clock. A group
    whose time was over when another one of its instance passed is as good as new."""

    goes_by_wall = False
    carried = 0

    def __init__(self, rated: Rated, every: int, *, by_realm: bool = False) -> None:
        self.keys = Keys(by_realm=by_realm)
        self._every_ms = every
        self._passed = np.zeros(0, np.int64)
        self._numbers = np.zeros(0, np.int64)
        self._number = 0

    def start(self, clock_ms: int) -> None:
        """See Limiter."""

    def due_ms(self) -> int | None:
        return None

    def run(self, rows: Limited, moves: Moves) -> Output:
        self._reserve(len(self.keys))
        now = plain(rows.chunks.per_event(rows.chunks.now), np.int64)
        groups = plain(rows.block.groups, np.int64)
        output = rows.kept(
            limiting.first_by_time(
                now, groups, self._every_ms, self._number, self._passed, self._numbers
            )
        )
        self._number += len(now)
        self._forget()
        return output

    def _reserve(self, groups: int) -> None:
        self._passed, self._numbers = grown(self._passed, groups), grown(self._numbers, groups)

    def _forget(self) -> None:
        """Where many groups came since, forgets those that are as good as new."""
        if not self.keys.are_many:
            return
        live = np.zeros(len(self.keys), np.bool_)
        for realm in self.keys.instances():
            live[self._fresh(realm)] = True
        self.keys.keep(live)
        self._passed = self._passed[: len(live)][live]
        self._numbers = self._numbers[: len(live)][live]

    def _fresh(self, realm: int) -> Index:
        """The groups of an instance whose time is not over, as they passed."""
        groups = np.array(self.keys.groups_of(realm), np.int64)
        passed, number = self._passed[groups], self._numbers[groups]
        newest = passed.max(initial=0, where=number > 0)
        fresh = (number > 0) & (passed + self._every_ms > newest)
        found: Index = groups[fresh][np.argsort(number[fresh])]
        return found

    def store(self, realm: int) -> Any:
        groups = self._fresh(realm)
        times = self._passed[groups].tolist()
        return [(self.keys.named(g), time) for g, time in zip(groups.tolist(), times, strict=True)]

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        for key, passed_ms in sorted(state, key=lambda passed: passed[1]):
            group = self.keys.id_of(realm, key)
            self._reserve(group + 1)
            self._number += 1
            self._passed[group], self._numbers[group] = passed_ms, self._number
