"""Pending timers, ordered by due time, then by their rank (see ranks.py), then by the order of the
requests; equal requests merge."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from lockstep.operators.contract import TimerTarget

Rank = tuple[int, bool]
"""The rank of its owner, and whether it is something else than the owner's output rate."""


class Scheduler:
    """Timers of one clock. `next_sequence` is shared between schedulers, so that ties are
    ordered; `rank_of` gives the rank of a target.
    """

    __slots__ = ("_gone", "_heap", "_next_sequence", "_pending", "_rank_of")

    def __init__(
        self, next_sequence: Callable[[], int], rank_of: Callable[[TimerTarget], Rank]
    ) -> None:
        self._heap: list[tuple[int, Rank, int, TimerTarget]] = []
        self._pending: set[tuple[int, int]] = set()
        self._gone: set[int] = set()
        self._next_sequence = next_sequence
        self._rank_of = rank_of

    def add(self, target: TimerTarget, due_ms: int) -> None:
        """Wakes `target` at `due_ms`; asked twice for the same time it is woken once."""
        if self._gone:
            self._sweep()
        key = (due_ms, id(target))
        if key not in self._pending:
            self._pending.add(key)
            rank = self._rank_of(target)
            heapq.heappush(self._heap, (due_ms, rank, self._next_sequence(), target))

    def head(self) -> tuple[int, Rank] | None:
        """(due time, rank) of the next timer, or None."""
        if self._gone:
            self._sweep()
        return self._heap[0][:2] if self._heap else None

    def pop(self) -> tuple[int, TimerTarget]:
        """Takes the next timer out."""
        if self._gone:
            self._sweep()
        due_ms, _, _, target = heapq.heappop(self._heap)
        self._pending.discard((due_ms, id(target)))
        return due_ms, target

    def discard(self, targets: set[int]) -> None:
        """Forgets the timers of the objects with these ids (purged partition instances)."""
        # A purge discards instance by instance: the timers are gone through once for all of them,
        # before anybody looks at them or adds one (an id may belong to a new object by then).
        self._gone |= targets

    def _sweep(self) -> None:
        gone, self._gone = self._gone, set()
        self._heap = [item for item in self._heap if id(item[3]) not in gone]
        heapq.heapify(self._heap)
        self._pending = {(due, key) for due, key in self._pending if key not in gone}

    def pending(self) -> list[tuple[int, int, TimerTarget]]:
        """All timers in order: (due time, sequence, target)."""
        if self._gone:
            self._sweep()
        ordered = sorted(self._heap, key=lambda item: item[:3])
        return [(due_ms, sequence, target) for due_ms, _, sequence, target in ordered]

    def refill(self, timers: list[tuple[int, int, TimerTarget]]) -> None:
        """Replaces everything by timers that `pending` gave, on new targets."""
        rank_of = self._rank_of
        self._heap = [(due, rank_of(target), sequence, target) for due, sequence, target in timers]
        heapq.heapify(self._heap)
        self._gone = set()
        self._pending = {(due, id(target)) for due, _, target in timers}
