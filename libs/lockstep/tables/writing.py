"""The writes of a slice, made in order."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from lockstep.columns.column import Longs
from lockstep.columns.order import Order
from lockstep.tables import kernel as tables
from lockstep.tables import keyed_kernel as keyed
from lockstep.tables.chains import Chains, Heads
from lockstep.tables.store import TableStore


class Follows(Protocol):
    """The values that decide which rows are written, and how (tables.following)."""

    @property
    def looks(self) -> bool:
        """Whether it looks at rows at all."""

    def load(self, reached: Longs) -> None:
        """Looks at the rows that writes may find."""

    @property
    def foretells(self) -> bool:
        """Whether some of the writes are foretold."""

    @property
    def asked(self) -> int:
        """The number of the index in which those look; 0 where none is."""

    def values(self) -> Any:
        """As the kernel takes them, with room for all places that there are."""


def write(table: TableStore, writes: tables.Writes, order: Order, followed: Follows) -> int:
    """Makes writes in order: the table's journal tells what they are. The values of rows are those
    that are `followed`. Gives how many were refused."""
    assert isinstance(table.rows, Chains)
    table.make_room()
    if followed.looks:
        links = table.rows.links
        reached = np.empty(len(links.head) * len(table), np.int64)
        seen = np.zeros(links.head.shape, np.bool_)
        followed.load(reached[: tables.reached(writes, links, seen, reached)])
    entries, counts = np.zeros((len(order) + 64, 3), np.int64), np.zeros(3, np.int64)
    spare, done = np.zeros(0, np.int64), 0
    keys = table.rows.links.head.shape[1] if followed.foretells else 0
    asked = tables.Asked(followed.asked, np.full(keys, -1, np.int64), np.full(keys, -1, np.int64))
    while True:
        wanted = len(entries) - len(spare)
        spare = np.concatenate([spare, table.new_places(wanted)])
        found = table.rows.links, followed.values(), asked
        done = tables.write(writes, *found, table.primary_index, done, spare, entries, counts)
        if done == len(order):
            break
        entries = np.concatenate([entries, np.zeros((len(entries) + len(table), 3), np.int64)])
    entries = entries[: counts[0]].copy()
    tables.number_rows(entries, table.numbering)
    table.keep(entries, order, spare[counts[1] :])
    return int(counts[2])


def write_by_key(
    table: TableStore, writes: keyed.KeyedWrites, order: Order, followed: Follows
) -> int:
    """The same of a table whose rows are found by key."""
    assert isinstance(table.rows, Heads)
    table.make_room()
    if followed.looks:
        heads = table.rows.heads
        reached, seen = np.empty(len(table), np.int64), np.zeros(len(heads.head), np.bool_)
        count = keyed.reached(writes, followed.values(), heads, seen, reached)
        followed.load(reached[:count])
    entries, counts = np.empty((len(order), 3), np.int64), np.zeros(3, np.int64)
    spare = table.new_places(len(order))
    heads, keys = table.rows.heads, len(table.rows.heads.head) if followed.foretells else 0
    asked = keyed.Asked(np.full(keys, -1, np.int64), np.full(keys, -1, np.int64))
    values, numbers = followed.values(), table.numbering
    keyed.write(writes, heads, asked, values, numbers, spare, entries, counts)
    table.keep(entries[: counts[0]], order, spare[counts[1] :])
    return int(counts[2])
