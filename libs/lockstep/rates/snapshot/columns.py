"""`output snapshot every t` without a window, on columns (semantics 14.3): the last row of each
group, again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.column import Index
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.rates.by_time.columns import Periods
from lockstep.rates.contract import Rated
from lockstep.rates.rows import Keys, Limited, last_by_group, nothing


class LastRows:
    """See Limiter. Groups stay in the order of their first row."""

    goes_by_wall = True

    def __init__(self, rated: Rated, every: int) -> None:
        self._rated = rated
        self.keys = Keys()
        self._periods = Periods(every)
        self._held = nothing(rated.types)

    def start(self, clock_ms: int) -> None:
        self._periods.start(clock_ms)

    def due_ms(self) -> int | None:
        return self._periods.next_ms

    def run(self, rows: Limited, moves: Moves) -> Output:
        own = self._periods.before(rows.chunks.order.moments, moves)
        held = np.zeros(len(self._held), np.int64)
        period = np.append(held, rows.chunks.per_event(own))
        whole = rows.block.behind(self._held)
        fired = self._periods.passes(moves)
        shown, kept = _shown(period, whole.groups, fired)
        lengths = np.array([len(each) for each in shown], np.int64)
        numbers = np.flatnonzero(lengths)
        order, now = self._periods.firings(numbers, self._rated.place, moves)
        starts = np.append(0, np.cumsum(lengths[numbers])).astype(np.int64)
        out = whole.take(np.concatenate([np.zeros(0, np.int64), *shown]))
        self._held = whole.take(kept)
        self._periods.go_on(fired)
        return out.output(starts, order, now)

    def store(self, realm: int) -> Any:
        return self.keys.saved(self._held)

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        self._held = self.keys.loaded(state, self._rated.types)
        self._periods.next_ms = due_ms


def _shown(period: Index, groups: Index, fired: int) -> tuple[list[Index], Index]:
    """(the rows that each firing shows, those that are kept)."""
    shown: list[Index] = []
    kept = np.zeros(0, np.int64)
    at = 0
    for number in range(fired + 1):
        end = int(np.searchsorted(period, number, side="right"))
        if end > at:
            candidates = np.append(kept, np.arange(at, end, dtype=np.int64))
            places, _ = last_by_group(np.zeros(len(candidates), np.int64), groups[candidates])
            kept = candidates[places]
            at = end
        if number < fired:
            shown.append(kept)
    return shown, kept
