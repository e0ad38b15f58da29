"""min, max and distinctCount as accumulators (see `accumulators`)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators import extremes_kernel as unordered
from lockstep.aggregators import totals_kernel as totals
from lockstep.aggregators.accumulators import LONG, Feed, Grouped, grown, numbers
from lockstep.columns.column import DTYPES, Column, Unfit
from lockstep.columns.growing import GrowingArray
from lockstep.columns.keys import Ids, KeySpace, combined, value_names
from lockstep.events import AttributeType


def _refuse_negative_zero(column: Column) -> None:
    """The reference shows whichever zero came first; here zeros are alike."""
    if column.values.dtype.kind == "f":
        zeros = column.values == 0
        if zeros.any() and np.signbit(column.values[zeros]).any():
            raise Unfit("a negative zero among values whose extreme is asked for")


class Extremes(Grouped):
    """min or max (`sign` -1) where nothing leaves but all at once; and for ever."""

    def __init__(self, type_: AttributeType, sign: int, *, forever: bool = False) -> None:
        self._type = type_
        self.sign = sign
        self._forever = forever
        self._dtype: Any = np.int64 if DTYPES[type_].kind == "i" else np.float64
        self.names = (("present", np.bool_), ("best", self._dtype))
        super().__init__()

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        _refuse_negative_zero(argument)
        value, valid = numbers(argument, self._dtype)
        self._out = np.zeros(len(value), self._dtype)
        self._present = np.zeros(len(value), np.bool_)
        own = (self.arrays["present"], self.arrays["best"])
        totals.run_extremes(
            *self._marked(feed),
            value,
            valid,
            self.sign,
            self._forever,
            *own,
            self._out,
            self._present,
        )

    def result(self, name: str) -> Column:
        """See Accumulator."""
        return Column(self._type, self._out.astype(DTYPES[self._type]), ~self._present)

    def live(self) -> npt.NDArray[np.bool_]:
        """See Accumulator."""
        present = self.arrays["present"][: self.groups]
        return present if self._forever else present & self.fresh()

    def store(self, groups: Ids) -> list[Any]:
        """The reference needs no more than the extreme: before it matters again, all are gone."""
        there = self.live()[groups].tolist()
        best = self.arrays["best"][groups].tolist()
        if self._forever:
            return [
                value if is_there else None for value, is_there in zip(best, there, strict=True)
            ]
        return [
            [(value * self.sign, 1)] if is_there else []
            for value, is_there in zip(best, there, strict=True)
        ]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        if self._forever:
            best = [state or 0 for state in states]
            self._put(groups, present=[state is not None for state in states], best=best)
            return
        best = [
            min(value for value, _ in state) * self.sign if len(state) else 0 for state in states
        ]
        self._put(groups, present=[len(state) > 0 for state in states], best=best)


class SlidingExtremes(Grouped):
    """min or max over a window whose events leave in the order in which they came."""

    def __init__(self, type_: AttributeType, sign: int) -> None:
        self._type = type_
        self.sign = sign
        self._dtype: Any = np.int64 if DTYPES[type_].kind == "i" else np.float64
        super().__init__()
        self.head = np.full(0, -1, np.int64)
        self.tail = np.full(0, -1, np.int64)
        # By place of the held rows; the kernel reads what it has written, and no more.
        self._older = GrowingArray(np.int64)
        self._newer = GrowingArray(np.int64)
        self._held = GrowingArray(self._dtype)

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """See Accumulator."""
        super().reserve(groups, realms, places)
        self.head = grown(self.head, max(groups, 1), -1)
        self.tail = grown(self.tail, max(groups, 1), -1)
        for array in self._by_place():
            array.reserve(places)

    def _by_place(self) -> tuple[GrowingArray, ...]:
        return (self._older, self._newer, self._held)

    def _feed(self, *arguments: Any) -> None:
        by_place = [array.values for array in self._by_place()]
        totals.run_sliding_extremes(
            *arguments, self.head, self.tail, *by_place, self._out, self._present
        )

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        assert feed.place is not None
        _refuse_negative_zero(argument)
        value, valid = numbers(argument, self._dtype)
        self._out = np.zeros(len(value), self._dtype)
        self._present = np.zeros(len(value), np.bool_)
        self._feed(feed.kind, feed.group, feed.place, value, valid, self.sign)

    def result(self, name: str) -> Column:
        """See Accumulator."""
        return Column(self._type, self._out.astype(DTYPES[self._type]), ~self._present)

    def live(self) -> npt.NDArray[np.bool_]:
        """See Accumulator."""
        found: npt.NDArray[np.bool_] = self.head[: self.groups] != -1
        return found

    def move(self, moved: Ids, groups: int) -> None:
        """See Accumulator."""
        kept = np.flatnonzero(moved >= 0)
        for name in ("head", "tail"):
            values = getattr(self, name)
            new = np.full_like(values, -1)
            new[moved[kept]] = values[kept]
            setattr(self, name, new)
        super().move(moved, groups)

    def store(self, groups: Ids) -> list[Any]:
        """The values inside are the window's to tell: see `Aggregates.save`."""
        raise NotImplementedError

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """What is inside is fed again: see `Aggregates.refeed`."""


