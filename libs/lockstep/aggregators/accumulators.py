"""Running values of one kind for all groups of a query: arrays by group, fed by a kernel.

A kernel's `kind` is 0 for an event that enters, 1 for one that leaves, 3 for the mark that empties
all groups of its realm (a partition instance). A group is emptied when it is next used: `epochs`
count the marks per realm, `emptied` tells which of them a group has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from lockstep.columns.column import Array, Column
from lockstep.columns.compiled import plain
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType

Longs = npt.NDArray[np.int64]
LONG, DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
WHOLE = (AttributeType.INT, LONG)
EXACT_DOUBLE = 2**53


@dataclass(frozen=True, eq=False)
class Feed:
    """The events of a flow as accumulators take them; `place` only where rows leave one by one."""

    kind: npt.NDArray[np.int8]
    group: Ids
    realm: Ids
    place: Longs | None


class Accumulator(Protocol):
    """Running values by group. Its states are the reference's, aggregator by aggregator."""

    needs_places: bool
    """Whether it follows rows by their place: then `state_of`, with the values that a group holds,
    tells the group's state, and what is held is fed again instead of being loaded."""

    def reserve(self, groups: int, realms: int, places: int) -> None:
        """Makes room."""

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        """Feeds events; the results are those of this flow until the next one."""

    def result(self, name: str) -> Column:
        """The running value, by the aggregator's name, at each event of the last flow."""

    def live(self) -> npt.NDArray[np.bool_]:
        """Which groups are not empty."""

    def move(self, moved: Ids, groups: int) -> None:
        """Groups got new ids (-1: gone)."""

    def store(self, groups: Ids) -> list[Any]:
        """The states of groups as the reference's aggregator has them."""

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        """Takes over what `store` gave."""


class Leaves(NamedTuple):
    """How events leave: one by one (`slides`), by group in order of arrival (`in_order`) or not,
    else all at once. `has_places`: they are rows in places."""

    slides: bool
    in_order: bool
    has_places: bool


class Chosen(NamedTuple):
    """How a call runs in columns. Calls with the same arguments and `share` have one accumulator.
    `reads`: it looks at its arguments."""

    share: Hashable
    make: Callable[[], Accumulator]
    reads: bool = True


Choose = Callable[[str, Sequence[AttributeType], Leaves], Chosen | None]
"""What a module that runs aggregators in columns has under the name `choose`: by the aggregator's
name, its arguments' types and how events leave. None: its meaning runs instead."""


def grown(values: Array, length: int, fill: Any = 0) -> Array:
    """The array with room for `length` values."""
    if len(values) >= length:
        return values
    bigger = np.full(max(length, 2 * len(values), 64), fill, values.dtype)
    bigger[: len(values)] = values
    return bigger


class Grouped:
    """What the accumulators share: arrays by group, and marks that empty a realm's groups."""

    names: tuple[tuple[str, Any], ...] = ()
    """The arrays by group, with their types; of a group, they are its state."""
    needs_places = False

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {name: np.zeros(0, dtype) for name, dtype in self.names}
        self.emptied = np.zeros(0, np.int64)
        self.epochs = np.zeros(0, np.int64)
        self.realm_of = np.zeros(0, np.int64)
        self.groups = 0

    def reserve(self, groups: int, realms: int, places: int) -> None:
        self.groups = groups
        self.epochs = grown(self.epochs, max(realms, 1))
        self.emptied = grown(self.emptied, max(groups, 1))
        self.realm_of = grown(self.realm_of, max(groups, 1))
        for name, values in self.arrays.items():
            self.arrays[name] = grown(values, max(groups, 1))

    def _marked(self, feed: Feed) -> tuple[Any, ...]:
        if self.groups > 1:
            self.realm_of[feed.group] = feed.realm
        elif len(feed.realm):
            self.realm_of[0] = feed.realm[-1]
        return (feed.kind, feed.group, feed.realm, self.epochs, self.emptied)

    def fresh(self) -> npt.NDArray[np.bool_]:
        """Groups that no mark has emptied since they were used."""
        n = self.groups
        found: npt.NDArray[np.bool_] = self.emptied[:n] == self.epochs[self.realm_of[:n]]
        return found

    def live(self) -> npt.NDArray[np.bool_]:
        filled: npt.NDArray[np.bool_] = self.arrays["count"][: self.groups] != 0
        return self.fresh() & filled

    def move(self, moved: Ids, groups: int) -> None:
        kept = np.flatnonzero(moved >= 0)
        to = moved[kept]
        for name, values in self.arrays.items():
            new = np.zeros_like(values)
            new[to] = values[kept]
            self.arrays[name] = new
        for name in ("emptied", "realm_of"):
            values = getattr(self, name)
            new = np.zeros_like(values)
            new[to] = values[kept]
            setattr(self, name, new)
        # New groups must not find a count that an old one left behind.
        self.emptied[groups:] = 0
        self.groups = groups

    def _at(self, groups: Ids, *names: str) -> list[list[Any]]:
        """The groups' values as Python numbers, an array at a time; zeros for those emptied."""
        gone = np.flatnonzero(self.emptied[groups] != self.epochs[self.realm_of[groups]])
        found = []
        for name in names:
            values = self.arrays[name][groups]
            values[gone] = 0
            found.append(values.tolist())
        return found

    def _put(self, groups: Ids, **values: Any) -> None:
        for name, value in values.items():
            self.arrays[name][groups] = value
        self.emptied[groups] = self.epochs[self.realm_of[groups]]

    def store(self, groups: Ids) -> list[Any]:
        return list(zip(*self._at(groups, *self.arrays), strict=True))

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        parts = ([state[i] for state in states] for i in range(len(self.arrays)))
        self._put(groups, **dict(zip(self.arrays, parts, strict=True)))


def numbers(column: Column, dtype: Any) -> tuple[Array, npt.NDArray[np.bool_]]:
    """(values, which of them are no nulls) as kernels take them."""
    valid = np.ones(len(column), np.bool_) if column.nulls is None else ~column.nulls
    return plain(column.values, dtype), valid
