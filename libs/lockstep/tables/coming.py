"""Values of the rows that a slice brought. Nobody looks at most of them: a row is often changed
again before the slice is over. So an attribute is written when somebody reads it, and what is left
at the end of the slice of those rows alone that stay."""

from __future__ import annotations

import numpy as np

from lockstep.columns.column import Longs, from_values
from lockstep.tables import kernel as tables
from lockstep.tables.following import Followed
from lockstep.tables.rows import Rows
from lockstep.tables.store import TableStore


class Coming:
    """See Comes. `entries` bring a row each; what is computed of rows is all `followed`."""

    def __init__(self, store: TableStore, entries: Longs, rows: Rows, followed: Followed) -> None:
        self._store = store
        self._entries = entries
        self._rows = rows
        self._followed = followed
        self._left = set(range(len(store.schema.names)))
        self._has_times = False

    def write(self, attribute: int) -> None:
        """Of all rows; once."""
        if attribute in self._left:
            self._left.remove(attribute)
            self._put(attribute, self._entries)

    def write_times(self) -> None:
        """The timestamps of all rows; once."""
        if not self._has_times:
            self._has_times = True
            self._store.held.times[self._entries[:, 2]] = self._rows.times_of(self._entries[:, 0])

    def settle(self, stay: Longs) -> None:
        """What is not written yet, of the rows that these entries brought."""
        for attribute in self._left:
            self._put(attribute, stay)
        if not self._has_times:
            self._store.held.times[stay[:, 2]] = self._rows.times_of(stay[:, 0])

    def _put(self, attribute: int, entries: Longs) -> None:
        """Values of the rows of some entries."""
        target = entries[:, 2]
        if attribute in self._followed.kept:
            self._followed.put(attribute, target)
            return
        writers = [writer for writer, _ in self._rows.writers]
        keeps = [bool(each.changed) and each.changed[attribute] is None for each in writers]
        given = entries
        if any(keeps):
            given, target = self._kept(attribute, entries, np.array(keeps, np.bool_))
        owner, new = self._rows.owner[given[:, 0]], given[:, 1] < 0
        for number, writer in enumerate(writers):
            for places, brings in ((writer.inserted, new), (writer.changed, ~new)):
                lines = np.flatnonzero(brings & (owner == number)) if places else ()
                if len(lines):
                    self._give(attribute, places[attribute], number, given[lines, 0], target[lines])

    def _give(
        self, attribute: int, place: int | None, number: int, writes: Longs, target: Longs
    ) -> None:
        """What a writer brought; None for nulls."""
        held = self._store.held
        if place is None:
            held.put(attribute, target, from_values(held.types[attribute], [None] * len(target)))
        else:
            column = self._rows.writers[number][1].columns[place]
            held.put(attribute, target, column.take(self._rows.row[writes]))

    def _kept(self, attribute: int, entries: Longs, keeps: Longs) -> tuple[Longs, Longs]:
        """(for each row the entry that gave it the value which it kept since, its place). What rows
        have from before the slice is copied here, and not among them."""
        own, count = self._entries, len(self._store.held.times)
        origin = np.arange(count, dtype=np.int64)
        tables.find_origins(keeps[self._rows.owner[own[:, 0]]], own, origin)
        line = np.full(count, -1, np.int64)
        line[own[:, 2]] = np.arange(len(own))
        source = origin[entries[:, 2]]
        lines = line[source]
        before = lines < 0
        self._store.held.copy(attribute, source[before], entries[before, 2])
        return own[lines[~before]], entries[~before, 2]
