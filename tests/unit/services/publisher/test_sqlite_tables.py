"""A table in a real SQLite file: rows and cursor together, whatever dies."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from lockstep.databases import datasource_of_url
from lockstep.databases.sqlite.files import SqliteFile
from lockstep.events import (
    Attribute,
    AttributeType,
    FencedError,
    Operation,
    OutputId,
    OutputRow,
    StreamSchema,
    UnavailableError,
)
from lockstep_services.publisher.contract import (
    Batch,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.rdbms.table_sink import TableSink
from lockstep_services.publisher.sqlite.statements import SqliteStatements
from lockstep_services.publisher.sqlite.table import SqliteTable
from tests.integration.services.statements_of import play

NAME = "totals 100% `1`"
QUOTED = '"totals 100% `1`"'
KEY = ("customer", "region")
SCHEMA = StreamSchema(
    "Totals",
    (
        Attribute("customer", AttributeType.STRING),
        Attribute("region", AttributeType.STRING),
        Attribute("orders", AttributeType.LONG),
        Attribute("amount", AttributeType.DOUBLE),
        Attribute("fine", AttributeType.BOOL),
        Attribute("more", AttributeType.OBJECT),
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where there is no file yet."""
    return tmp_path / "shop.db"


@pytest.fixture
async def file(path: Path) -> AsyncIterator[SqliteFile]:
    """What publishers write to."""
    found = SqliteFile(datasource_of_url("shop", f"sqlite://{path}", statement_timeout_ms=400))
    yield found
    found.close()


def sink_of(file: SqliteFile, key: tuple[str, ...] = KEY) -> TableSink:
    """Another publisher's, each time."""
    binding = SinkBinding("Shop", SCHEMA, "Totals.0.rdbms")
    return TableSink(binding, SqliteTable(binding, NAME, key, file))


def rows_of(*data: Sequence[Any], operation: Operation = Operation.UPSERT) -> list[OutputRow]:
    """As the output log has them."""
    return [
        OutputRow(OutputId(1, number), "Totals", 0, tuple(values), operation)
        for number, values in enumerate(data)
    ]


def run(path: Path, statement: str) -> list[tuple[Any, ...]]:
    """As a program of its own does."""
    db = sqlite3.connect(path)
    with db:
        found = db.execute(statement).fetchall()
    db.close()
    return found


def kept(path: Path) -> list[tuple[Any, ...]]:
    """What a program of its own reads."""
    return run(path, f"SELECT * FROM {QUOTED} ORDER BY amount, customer")


async def test_rows_by_a_composite_key(path: Path, file: SqliteFile) -> None:
    """Of each key the last change counts. No case is folded; a key is never null, and NaN, which
    SQLite would make null, is refused."""
    sink = sink_of(file)
    assert await sink.open() == 0
    rows = rows_of(
        ("ann", "n", 2**62, 5.0, True, {"a": [1]}),
        ("Ann", "n", 1, 1.0, None, None),
        ("ann", "ß🍕\0", 1, 2.0, False, None),
        ("ann", "n", 2, 12.5, True, None),
        ("gone", "n", 1, 0.0, True, None),
    )
    gone = rows_of(("gone", "n"), operation=Operation.DELETE)
    await sink.deliver(Batch(3, [*rows, *gone]))
    wanted = [
        ("Ann", "n", 1, 1.0, None, None),
        ("ann", "ß🍕\0", 1, 2.0, 0, None),
        ("ann", "n", 2, 12.5, 1, None),
    ]
    assert kept(path) == wanted
    bad = rows_of(
        (None, "n", 1, 1.0, True, None),
        ("bob", "n", 1, float("nan"), True, None),
        ("\ud800", "n", 1, 1.0, True, None),
    )
    good = rows_of(("cid", "n", 1, float("inf"), True, None))
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(Batch(4, [*bad, *good]))
    assert [one.row for one in refused.value.refused] == bad
    assert kept(path) == wanted
    await sink.deliver(Batch(4, good))
    assert kept(path)[-1][:4] == ("cid", "n", 1, float("inf"))


