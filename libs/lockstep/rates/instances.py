"""`output [all|last] every N events` in a partition: each instance counts for itself.

What is held stands by instance, in the order of their numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import grown
from lockstep.columns.chunks import spread
from lockstep.columns.column import Index
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.rates.by_number.columns import ByNumber, occurrence
from lockstep.rates.contract import Rated
from lockstep.rates.rows import Block, Limited, last_by_group, nothing


class Instances(ByNumber):
    """See Limiter. Rows that wait, with the instance of each."""

    def __init__(self, rated: Rated, every: int) -> None:
        super().__init__(rated, every, by_realm=True)
        self._held = nothing(rated.types)
        self._realms = np.zeros(0, np.int64)

    def hold(self, rows: Block, realms: Index) -> None:
        """These rows wait, and no others."""
        arranged = np.argsort(realms, kind="stable")
        (self._held,) = self.keys.forget(rows.take(arranged))
        self._realms = realms[arranged]

    def with_held(self, rows: Limited) -> tuple[Block, Index]:
        """(what waits and then the rows of a slice, the instance of each)."""
        own = rows.chunks.per_event(rows.realms)
        return rows.block.behind(self._held), np.append(self._realms, own)

    def held_of(self, realm: int) -> list[Any]:
        """An instance's rows as the reference keeps them."""
        start, stop = np.searchsorted(self._realms, [realm, realm + 1]).tolist()
        return self.keys.saved(self._held.take(np.arange(start, stop, dtype=np.int64)))

    def add_held(self, realm: int, saved: Any) -> None:
        """Takes over what `held_of` gave."""
        rows = self.keys.loaded(saved, self.rated.types, realm)
        own = np.full(len(rows), realm, np.int64)
        self.hold(rows.behind(self._held), np.append(self._realms, own))


class AllOfInstances(Instances):
    """Collects N rows of an instance and lets them out together."""

    def run(self, rows: Limited, moves: Moves) -> Output:
        whole, realms = self.with_held(rows)
        by_realm = np.argsort(realms, kind="stable")
        sorted_realms = realms[by_realm]
        since, until = self._spans(rows)
        emits = np.flatnonzero(until > since)
        owner = rows.realms[emits]
        firsts = np.searchsorted(sorted_realms, owner) + since[emits]
        bounds = np.stack([firsts, firsts + until[emits] - since[emits]], axis=1).ravel()
        index, starts = spread(bounds, np.arange(0, 2 * len(emits), 2, dtype=np.int64))
        gone = np.zeros(len(whole), np.bool_)
        gone[index] = True
        left = by_realm[~gone]
        (self._held,) = self.keys.forget(whole.take(left))
        self._realms = sorted_realms[~gone]
        order, now = rows.chunks.order.take(emits), rows.chunks.now[emits]
        return whole.take(by_realm[index]).output(starts, order, now, owner)

    def _spans(self, rows: Limited) -> tuple[Index, Index]:
        """(how many rows of its instance have left before each chunk, and with it), counted from
        the first that waited."""
        chunks = np.argsort(rows.realms, kind="stable")
        owner = rows.realms[chunks]
        firsts = np.searchsorted(owner, owner)
        total = np.append(0, np.cumsum(rows.lengths[chunks]))
        waited = np.searchsorted(self._realms, owner + 1) - np.searchsorted(self._realms, owner)
        ends = waited + total[1:] - total[firsts]
        left = ends // self.every * self.every
        before = np.where(firsts == np.arange(len(owner)), 0, np.append(0, left[:-1])[: len(left)])
        since, until = np.empty_like(left), np.empty_like(left)
        since[chunks], until[chunks] = before, left
        return since, until

    def store(self, realm: int) -> Any:
        return self.held_of(realm)

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self.add_held(realm, state)


class LastOfInstances(Instances):
    """After every N rows of an instance the last one of each group."""

    def __init__(self, rated: Rated, every: int) -> None:
        super().__init__(rated, every)
        self._counts = np.zeros(0, np.int64)

    def run(self, rows: Limited, moves: Moves) -> Output:
        whole, realms = self.with_held(rows)
        self._counts = grown(self._counts, int(realms.max()) + 1 if len(realms) else 1)
        waited = len(self._held)
        own = realms[waited:]
        number = self._counts[own] + occurrence(own)
        span = np.append(np.zeros(waited, np.int64), number // self.every)
        index, spans = last_by_group(span, whole.groups)
        # A span ends with its Nth row, in whose chunk it leaves.
        ending = np.flatnonzero((number + 1) % self.every == 0)
        ends = self._place(ending, own[ending], number[ending] // self.every, realms[index], spans)
        leaves = np.flatnonzero(ends >= 0)
        arranged = leaves[np.argsort(ends[leaves], kind="stable")]
        chunk, lengths = np.unique(rows.chunks.chunk_of[ends[arranged]], return_counts=True)
        stays = index[ends < 0]
        self.hold(whole.take(stays), realms[stays])
        total = self._counts + np.bincount(own, minlength=len(self._counts))
        self._counts = total % self.every
        starts = np.append(0, np.cumsum(lengths)).astype(np.int64)
        order, now = rows.chunks.order.take(chunk), rows.chunks.now[chunk]
        return whole.take(index[arranged]).output(starts, order, now, rows.realms[chunk])

    @staticmethod
    def _place(rows: Index, realms: Index, spans: Index, of_realm: Index, of_span: Index) -> Index:
        """The row that ends a span of an instance, or -1. `rows` end `spans` of `realms`."""
        if not len(rows):
            return np.full(len(of_realm), -1, np.int64)
        width = int(max(spans.max(), of_span.max(initial=0))) + 1
        names = realms * width + spans
        arranged = np.argsort(names)
        wanted = of_realm * width + of_span
        found = np.minimum(np.searchsorted(names[arranged], wanted), len(rows) - 1)
        return np.where(names[arranged][found] == wanted, rows[arranged][found], -1)

    def store(self, realm: int) -> Any:
        count = int(self._counts[realm]) if realm < len(self._counts) else 0
        return (count, self.held_of(realm))

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        count, saved = state
        self._counts = grown(self._counts, realm + 1)
        self._counts[realm] = count
        self.add_held(realm, saved)