class UnorderedExtremes(SlidingExtremes):
    """min or max over a window whose events leave in any order."""

    def __init__(self, type_: AttributeType, sign: int) -> None:
        super().__init__(type_, sign)
        self._before = GrowingArray(np.int64)

    def _by_place(self) -> tuple[GrowingArray, ...]:
        return (self._older, self._newer, self._before, self._held)

    def _feed(self, *arguments: Any) -> None:
        by_place = [array.values for array in self._by_place()]
        unordered.run_unordered_extremes(*arguments, self.head, *by_place, self._out, self._present)


class PairSpace(KeySpace):
    """Ids of combinations of a group and a value."""

    @property
    def pairs(self) -> list[tuple[int, Hashable]]:
        """The combinations by id."""
        return self.keys  # type: ignore[return-value]


class DistinctCounts(Grouped):
    """distinctCount(x)."""

    names = (("count", np.int64),)

    def __init__(self) -> None:
        super().__init__()
        self._pairs = PairSpace()
        self._copies = np.zeros(0, np.int64)
        self._pair_emptied = np.zeros(0, np.int64)

    def run(self, feed: Feed, argument: Column | None) -> None:
        """See Accumulator."""
        assert argument is not None
        codes, values = value_names(argument)
        groups = (feed.group, range(max(self.groups, 1)))
        pair = self._pairs.assign(*combined([groups, (codes, [_identity(v) for v in values])]))
        self._make_room()
        self._out = np.empty(len(pair), np.int64)
        totals.run_distinct(
            *self._marked(feed),
            pair,
            self._pair_emptied,
            self._copies,
            self.arrays["count"],
            self._out,
        )
        self._forget()

    def _make_room(self) -> None:
        room = max(len(self._pairs), 1)
        self._copies = grown(self._copies, room)
        self._pair_emptied = grown(self._pair_emptied, room)

    def _forget(self) -> None:
        """Drops the pairs that are not present when they are many."""
        count = len(self._pairs)
        if count < 4096:
            return
        live = self._live_pairs()
        if 2 * int(live.sum()) < count:
            self._renumber(self._pairs.compact(live))

    def _live_pairs(self) -> npt.NDArray[np.bool_]:
        count = len(self._pairs)
        groups = np.array([group for group, _ in self._pairs.pairs], np.int64)
        epochs = self.epochs[self.realm_of[groups]] if count else np.zeros(0, np.int64)
        live: npt.NDArray[np.bool_] = self._copies[:count] > 0
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
        """See Accumulator."""
        return Column(LONG, self._out)

    def move(self, moved: Ids, groups: int) -> None:
        """See Accumulator."""
        live = self._live_pairs()
        for i, (group, _) in enumerate(self._pairs.pairs):
            live[i] &= bool(moved[group] >= 0)
        self._renumber(self._pairs.compact(live))
        renamed = [(int(moved[group]), value) for group, value in self._pairs.pairs]
        self._pairs = PairSpace()
        for key in renamed:
            self._pairs.id_of(key)
        super().move(moved, groups)

    def by_group(self) -> dict[int, list[tuple[Hashable, int]]]:
        """The values present with their copies, by group."""
        found: dict[int, list[tuple[Hashable, int]]] = {}
        live = self._live_pairs()
        for i in np.flatnonzero(live).tolist():
            group, value = self._pairs.pairs[i]
            found.setdefault(group, []).append((value, int(self._copies[i])))
        return found

    def store(self, groups: Ids) -> list[Any]:
        """See Accumulator."""
        found = self.by_group()
        return [found.get(group, []) for group in groups.tolist()]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """See Accumulator."""
        for group, state in zip(groups.tolist(), states, strict=True):
            for value, copies in state:
                pair = self._pairs.id_of((group, value))
                self._make_room()
                self._copies[pair] = copies
                self._pair_emptied[pair] = self.epochs[self.realm_of[group]]
        self._put(groups, count=[len(state) for state in states])


def _identity(value: Any) -> Hashable:
    """NaN is one value; -0.0 is another than 0.0 (as in aggregators.counts)."""
    if isinstance(value, float) and (value != value or value == 0.0):
        return repr(value)
    return value  # type: ignore[no-any-return]
