"""How rows of a table are found: by chains of rows with equal values, for any indexes; or by heads
alone, where the primary key is the only index, so that a key has one row at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from lockstep.aggregators.accumulators import grown
from lockstep.columns.column import Suspected
from lockstep.columns.compiled import plain
from lockstep.operators.limits import allowed
from lockstep.tables import kernel as tables
from lockstep.tables import keyed_kernel as keyed

Longs = npt.NDArray[np.int64]
Found = tuple[Longs, Longs]
"""(events, places of the rows that they found), events ascending, rows in the table's order."""

Keep = Callable[[Longs, Longs], npt.NDArray[np.bool_]]
"""Which of (events, places of the rows) belong together indeed."""

EVERY = 0
"""The index that has all rows under one key."""

BLOCK_ROWS = 1 << 20
"""Rows that are looked at before a condition is asked about them."""
_FEW_ROWS = 1024


class Chains:
    """A chain per key of each index (see kernel)."""

    def __init__(self, indexes: int) -> None:
        ends = (np.full((indexes, 1), -1, np.int64) for _ in range(2))
        rows = (np.full((indexes, 0), -1, np.int64) for _ in range(3))
        self.links = tables.Links(*ends, *rows)

    def reserve(self, keys: int, places: int) -> None:
        """Room for so many keys and rows."""
        links = self.links
        if links.head.shape[1] < keys or links.after.shape[1] < places:
            self.links = tables.Links(
                *(_wider(each, keys) for each in links[:2]),
                *(_wider(each, places) for each in links[2:]),
            )

    def follow(self, entries: Longs, given: Longs) -> None:
        """Takes over what was changed elsewhere; `given` are the keys of new rows by index."""
        tables.follow(entries, plain(given, np.int64), self.links)

    def places(self, index: int, key: int) -> Longs:
        """The rows with a key of an index, in the order of the chain."""
        found: Longs = tables.chain(index, key, self.links)
        return found

    def head(self, index: int) -> Longs:
        """The first row of each key of an index, -1 where there is none."""
        found: Longs = self.links.head[index]
        return found

    def keys(self, index: int) -> Longs:
        """The key of each row in an index, by place."""
        found: Longs = self.links.key[index]
        return found

    def read(
        self, index: int, wanted: Longs, when: Longs, entries: Longs, keep: Keep | None
    ) -> Found:
        """What reads find, each when so many writes were done (kernel.read). Suspected where one
        finds too many rows."""
        parts: list[Found] = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
        room, end = min(max(len(wanted), _FEW_ROWS), BLOCK_ROWS), len(wanted)
        while end:
            answers = tables.Answers(np.empty(room, np.int64), np.empty(room, np.int64))
            found, end, over = tables.read(
                index, wanted, when, end, entries, self.links, allowed(1), answers
            )
            if over:
                raise Suspected("an event finds too many rows of a table")
            # A read alone may find more than a block.
            room = min(2 * room, BLOCK_ROWS) if found else 2 * room
            reads, places = (rows[:found][::-1].copy() for rows in answers)
            parts.append(kept(reads, places, keep))
        reads, places = (np.concatenate(each[::-1]) for each in zip(*parts, strict=True))
        return reads, places

    def move(self, index: int, left: Longs, moved: Longs) -> None:
        """Keys of an index have new numbers: `left` are the old ones of those that are left."""
        for ends in (self.links.head[index], self.links.tail[index]):
            _shift(ends, left)
        keys, places = self.links.key[index], self.places(EVERY, 0)
        keys[places] = moved[keys[places]]


class Heads:
    """A row per key of the primary key, which is index 1; all rows together have no order."""

    def __init__(self) -> None:
        self.heads = keyed.Heads(*(np.full(0, -1, np.int64) for _ in range(2)))

    def reserve(self, keys: int, places: int) -> None:
        """Room for so many keys and rows."""
        head, own = self.heads
        if len(head) < keys or len(own) < places:
            self.heads = keyed.Heads(_longer(head, keys), _longer(own, places))

    def follow(self, entries: Longs, given: Longs) -> None:
        """Takes over what was changed elsewhere; `given` are the keys of new rows by index."""
        keyed.follow(entries, plain(given[1], np.int64), self.heads)

    def places(self, index: int, key: int) -> Longs:
        """The row with a key, if there is one; all rows."""
        head = self.heads.head if index == EVERY else self.heads.head[key : key + 1]
        found: Longs = head[head >= 0]
        return found

    def head(self, index: int) -> Longs:
        """The row of each key, -1 where there is none."""
        found: Longs = self.heads.head
        return found

    def keys(self, index: int) -> Longs:
        """The key of each row, by place."""
        found: Longs = self.heads.keys
        return found

    def read(
        self, index: int, wanted: Longs, when: Longs, entries: Longs, keep: Keep | None
    ) -> Found:
        """What reads find, each when so many writes were done."""
        return one_each(self.find(wanted, when, entries), keep)

    def find(self, wanted: Longs, when: Longs, entries: Longs) -> Longs:
        """The row of each read, -1 for none (keyed_kernel.read)."""
        places = np.empty(len(wanted), np.int64)
        keyed.read(wanted, when, entries, self.heads, places)
        return places

    def move(self, index: int, left: Longs, moved: Longs) -> None:
        """Keys have new numbers: `left` are the old ones of those that are left."""
        head, keys = self.heads
        _shift(head, left)
        places = self.places(EVERY, 0)
        keys[places] = moved[keys[places]]


def one_each(places: Longs, keep: Keep | None) -> Found:
    """What reads find that find one row at most, -1 for none."""
    reads = np.flatnonzero(places >= 0)
    return kept(reads, places if len(reads) == len(places) else places[reads], keep)


def kept(reads: Longs, places: Longs, keep: Keep | None) -> Found:
    """Those that belong together."""
    if keep is None or not len(reads):
        return reads, places
    mask = keep(reads, places)
    return reads[mask], places[mask]


def _shift(ends: Longs, left: Longs) -> None:
    ends[: len(left)] = ends[left]
    ends[len(left) :] = -1


def _longer(values: Longs, length: int) -> Longs:
    """At least so long; what is new is -1."""
    if len(values) >= length:
        return values
    found = np.full(len(grown(values, length)), -1, np.int64)
    found[: len(values)] = values
    return found


def _wider(values: Any, width: int) -> Any:
    """Rows of at least that width; what is new is -1."""
    if values.shape[1] >= width:
        return values
    return np.stack([_longer(each, width) for each in values])