async def test_rows_without_a_key(path: Path, file: SqliteFile) -> None:
    """Each row is one, and one goes where one is deleted."""
    sink = sink_of(file, key=())
    await sink.open()
    row = ("ann", None, 1, 5.5, None, None)
    await sink.deliver(Batch(1, rows_of(row, row, operation=Operation.EVENT)))
    assert kept(path) == [row, row]
    await sink.deliver(Batch(2, rows_of(row, operation=Operation.DELETE)))
    assert kept(path) == [row]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("customer, region, orders, amount, fine, more", "PRIMARY KEY or UNIQUE"),
        ("customer, region, orders, amount, fine, UNIQUE (customer, region)", "more"),
    ],
)
async def test_a_table_that_is_there_has_to_fit(
    path: Path, file: SqliteFile, columns: str, said: str
) -> None:
    """Its columns, and what tells its rows apart."""
    run(path, f"CREATE TABLE {QUOTED} ({columns})")
    with pytest.raises(SinkSetupError, match=said):
        await sink_of(file).open()
    run(path, f"DROP TABLE {QUOTED}")
    run(path, f"CREATE TABLE {QUOTED} (more, later, fine, amount, orders, customer, region)")
    run(path, f"CREATE UNIQUE INDEX apart ON {QUOTED} (region, customer)")
    sink = sink_of(file)
    await sink.open()
    found = [("ann", "n", 1, 5.0, True, None), ("ann", "n", 2, 7.0, True, None)]
    await sink.deliver(Batch(3, rows_of(*found)))
    assert run(path, f"SELECT customer, region, orders FROM {QUOTED}") == [("ann", "n", 2)]


async def test_another_publisher_shuts_the_first_one_out(path: Path, file: SqliteFile) -> None:
    """It goes on from the cursor, and what the first one still tries changes nothing."""
    first, second = sink_of(file), sink_of(file)
    await first.open()
    await first.deliver(Batch(7, rows_of(("a", "n", 1, 1.0, None, None))))
    assert await second.open() == 7
    with pytest.raises(FencedError):
        await first.deliver(Batch(8, rows_of(("b", "n", 1, 2.0, None, None))))
    await second.deliver(Batch(8, rows_of(("c", "n", 1, 3.0, None, None))))
    assert [row[0] for row in kept(path)] == ["a", "c"]


async def test_a_file_that_is_locked_or_away_is_waited_for(path: Path, file: SqliteFile) -> None:
    """Afterwards deliveries go on from the cursor. A file that was there is not made anew: what was
    delivered to it would be missing in silence."""
    sink = sink_of(file)
    await sink.open()
    await sink.deliver(Batch(1, rows_of(("a", "n", 1, 1.0, None, None))))
    batch = Batch(2, rows_of(("b", "n", 1, 2.0, None, None)))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(UnavailableError):
        await sink.deliver(batch)
    other.execute("ROLLBACK")
    other.close()
    path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(UnavailableError, match="unable to open"):
        await sink.deliver(batch)
    assert not path.exists()
    path.with_name("elsewhere.db").rename(path)
    await sink.deliver(batch)
    assert await sink_of(file).open() == 2
    assert [row[0] for row in kept(path)] == ["a", "b"]


DIES = """
import asyncio, os, sys
from lockstep_services.publisher.sqlite import table
from lockstep_services.publisher.contract import Batch
from lockstep.databases import datasource_of_url
from lockstep.databases.sqlite.files import SqliteFile
from tests.unit.services.publisher.test_sqlite_tables import rows_of, sink_of

async def main():
    sink = sink_of(SqliteFile(datasource_of_url("shop", "sqlite://" + sys.argv[1])))
    await sink.open()
    await sink.deliver(Batch(5, rows_of(("first", "n", 1, 1.0, None, None))))
    before = table.SqliteTable._write
    def written(*given):
        before(*given)
        os.kill(os.getpid(), 9)
    table.SqliteTable._write = written
    await sink.deliver(Batch(9, rows_of(*((f"r{n}", "n" * 999, 1, 2.0, None, None)
                                          for n in range(20_000)))))

asyncio.run(main())
"""


@pytest.mark.processes
async def test_a_publisher_that_is_killed_within_a_transaction(
    path: Path, file: SqliteFile
) -> None:
    """It leaves nothing of it, though pages of it were in the file already; the next one goes on
    where the one before that ended."""
    done = subprocess.run([sys.executable, "-c", DIES, str(path)], check=False)
    assert done.returncode == -9
    sink = sink_of(file)
    assert await sink.open() == 5
    assert [row[0] for row in kept(path)] == ["first"]
    await sink.deliver(Batch(9, rows_of(("second", "n", 1, 2.0, None, None))))
    assert [row[0] for row in kept(path)] == ["first", "second"]


