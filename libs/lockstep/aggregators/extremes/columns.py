"""min and max in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import Chosen, Feed, Grouped, Leaves, grown, numbers
from lockstep.aggregators.extremes import kernel
from lockstep.aggregators.extremes import unordered_kernel as unordered
from lockstep.aggregators.extremes.runs import Runs
from lockstep.columns.column import DTYPES, Column, Unfit
from lockstep.columns.growing import GrowingArray
from lockstep.columns.keys import Ids
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

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        _refuse_negative_zero(argument)
        value, valid = numbers(argument, self._dtype)
        self._out = np.zeros(len(value), self._dtype)
        self._present = np.zeros(len(value), np.bool_)
        own = (self.arrays["present"], self.arrays["best"])
        kernel.run_extremes(
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
        return Column(self._type, self._out.astype(DTYPES[self._type]), ~self._present)

    def live(self) -> npt.NDArray[np.bool_]:
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
        if self._forever:
            best = [0 if state is None else state for state in states]
            self._put(groups, present=[state is not None for state in states], best=best)
            return
        best = [
            min(value for value, _ in state) * self.sign if len(state) else 0 for state in states
        ]
        self._put(groups, present=[len(state) > 0 for state in states], best=best)


class SlidingExtremes(Grouped):
    """min or max over a window whose events leave in the order in which they came."""

    needs_places = True

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
        super().reserve(groups, realms, places)
        self.head = grown(self.head, max(groups, 1), -1)
        self.tail = grown(self.tail, max(groups, 1), -1)
        for array in self._by_place():
            array.reserve(places)

    def _by_place(self) -> tuple[GrowingArray, ...]:
        return (self._older, self._newer, self._held)

    def _feed(self, *arguments: Any) -> None:
        by_place = [array.values for array in self._by_place()]
        kernel.run_sliding_extremes(
            *arguments, self.head, self.tail, *by_place, self._out, self._present
        )

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        (argument,) = arguments
        assert feed.place is not None
        _refuse_negative_zero(argument)
        value, valid = numbers(argument, self._dtype)
        self._out = np.zeros(len(value), self._dtype)
        self._present = np.zeros(len(value), np.bool_)
        self._feed(feed.kind, feed.group, feed.place, value, valid, self.sign)

    def result(self, name: str) -> Column:
        return Column(self._type, self._out.astype(DTYPES[self._type]), ~self._present)

    def live(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.head[: self.groups] != -1
        return found

    def move(self, moved: Ids, groups: int) -> None:
        kept = np.flatnonzero(moved >= 0)
        for name in ("head", "tail"):
            values = getattr(self, name)
            new = np.full_like(values, -1)
            new[moved[kept]] = values[kept]
            setattr(self, name, new)
        super().move(moved, groups)

    def store(self, groups: Ids) -> list[Any]:
        """The values inside are the window's to tell."""
        return [None] * len(groups)

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """What is inside is fed again."""

    def state_of(self, held: Column, group: Ids, groups: Ids) -> list[Any]:
        """How often each number occurs in each of `groups`, times the sign, ascending; `group`
        tells where each held value is. All groups at once: there may be as many as values."""
        found = held.values.astype(np.float64 if held.values.dtype.kind == "f" else np.int64)
        present = np.ones(len(found), np.bool_) if held.nulls is None else ~held.nulls
        if found.dtype.kind == "f":
            present &= ~np.isnan(found)
        runs = Runs.of(found[present], group[present], self.sign)
        return runs.pairs(groups)


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


def choose(name: str, types: Sequence[AttributeType], leaves: Leaves) -> Chosen | None:
    """See Choose. Where rows leave in any order and have no places, the meaning runs."""
    (type_,) = types
    sign = 1 if name.startswith("min") else -1
    forever = name.endswith("Forever")
    if forever or not leaves.slides:
        return Chosen(name, lambda: Extremes(type_, sign, forever=forever))
    if leaves.in_order:
        return Chosen(name, lambda: SlidingExtremes(type_, sign))
    return Chosen(name, lambda: UnorderedExtremes(type_, sign)) if leaves.has_places else None
