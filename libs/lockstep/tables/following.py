"""What programs look at, while a slice's writes are made: the values of rows that are reached or
come, and the columns that the writers brought."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lockstep.columns.column import Longs, Mask
from lockstep.columns.compiled import plain
from lockstep.columns.pairs import beside
from lockstep.tables import program_kernel as machine
from lockstep.tables.program import Steps, bits_of, column_of
from lockstep.tables.rows import Rows
from lockstep.tables.store import TableStore
from lockstep.tables.writers import Writer

_OF_ONE_ASKER = 1 << 40
"""More chunks than a slice has."""


class Layout:
    """The programs of a table's writers, one writer's behind the other's. `kept` are the attributes
    that they look at or compute."""

    def __init__(self, writers: Sequence[Writer], attributes: int) -> None:
        self.writers = writers
        self.is_whole = all(each.has_programs for each in writers)
        kept: set[int] = set()
        if self.is_whole:
            for each in writers:
                kept |= each.values.keys() | each.programs.read | each.foretold_attributes
        self.kept = tuple(sorted(kept))
        self.tests = np.zeros((len(writers), 2), np.int64)
        self.guards = np.zeros((len(writers), 2), np.int64)
        self.foretells = any(each.foretold is not None for each in writers)
        self.inserted = np.full((len(writers), attributes), -1, np.int64)
        self.born = np.zeros((len(writers), attributes, 2), np.int64)
        self.changed = np.full((len(writers), attributes), -1, np.int64)
        self.computed = np.zeros((len(writers), attributes, 2), np.int64)
        self._steps: list[tuple[int, int]] = []
        for number, writer in enumerate(writers):
            self.tests[number] = self._add(writer.test)
            if writer.foretold is not None:
                self.guards[number] = self._add(writer.foretold.guard)
            for attribute in self.kept:
                self.inserted[number, attribute] = _given(writer, writer.inserted, attribute)
                self.born[number, attribute] = self._add(
                    writer.steps_of(writer.inserted, attribute)
                )
                self.changed[number, attribute] = _given(writer, writer.changed, attribute)
                changes = writer.steps_of(writer.changed, attribute)
                computed = writer.values.get(attribute, changes)
                self.computed[number, attribute] = self._add(computed)
        self.steps = np.array(self._steps, np.int64).reshape(-1, 2)
        given = [len(each.programs.given) for each in writers] if self.is_whole else []
        self.columns = max(given, default=0)

    def _add(self, steps: Steps) -> tuple[int, int]:
        first = len(self._steps)
        self._steps += steps
        return first, len(self._steps)


def _given(writer: Writer, places: Sequence[int | None], attribute: int) -> int:
    """The given column that an attribute is written from; -1: none."""
    place = places[attribute] if places else None
    is_given = place is not None and not writer.steps_of(places, attribute)
    return writer.programs.attribute(place) if is_given and place is not None else -1


class Followed:
    """The values of one slice."""

    def __init__(self, layout: Layout, rows: Rows, store: TableStore) -> None:
        self._layout = layout
        self._store = store
        numbers = [layout.writers.index(writer) for writer, _ in rows.writers]
        given, missing = self._given(rows)
        self._cells, self._gone = np.zeros((0, 0), np.int64), np.zeros((0, 0), np.bool_)
        stack = np.zeros(machine.STACK, np.int64)
        self._values = machine.Values(
            np.array(numbers, np.int64)[rows.owner],
            layout.tests,
            layout.guards,
            self._moments(rows),
            layout.inserted,
            layout.born,
            layout.changed,
            layout.computed,
            layout.steps,
            np.array(layout.kept, np.int64),
            given,
            missing,
            self._cells,
            self._gone,
            stack,
            stack.view(np.float64),
            np.zeros(machine.STACK, np.bool_),
        )

    def _given(self, rows: Rows) -> tuple[Longs, Mask]:
        """The columns that the writers brought, in the order of the writes."""
        shape = (self._layout.columns, len(rows.owner))
        given, missing = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        for number, (writer, chunks) in enumerate(rows.writers if len(given) else ()):
            own = np.flatnonzero(rows.owner == number)
            frame, source = beside(chunks, 0), rows.row[own]
            for place, evaluate in enumerate(writer.programs.given):
                bits, nulls = bits_of(evaluate(frame), self._store.held.pool)
                given[place, own] = bits[source]
                if nulls is not None:
                    missing[place, own] = nulls[source]
        return given, missing

    def _moments(self, rows: Rows) -> Longs:
        """When the events of each write asked the table."""
        if not self.foretells:
            return np.zeros(0, np.int64)
        found = np.full(len(rows.owner), -1, np.int64)
        askers: dict[str, int] = {}
        for number, (writer, chunks) in enumerate(rows.writers):
            if writer.foretold is None:
                continue
            asker = askers.setdefault(writer.foretold.asker, len(askers))
            own = np.flatnonzero(rows.owner == number)
            asked = plain(chunks.columns[writer.foretold.asked].values, np.int64)
            found[own] = asked[rows.row[own]] + asker * _OF_ONE_ASKER
        return found

    @property
    def foretells(self) -> bool:
        """Whether some of the writes are foretold."""
        return self._layout.foretells

    @property
    def asked(self) -> int:
        """The number of the index in which those look; 0 where none is."""
        told = (each.index.number for each in self._layout.writers if each.foretold is not None)
        return next(told, 0)

    @property
    def looks(self) -> bool:
        """Whether programs look at rows at all."""
        return bool(self._layout.kept)

    def load(self, reached: Longs) -> None:
        """Takes over the values of those rows that the writes may find."""
        places = reached
        self._widen()
        held = self._store.held
        for attribute in self._layout.kept:
            bits, nulls = bits_of(held.column(attribute, places), held.pool)
            self._cells[attribute, places] = bits
            self._gone[attribute, places] = False if nulls is None else nulls

    def values(self) -> machine.Values:
        """As kernels take them, with room for all places that there are."""
        self._widen()
        return self._values._replace(cells=self._cells, gone=self._gone)

    def _widen(self) -> None:
        width = len(self._store.held.times)
        if not self._layout.kept or self._cells.shape[1] >= width:
            return
        shape = (len(self._store.schema.names), width)
        # What nobody writes here takes no memory.
        cells, gone = np.empty(shape, np.int64), np.empty(shape, np.bool_)
        old = self._cells.shape[1]
        for attribute in self._layout.kept if old else ():
            cells[attribute, :old] = self._cells[attribute]
            gone[attribute, :old] = self._gone[attribute]
        self._cells, self._gone = cells, gone

    def put(self, attribute: int, places: Longs) -> None:
        """Writes an attribute that is kept here of rows that came into the table."""
        held = self._store.held
        bits, nulls = self._cells[attribute, places], self._gone[attribute, places]
        held.put(attribute, places, column_of(held.types[attribute], bits, nulls, held.pool))

    @property
    def computes(self) -> bool:
        """Whether `put` writes all that is computed."""
        return self._layout.is_whole

    @property
    def kept(self) -> tuple[int, ...]:
        """The attributes that `put` writes."""
        return self._layout.kept
