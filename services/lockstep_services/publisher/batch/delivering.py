"""Rows of a run to a sink, as rows of an app go there: the sink's cursor says how far it has them.

The cursor is a script's own. It counts parts of runs, and grows with the due time. So a database
has the rows and the mark of the due time in one transaction, and who comes again finds the mark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from lockstep.batch.model import Run
from lockstep.batch.outputs import ToSink, ToStream
from lockstep.batch.rows_out import output_rows, schema_of
from lockstep.events import OutputRow, StreamSchema
from lockstep.siddhiql import ast
from lockstep.telemetry import Logger
from lockstep_services.publisher.batch.sending import Sender
from lockstep_services.publisher.contract import Batch, OnError, RowsRefusedError, Sink, SinkBinding
from lockstep_services.publisher.rdbms.table_sink import TableSink

DATABASE_ROWS: Final = 100_000
"""In one transaction: so a run of no more rows is there whole, or not at all."""
WHOLE_ROWS: Final = 5_000
"""Where a part arrives whole or is known row by row."""
MESSAGES: Final = 500
"""Where a part that is cut short comes again. None of the three is ever to be changed: with other
parts the cursor of a run that is under way would mean other rows."""
PARTS_BITS: Final = 20
"""Of a cursor, for the number of the part; the due time stands above them."""
SHOWN_ROWS: Final = 20

SinkMaker = Callable[
    [SinkBinding, ast.Annotation, ast.StreamDefinition | ast.TableDefinition], Sink
]
"""SinkSetupError."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a run, and where the cursor stands behind them."""

    up_to: int
    rows: Sequence[OutputRow]


class Deliverer:
    """To the sinks that scripts name."""

    def __init__(self, maker: SinkMaker, log: Logger) -> None:
        self._maker = maker
        self._log = log

    async def deliver(self, rows: pa.Table, run: Run, output: ToSink) -> None:
        """All rows that the sink has not yet. UnavailableError, FencedError; RowsRefusedError with
        rows that the sink does not take, SinkSetupError: trying again does not help."""
        binding = binding_of(run.script, schema_of(rows, run.script.replace("-", "_")), output)
        sink = self._maker(binding, output.annotation, output.definition)
        try:
            reached = await sink.open()
            for part in parts(rows, run, binding.schema.name, _rows_at_once(sink)):
                if part.up_to > reached:
                    await self._part(sink, part)
        finally:
            await sink.close()

    async def _part(self, sink: Sink, part: Part) -> None:
        try:
            await sink.deliver(Batch(part.up_to, part.rows))
        except RowsRefusedError as error:
            if sink.binding.on_error is not OnError.LOG:
                raise
            self._tell(sink.binding, error)
            gone = {one.row.id for one in error.refused}
            await self._part(sink, Part(part.up_to, [r for r in part.rows if r.id not in gone]))

    def _tell(self, binding: SinkBinding, error: RowsRefusedError) -> None:
        log = self._log.bind(sink=binding.key)
        log.error("rows dropped", rows=len(error.refused), reason=error.refused[0].reason)
        for one in error.refused[:SHOWN_ROWS]:
            log.error("row dropped", id=binding.row_id(one.row), reason=one.reason)


@dataclass(frozen=True, slots=True)
class Outlets:
    """The ways out of a script."""

    sender: Sender
    deliverer: Deliverer

    async def send(self, rows: pa.Table, run: Run, output: ToStream | ToSink) -> None:
        """All rows; what has arrived does not arrive as something else. See `Sender` and
        `Deliverer` for errors."""
        if isinstance(output, ToStream):
            await self.sender.send(rows, run, output)
        else:
            await self.deliverer.deliver(rows, run, output)


def binding_of(script: str, schema: StreamSchema, output: ToSink) -> SinkBinding:
    """Its name is no app's: no app's name has a colon. Behind another text it is the same: due
    times go on."""
    name = f"{output.annotation.name.lower()}.{output.kind.lower()}"
    on_error = OnError((output.annotation.get("on.error") or OnError.STORE).upper())
    return SinkBinding(f"batch:{script}", schema, name, on_error=on_error)


def parts(rows: pa.Table, run: Run, stream: str, size: int) -> Iterator[Part]:
    """In order; the same ones each time."""
    for number, start in enumerate(range(0, len(rows), size), 1):
        up_to = (run.due_ms << PARTS_BITS) + number
        yield Part(up_to, output_rows(rows.slice(start, size), run, stream, start))


def _rows_at_once(sink: Sink) -> int:
    if isinstance(sink, TableSink):
        return DATABASE_ROWS
    return WHOLE_ROWS if sink.at_once is None else MESSAGES
