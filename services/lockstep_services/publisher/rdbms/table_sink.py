"""What the sinks of all databases share: a batch goes in whole, or its rows are tried singly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lockstep.events import OutputRow, UnavailableError
from lockstep.store.postgres import why_away
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)

Errors = tuple[type[Exception], ...]


class TableDatabase(Protocol):
    """One table in a database that keeps the cursor beside it.

    `away`: errors that pass; `unfit`: those of rows that do not fit.
    """

    away: Errors
    unfit: Errors

    async def take_over(self) -> int:
        """Makes what is missing and shuts older publishers out; the cursor's sequence."""

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        """Rows and cursor change together, or nothing does. FencedError when the cursor is not
        where it is expected, under the epoch of `take_over`."""

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """Tries, one after the other and in the same order, the changes that `transact` would make,
        and keeps none (`changes.one_by_one`). UnavailableError where no row is at fault."""


class TableSink:
    """One table of a database. See `Sink`."""

    waits_for_ever = True
    takes_again = True
    at_once = None
    gathering = None

    def __init__(self, binding: SinkBinding, database: TableDatabase) -> None:
        self.binding = binding
        self._database = database
        self._sequence = 0

    async def open(self) -> int:
        """Creates what is missing and takes the cursor over: older publishers are shut out."""
        database = self._database
        try:
            self._sequence = await database.take_over()
        except database.away as error:
            raise self._away(error) from error
        except database.unfit as error:
            raise SinkSetupError(
                f"the table cannot be used: {error}", where=self.binding.key
            ) from error
        return self._sequence

    async def deliver(self, batch: Batch) -> None:
        """All rows and the cursor, or nothing."""
        try:
            refused = await self._refused(batch)
        except self._database.away as error:
            raise self._away(error) from error
        if refused:
            raise RowsRefusedError(refused, where=self.binding.key)
        self._sequence = batch.up_to

    def pending(self, batch: Batch) -> Sequence[OutputRow]:
        """All: a transaction is done or has changed nothing."""
        return batch.rows

    async def begin_again(self) -> None:
        """Rows are written whatever their identity."""

    async def close(self) -> None:
        """The connections are shared and stay."""

    async def _refused(self, batch: Batch) -> Sequence[RefusedRow]:
        """Rows for which the batch cannot go in, in its order; none: it has. Where they go in one
        by one, what was in the way may have passed: the batch is tried once more."""
        error = await self._tried(batch)
        if error is None:
            return []
        if not batch.rows:
            raise self._unnoted(error) from error
        refused = await self._database.find_refused(batch.rows)
        refused.sort(key=lambda one: one.row.id)
        if not refused and (again := await self._tried(batch)) is not None:
            # The rows are not at fault where even no row goes in, and the place stays as it is.
            if (unnoted := await self._tried(Batch(self._sequence, ()))) is not None:
                raise self._unnoted(unnoted) from unnoted
            refused = [RefusedRow(row, str(again)) for row in batch.rows]
        return refused

    async def _tried(self, batch: Batch) -> Exception | None:
        """What the database says against it."""
        database = self._database
        try:
            await database.transact(batch.rows, self._sequence, batch.up_to)
        except database.away:  # may be a kind of what is unfit
            raise
        except database.unfit as error:
            return error
        return None

    def _unnoted(self, error: Exception) -> UnavailableError:
        return UnavailableError(
            f"the sink's place cannot be noted: {error}", where=self.binding.key
        )

    def _away(self, error: BaseException) -> UnavailableError:
        return UnavailableError(f"the database is away: {why_away(error)}", where=self.binding.key)
