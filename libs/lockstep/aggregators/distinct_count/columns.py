"""distinctCount in columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import LONG, Chosen, Feed, Grouped, Leaves, grown
from lockstep.aggregators.distinct_count import identity, kernel
from lockstep.columns.column import Column
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.events import AttributeType

_FORGET_MIN = 4096


class PairSpace(KeySpace):
    """Ids of combinations of a group and a value."""

    @property
    def pairs(self) -> list[tuple[int, Hashable]]:
        """The combinations by id."""
        return self.keys  # type: ignore[return-value]


class DistinctCounts(Grouped):
    """distinctCount(x)."""

    names = (("count", np.int64), ("owing", np.int64))

    def __init__(self) -> None:
        super().__init__()
        self._pairs = PairSpace()
        self._copies = np.zeros(0, np.int64)
        self._pair_emptied = np.zeros(0, np.int64)
        self._kept = 0
        """How many pairs were present when somebody last looked."""

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        codes, values = value_names(argument)
        groups = (feed.group, range(max(self.groups, 1)))
        pair = self._pairs.assign(*combined([groups, (codes, [identity(v) for v in values])]))
        self._make_room()
        self._out = np.empty(len(pair), np.int64)
        kernel.run_distinct(
            *self._marked(feed),
            pair,
            self._pair_emptied,
            self._copies,
            self.arrays["owing"],
            self.arrays["count"],
            self._out,
        )
        self._forget()

    def _make_room(self) -> None:
        room = max(len(self._pairs), 1)
        self._copies = grown(self._copies, room)
        self._pair_emptied = grown(self._pair_emptied, room)

    def _forget(self) -> None:
        """Drops the pairs that are not present when there may be many. To look costs by the pairs
        that there are, so it waits until they have doubled."""
        if len(self._pairs) <= 2 * self._kept + _FORGET_MIN:
            return
        live = self._live_pairs()
        if not live.all():
            self._renumber(self._pairs.compact(live))
            self._find_owing()
        self._kept = len(self._pairs)

    def _find_owing(self) -> None:
        """The pairs have new numbers."""
        owing = self.arrays["owing"]
        owing[:] = 0
        owed = self._live_pairs() & (self._copies[: len(self._pairs)] < 0)
        for pair in np.flatnonzero(owed).tolist():
            owing[self._pairs.pairs[pair][0]] = pair + 1

    def live(self) -> npt.NDArray[np.bool_]:
        owes: npt.NDArray[np.bool_] = self.arrays["owing"][: self.groups] != 0
        return super().live() | (self.fresh() & owes)

    def _live_pairs(self) -> npt.NDArray[np.bool_]:
        count = len(self._pairs)
        groups = np.array([group for group, _ in self._pairs.pairs], np.int64)
        epochs = self.epochs[self.realm_of[groups]] if count else np.zeros(0, np.int64)
        live: npt.NDArray[np.bool_] = self._copies[:count] != 0
        live &= self._pair_emptied[:count] == epochs
        return live

    def _renumber(self, moved: Ids) -> None:
        kept = np.flatnonzero(moved >= 0)
        for name in ("_copies", "_pair_emptied"):
            values = getattr(self, name)
            new = np.zeros_like(values)
            new[moved[kept]] = values[kept]
            setattr(self, name, new)

    def result(self, name: str) -> Column:
        return Column(LONG, self._out)

    def move(self, moved: Ids, groups: int) -> None:
        live = self._live_pairs()
        for i, (group, _) in enumerate(self._pairs.pairs):
            live[i] &= bool(moved[group] >= 0)
        self._renumber(self._pairs.compact(live))
        renamed = [(int(moved[group]), value) for group, value in self._pairs.pairs]
        self._pairs = PairSpace()
        for key in renamed:
            self._pairs.id_of(key)
        self._kept = len(self._pairs)
        super().move(moved, groups)
        self._find_owing()

    def by_group(self) -> dict[int, list[tuple[Hashable, int]]]:
        """The values present with their copies, by group; below 0 what is owed."""
        found: dict[int, list[tuple[Hashable, int]]] = {}
        live = self._live_pairs()
        for i in np.flatnonzero(live).tolist():
            group, value = self._pairs.pairs[i]
            found.setdefault(group, []).append((value, int(self._copies[i])))
        return found

    def store(self, groups: Ids) -> list[Any]:
        found = self.by_group()
        return [found.get(group, []) for group in groups.tolist()]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        present = [sum(copies > 0 for _, copies in state) for state in states]
        self._put(groups, count=present, owing=0)
        for group, state in zip(groups.tolist(), states, strict=True):
            for value, copies in state:
                pair = self._pairs.id_of((group, value))
                self._make_room()
                self._copies[pair] = copies
                self._pair_emptied[pair] = self.epochs[self.realm_of[group]]
                if copies < 0:
                    self.arrays["owing"][group] = pair + 1


def choose(name: str, types: Sequence[AttributeType], leaves: Leaves) -> Chosen:
    """See Choose."""
    return Chosen("distinct", DistinctCounts)
