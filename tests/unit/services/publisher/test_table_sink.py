"""What a sink of a table makes of its database's errors."""

from __future__ import annotations

from collections.abc import Sequence

import pymysql
import pytest

from lockstep.databases.mysql.connections import passes
from lockstep.events import (
    Attribute,
    AttributeType,
    OutputId,
    OutputRow,
    StreamSchema,
    UnavailableError,
)
from lockstep_services.publisher.contract import Batch, RefusedRow, RowsRefusedError, SinkBinding
from lockstep_services.publisher.rdbms.table_sink import Errors, TableSink

BINDING = SinkBinding("App", StreamSchema("S", (Attribute("x", AttributeType.INT),)), "S.0.rdbms")
ROWS = [OutputRow(OutputId(number, 0), "S", 1, (number,)) for number in (1, 2)]


class AwayError(ValueError):
    """A kind of the errors of rows that do not fit, as with real drivers."""


class Scripted:
    """Transactions end one after the other as it was said; then all go well."""

    away: Errors = (AwayError,)
    unfit: Errors = (ValueError,)

    def __init__(self, *ends: Exception, refused: Sequence[RefusedRow] = ()) -> None:
        self._ends = list(ends)
        self._refused = refused
        self.kept: list[OutputRow] = []
        self.tried = 0

    async def take_over(self) -> int:
        """From the start."""
        return 0

    async def transact(self, rows: Sequence[OutputRow], expected: int, up_to: int) -> None:
        """See the class."""
        self.tried += 1
        if self._ends:
            raise self._ends.pop(0)
        self.kept += rows

    async def find_refused(self, rows: Sequence[OutputRow]) -> list[RefusedRow]:
        """As it was said."""
        return list(self._refused)


async def test_rows_that_go_in_alone_go_in_together_a_moment_later() -> None:
    """What was in the way has passed: none is refused."""
    database = Scripted(ValueError("it was locked"))
    await TableSink(BINDING, database).deliver(Batch(3, ROWS))
    assert (database.kept, database.tried) == (ROWS, 2)


async def test_rows_that_are_refused_together_alone_are_all_refused() -> None:
    """By what the database said last."""
    database = Scripted(ValueError("no"), ValueError("no again"))
    with pytest.raises(RowsRefusedError) as refused:
        await TableSink(BINDING, database).deliver(Batch(3, ROWS))
    assert [one.row for one in refused.value.refused] == ROWS
    assert {one.reason for one in refused.value.refused} == {"no again"}


async def test_a_row_at_fault_is_refused_at_once() -> None:
    """The batch is not tried again with it."""
    bad = RefusedRow(ROWS[0], "too large")
    database = Scripted(ValueError("too large"), refused=[bad])
    with pytest.raises(RowsRefusedError) as refused:
        await TableSink(BINDING, database).deliver(Batch(3, ROWS))
    assert (list(refused.value.refused), database.tried) == ([bad], 1)


async def test_refused_rows_come_in_the_order_of_the_batch() -> None:
    """In whatever order the database found them."""
    bad = [RefusedRow(row, "too large") for row in ROWS]
    database = Scripted(ValueError("too large"), refused=bad[::-1])
    with pytest.raises(RowsRefusedError) as refused:
        await TableSink(BINDING, database).deliver(Batch(3, ROWS))
    assert list(refused.value.refused) == bad


@pytest.mark.parametrize("ends", [(AwayError(),), (ValueError(), AwayError())])
async def test_a_database_that_is_away_refuses_no_row(ends: Sequence[Exception]) -> None:
    """At the first try or at the second."""
    with pytest.raises(UnavailableError, match="away"):
        await TableSink(BINDING, Scripted(*ends)).deliver(Batch(3, ROWS))


async def test_a_place_that_cannot_be_noted_is_waited_for() -> None:
    """There is no row that could be at fault."""
    database = Scripted(ValueError("no table lockstep_sink_cursors"))
    sink = TableSink(BINDING, database)
    with pytest.raises(UnavailableError, match="lockstep_sink_cursors"):
        await sink.deliver(Batch(3, []))
    await sink.deliver(Batch(3, []))


async def test_rows_that_go_in_wait_while_their_place_cannot_be_noted() -> None:
    """None of them is at fault either."""
    database = Scripted(*[ValueError("no table lockstep_sink_cursors")] * 3)
    sink = TableSink(BINDING, database)
    with pytest.raises(UnavailableError, match="lockstep_sink_cursors"):
        await sink.deliver(Batch(3, ROWS))
    await sink.deliver(Batch(3, ROWS))
    assert database.kept == ROWS


@pytest.mark.parametrize(
    ("number", "said", "is_passing"),
    [
        (1290, "The MariaDB server is running with the --read-only option", True),
        (1290, "The MySQL server is running with the --super-read-only option", True),
        (1290, "The MySQL server is running with the --secure-file-priv option", False),
        (1836, "Running in read-only mode", True),
        (1792, "Cannot execute statement in a READ ONLY transaction", True),
        (1047, "WSREP has not yet prepared node for application use", True),
        (1406, "Data too long for column 'a'", False),
    ],
)
def test_what_mysql_lacks_for_now_passes(number: int, said: str, is_passing: bool) -> None:
    """A replica that is not yet promoted, and a node that has not yet joined its cluster."""
    assert passes(pymysql.OperationalError(number, said)) == is_passing
