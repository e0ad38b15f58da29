"""Tables of hosted queries that queries in columns write and read, too: the hosted engine has the
rows and makes all writes in the order of the run, and the columns follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.column import Longs, Unfit
from lockstep.columns.labels import Levels
from lockstep.columns.order import Order, levels_from
from lockstep.columns.units import States
from lockstep.events import describe
from lockstep.execute.columnar.hosted.engine import IN_FRONT, HostedEngine
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.tables.columns import TableUnit
from lockstep.tables.meaning.hash_index import Row
from lockstep.tables.meaning.row_store import noted
from lockstep.tables.one_by_one import RowContext, done_by, places_of, take_over
from lockstep.tables.writers import action_of

Change = tuple[Row | None, Row | None]


class _Placed(list[Change]):
    """What is changed, and where in the run that stands."""

    def __init__(self, engine: HostedEngine) -> None:
        super().__init__()
        self._place = engine.place
        self.is_brought = False
        self.moments: list[int] = []
        self.levels: list[Levels] = []

    def append(self, change: Change) -> None:
        super().append(change)
        place = self._place
        self.moments.append(place.moment)
        # A query of the engine changes it in front of the chunk that comes out next: who reads that
        # sees the change. What a query in columns brings stands where it looked, and behind that.
        levels = (*place.levels, place.count)
        self.levels.append(levels if self.is_brought else (*levels, IN_FRONT))

    def order(self) -> Order:
        """Where each change stands."""
        return Order(np.array(self.moments, np.int64), levels_from(self.levels))


class SharedTable:
    """A table of an engine. `writers`: the names under which queries in columns write it; those
    that read it look at the columns of `unit`."""

    def __init__(self, unit: TableUnit, writers: Sequence[str], engine: HostedEngine) -> None:
        self.name = unit.table
        self.writers = tuple(writers)
        self._state = unit.state
        self._engine = engine
        self._table: Any = engine.tables[unit.table]
        self._clock = RowContext()
        self._actions: dict[str, Any] = {
            name: action_of(unit.queries[name], self._table, self._clock) for name in writers
        }
        self._places: dict[int, int] = {}
        self._journal = _Placed(engine)

    def noting(self) -> Any:
        """A block whose changes `follow` takes over."""
        self._journal = _Placed(self._engine)
        return noted(self._table.rows, self._journal)

    def write(self, writer: str, at: tuple[int, Levels], rows: Sequence[StreamEvent]) -> None:
        """The rows that a query in columns brings, at their place. Unfit for one that the table
        refuses: the reference tells its fault, and has what was written before that, too."""
        engine = self._engine
        engine.place.at(*at)
        self._clock.now = engine.now
        apply = self._actions[writer].apply
        self._journal.is_brought = True
        try:
            for row in rows:
                apply(row)
        except PROCESSING_ERRORS as error:
            raise Unfit(f"table {self.name} refuses an event: {describe(error)}") from error
        self._journal.is_brought = False

    def follow(self) -> None:
        """The columns take over what was changed."""
        journal = self._journal
        if journal:
            writes: Longs = np.arange(len(journal), dtype=np.int64)
            done = done_by(journal, writes, self._places, self._state, [])
            take_over(done, self._state, journal.order())

    def settle(self) -> None:
        """The slice is done."""
        self._state.settle()

    def load(self, states: States) -> None:
        """Behind the engine's own rows: the columns have them, too."""
        self._state.load(states.operators[f"table/{self.name}/rows"])
        self._places = places_of(self._table.rows, self._state)

    def text_columns(self) -> list[Any]:
        """The texts that it holds in columns."""
        return self._state.held.text_columns()