async def test_a_change_of_an_app_is_made_once(path: Path, file: SqliteFile) -> None:
    """By its record, and by who took over last."""
    run(path, "CREATE TABLE purses (id int PRIMARY KEY, balance real)")
    run(path, "INSERT INTO purses VALUES (1, 0), (2, 0), (3, 0)")

    async def balance() -> float:
        return float(run(path, "SELECT balance FROM purses WHERE id = 1")[0][0])

    await play(lambda: SqliteStatements("Shop.make__asks.0", file), balance)


async def test_one_of_two_rows_with_one_unique_value_is_refused(
    path: Path, file: SqliteFile
) -> None:
    """And not the whole batch. What was tried leaves nothing behind."""
    columns = "customer UNIQUE, region, orders, amount, fine, more"
    run(path, f"CREATE TABLE {QUOTED} ({columns})")
    sink = sink_of(file, key=())
    await sink.open()
    rows = rows_of(
        *((str(number % 4), "n", 1, number, None, None) for number in range(5)),
        ("nan", "n", 1, float("nan"), None, None),
        operation=Operation.EVENT,
    )
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(Batch(1, rows))
    assert [one.row for one in refused.value.refused] == rows[4:]
    assert kept(path) == []
    await sink.deliver(Batch(1, rows[:4]))
    assert [row[0] for row in kept(path)] == ["0", "1", "2", "3"]


async def refused_rows(sink: TableSink, batch: Batch) -> list[OutputRow]:
    """Those that it does not take."""
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(batch)
    return [one.row for one in refused.value.refused]


def numbered(*rows: OutputRow) -> list[OutputRow]:
    """In one batch no two rows have one identity."""
    return [structs.replace(row, id=OutputId(1, number)) for number, row in enumerate(rows)]


def by_key(customer: str, orders: int, amount: float = 1.0) -> OutputRow:
    """A change of a key, of a table where `orders` tells rows apart, too."""
    return rows_of((customer, "n", orders, amount, None, None))[0]


def without(customer: str) -> OutputRow:
    """A key's deletion."""
    return rows_of((customer, "n"), operation=Operation.DELETE)[0]


async def opened(path: Path, file: SqliteFile) -> TableSink:
    """One into such a table."""
    columns = "customer, region, orders UNIQUE, amount, fine, more, UNIQUE (customer, region)"
    run(path, f"CREATE TABLE {QUOTED} ({columns})")
    sink = sink_of(file)
    await sink.open()
    return sink


async def test_an_unfit_row_takes_no_other_row_along(path: Path, file: SqliteFile) -> None:
    """Rows that would clash if each change were made, and of which the last ones do not."""
    sink = await opened(path, file)
    await sink.deliver(Batch(1, [by_key("old", 1)]))
    good = [by_key("a", 7), by_key("b", 7), by_key("a", 8), by_key("new", 1), without("old")]
    rows = numbered(*good, by_key("c", 3, float("nan")))
    assert await refused_rows(sink, Batch(2, rows)) == rows[-1:]
    await sink.deliver(Batch(2, rows[:-1]))
    assert sorted(row[:3] for row in kept(path)) == [
        ("a", "n", 8),
        ("b", "n", 7),
        ("new", "n", 1),
    ]


async def test_where_a_keys_last_row_is_refused_the_one_before_counts(
    path: Path, file: SqliteFile
) -> None:
    """All that do not fit are found at once. What a later row takes the place of is not tried."""
    sink = await opened(path, file)
    nan = float("nan")
    rows = numbered(
        by_key("a", 1), by_key("a", 2), by_key("a", 3, nan), by_key("a", 4, nan),
        by_key("b", 5, nan), by_key("b", 6),
        by_key("c", 2),
    )  # fmt: skip
    assert await refused_rows(sink, Batch(1, rows)) == [rows[2], rows[3], rows[6]]
    await sink.deliver(Batch(1, [*rows[:2], *rows[4:6]]))
    assert sorted(row[:3] for row in kept(path)) == [("a", "n", 2), ("b", "n", 6)]
