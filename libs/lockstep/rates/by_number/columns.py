"""`output [all|first|last] every N events` on columns (semantics 14.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Index
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.rates.contract import Rated
from lockstep.rates.rows import Keys, Limited, last_by_group
from lockstep.rates.waiting import Waiting


class ByNumber:
    """See Limiter."""

    goes_by_wall = False
    carried = 0

    def __init__(self, rated: Rated, every: int, *, by_realm: bool = False) -> None:
        self.rated = rated
        self.every = every
        self.keys = Keys(by_realm=by_realm)

    def start(self, clock_ms: int) -> None:
        """See Limiter."""

    def due_ms(self) -> int | None:
        return None


class AllByNumber(ByNumber):
    """Collects N rows and lets them out together."""

    def __init__(self, rated: Rated, every: int) -> None:
        super().__init__(rated, every)
        self._held = Waiting(rated.types, self.keys)

    def run(self, rows: Limited, moves: Moves) -> Output:
        ends = len(self._held) + np.cumsum(rows.lengths)
        until = ends // self.every * self.every
        left = int(until[-1]) if len(until) else 0
        if not left:
            self._held.add(rows.block)
            return Output.nothing(self.rated.types)
        whole = rows.block.behind(self._held.joined())
        emits = np.flatnonzero(np.diff(until, prepend=0))
        self._held.replace(whole.take(np.arange(left, len(whole), dtype=np.int64)))
        out = whole.take(np.arange(left, dtype=np.int64))
        starts = np.append(0, until[emits]).astype(np.int64)
        order, now = rows.chunks.order.take(emits), rows.chunks.now[emits]
        return out.output(starts, order, now)

    def store(self, realm: int) -> Any:
        return self.keys.saved(self._held.joined())

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self._held.replace(self.keys.loaded(state, self.rated.types))


class FirstByNumber(ByNumber):
    """The 1st, (N+1)th, … row, counted by group. A group with N rows is as good as new."""

    def __init__(self, rated: Rated, every: int, *, by_realm: bool = False) -> None:
        super().__init__(rated, every, by_realm=by_realm)
        self._counts = np.zeros(0, np.int64)
        self._passed = np.zeros(0, np.int64)
        """The number of the row that passed last, by group."""
        self._number = 0

    def run(self, rows: Limited, moves: Moves) -> Output:
        groups = rows.block.groups
        self._reserve(len(self.keys))
        number = self._counts[groups] + occurrence(groups)
        totals = np.bincount(groups, minlength=len(self._counts))
        self._counts = (self._counts + totals) % self.every
        passes = number % self.every == 0
        index = np.flatnonzero(passes)
        np.maximum.at(self._passed, groups[index], self._number + index)
        self._number += len(groups)
        output = rows.kept(passes)
        self._forget()
        return output

    def _reserve(self, groups: int) -> None:
        self._counts, self._passed = grown(self._counts, groups), grown(self._passed, groups)

    def _forget(self) -> None:
        """Where many groups came since, forgets those that are as good as new."""
        if not self.keys.are_many:
            return
        live = self._counts[: len(self.keys)] > 0
        self.keys.keep(live)
        self._counts = self._counts[: len(live)][live]
        self._passed = self._passed[: len(live)][live]

    def store(self, realm: int) -> Any:
        groups = np.array(self.keys.groups_of(realm), np.int64)
        groups = groups[self._counts[groups] > 0]
        groups = groups[np.argsort(self._passed[groups])]
        counts = self._counts[groups].tolist()
        return [(self.keys.named(g), n) for g, n in zip(groups.tolist(), counts, strict=True)]

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        for key, count in state:
            if count:
                group = self.keys.id_of(realm, key)
                self._reserve(group + 1)
                self._counts[group], self._passed[group] = count, self._number
                self._number += 1


def occurrence(groups: Index) -> Index:
    """How many rows of the same group stand in front of each."""
    by_group = np.argsort(groups, kind="stable")
    arranged = groups[by_group]
    found = np.empty(len(groups), np.int64)
    found[by_group] = np.arange(len(groups)) - np.searchsorted(arranged, arranged)
    return found


class LastByNumber(ByNumber):
    """After every N rows the last one; with group by the last of each group seen in them."""

    def __init__(self, rated: Rated, every: int) -> None:
        super().__init__(rated, every)
        self._count = 0
        self._held = Waiting(rated.types, self.keys, lasts=True)

    def run(self, rows: Limited, moves: Moves) -> Output:
        count = self._count + len(rows.block)
        if count < self.every:
            self._count = count
            self._held.add(rows.block)
            return Output.nothing(self.rated.types)
        whole = rows.block.behind(self._held.joined())
        counted = self._count + np.arange(len(rows.block), dtype=np.int64)
        span = np.append(np.zeros(len(self._held), np.int64), counted // self.every)
        index, spans = last_by_group(span, whole.groups)
        complete = count // self.every
        # A span ends with its Nth row, in whose chunk it leaves.
        ending = rows.chunks.chunk_of[np.arange(1, complete + 1) * self.every - 1 - self._count]
        leaves = spans < complete
        chunk, lengths = np.unique(ending[spans[leaves]], return_counts=True)
        self._held.replace(whole.take(index[~leaves]))
        self._count = count % self.every
        starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
        order, now = rows.chunks.order.take(chunk), rows.chunks.now[chunk]
        return whole.take(index[leaves]).output(starts, order, now)

    def store(self, realm: int) -> Any:
        return (self._count, self.keys.saved(self._held.joined()))

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self._count, rows = state
        self._held.replace(self.keys.loaded(rows, self.rated.types))
