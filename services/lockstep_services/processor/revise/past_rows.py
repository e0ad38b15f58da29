"""Where the rows go that an app gives out for its past: into tables beside the archive, to its
sinks as if they were given now, or nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from lockstep.events import OutputId, OutputRow, Position
from lockstep.events.outputs import NO_ROWS, OutputColumns, RowsOfColumns, in_columns, joined
from lockstep.frame import Offload
from lockstep.store import PAST_ARCHIVE, PAST_SINKS, Past
from lockstep_services.processor.revise.past_input import PastFailedError, opened

if TYPE_CHECKING:
    from lockstep.archive.place import Place
    from lockstep.history.results import ResultTables


class PastRows(Protocol):
    """Takes rows slice by slice."""

    results: str

    async def take(self, rows: RowsOfColumns, last: Position) -> None:
        """Of a slice up to `last`."""

    async def end(self) -> None:
        """What was taken and is not held stands when this returns."""

    @property
    def held(self) -> RowsOfColumns:
        """What stands nowhere yet, in order."""

    def go_on(self, held: Sequence[OutputRow]) -> None:
        """With what another one has held."""

    def at(self, position: Position, behind: OutputId | None) -> RowsOfColumns:
        """What is to be published at a position, behind an identity."""


class NoRows:
    """They go nowhere."""

    results = ""

    async def take(self, rows: RowsOfColumns, last: Position) -> None:
        """They are counted by who folds."""

    async def end(self) -> None:
        """Nothing to do."""

    @property
    def held(self) -> RowsOfColumns:
        """Nothing is held."""
        return NO_ROWS

    def go_on(self, held: Sequence[OutputRow]) -> None:
        """Nothing was held."""

    def at(self, position: Position, behind: OutputId | None) -> RowsOfColumns:
        """Nothing is published."""
        return NO_ROWS


class TableRows(NoRows):
    """Into tables; each row once, also when all is folded again."""

    def __init__(self, tables: ResultTables, offload: Offload) -> None:
        self._tables = tables
        self._offload = offload
        self.results = tables.folder

    async def take(self, rows: RowsOfColumns, last: Position) -> None:
        """UnavailableError."""
        await self._offload.run(lambda: self._tables.take(rows.columns, last))

    async def end(self) -> None:
        """UnavailableError."""
        await self._offload.run(self._tables.flush)


class SinkRows(NoRows):
    """Held until the app goes on with its past: its first revision has them, so they are published
    once. No more than `limit`, as all stand at one position."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: list[RowsOfColumns] = []
        self._count = 0

    async def take(self, rows: RowsOfColumns, last: Position) -> None:
        """PastFailedError when they are too many."""
        self._count += len(rows)
        if self._count > self._limit:
            raise PastFailedError(
                f"the past gives more than {self._limit} rows (processor.hold_back_max_outputs), "
                "which sinks would get at once",
                hint="--past-output archive has no such limit",
            )
        if len(rows):
            self._held.append(rows)

    @property
    def held(self) -> RowsOfColumns:
        """All of them."""
        return joined(self._held)

    def go_on(self, held: Sequence[OutputRow]) -> None:
        """They come before all others."""
        self._held, self._count = [in_columns(held)], len(held)

    def at(self, position: Position, behind: OutputId | None) -> RowsOfColumns:
        """In the order in which they were given."""
        first = 0
        if behind is not None and behind.position == position:
            first = behind.ordinal + 1
        found: list[RowsOfColumns] = []
        for rows in self._held:
            found.append(_renumbered(rows, position, first))
            first += len(rows)
        return joined(found)


def rows_out(past: Past, app: str, archive: Place | None, offload: Offload, limit: int) -> PastRows:
    """As was asked for. `limit`: so many rows of it are held for sinks."""
    if past.output == PAST_SINKS:
        return SinkRows(limit)
    if past.output != PAST_ARCHIVE or archive is None:
        return NoRows()
    return TableRows(opened(archive).tables(past, app), offload)


def _renumbered(rows: RowsOfColumns, position: Position, first: int) -> RowsOfColumns:
    positions = np.concatenate([one.positions for one in rows.columns])
    ordinals = np.concatenate([one.ordinals for one in rows.columns])
    places = np.empty(len(positions), np.int64)
    places[np.lexsort((ordinals, positions))] = np.arange(first, first + len(positions))
    moved: list[OutputColumns] = []
    start = 0
    for one in rows.columns:
        end = start + len(one)
        at = np.full(len(one), position, np.int64)
        moved.append(replace(one, positions=at, ordinals=places[start:end]))
        start = end
    return RowsOfColumns(moved)
