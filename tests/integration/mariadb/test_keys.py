"""Keys of a table in a real MariaDB: two that an app tells apart are never one, and no row of
another key is changed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from lockstep.events import Attribute, AttributeType, Operation, OutputId, OutputRow, StreamSchema
from lockstep_services.publisher.contract import Batch, RowsRefusedError, SinkBinding
from lockstep_services.publisher.mysql.table import MysqlConnections, MysqlTable
from lockstep_services.publisher.rdbms.table_sink import TableSink
from tests.integration.mariadb.test_tables import connections, mariadb

__all__ = ["connections", "mariadb"]

SCHEMA = StreamSchema(
    "T", (Attribute("k", AttributeType.STRING), Attribute("v", AttributeType.STRING))
)
ALIKE = [("varchar(40)", "A"), ("varchar(40) COLLATE utf8mb4_bin", "a "), ("char(40)", "a ")]
ALIKE += [("char(40) COLLATE utf8mb4_nopad_bin", "a "), ("varchar(40) CHARACTER SET latin1", "Ä")]


def sink_of(connections: MysqlConnections, *key: str) -> TableSink:
    """Another publisher's, each time."""
    binding = SinkBinding("Shop", SCHEMA, "T.0.rdbms")
    return TableSink(binding, MysqlTable(binding, "t", key, connections))


def rows_of(*data: Sequence[Any], operation: Operation = Operation.UPSERT) -> list[OutputRow]:
    """As the output log has them."""
    return [
        OutputRow(OutputId(1, number), "T", 0, tuple(values), operation)
        for number, values in enumerate(data)
    ]


def gone(*data: Sequence[Any]) -> list[OutputRow]:
    """Deletions."""
    return rows_of(*data, operation=Operation.DELETE)


async def run(connections: MysqlConnections, statement: str) -> list[tuple[Any, ...]]:
    """What it gives."""
    async with connections.transaction() as cursor:
        await cursor.execute(statement)
        return [tuple(row) for row in await cursor.fetchall()]


async def kept(connections: MysqlConnections) -> list[tuple[Any, ...]]:
    """What is in the table."""
    return sorted(await run(connections, "SELECT k, v FROM t"))


async def refused_by(sink: TableSink, batch: Batch) -> dict[Any, str]:
    """Why, by the refused rows' first values."""
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(batch)
    return {one.row.data[0]: one.reason for one in refused.value.refused}


async def test_a_new_table_tells_all_texts_apart(connections: MysqlConnections) -> None:
    """Also those that differ in case, in blanks at the end, or in an accent."""
    sink = sink_of(connections, "k")
    with capture_logs() as said:
        await sink.open()
    assert said == []
    texts = ["a", "a ", "a  ", "A", "ä", ""]
    await sink.deliver(Batch(1, rows_of(*((text, f"{text}!") for text in texts))))
    await sink.deliver(Batch(2, gone(("a ", "a !"), ("A",))))
    left = sorted((text, f"{text}!") for text in texts if text not in ("a ", "A"))
    assert await kept(connections) == left


@pytest.mark.parametrize(("kind", "other"), ALIKE)
async def test_a_key_that_a_table_takes_for_another_is_refused(
    connections: MysqlConnections, kind: str, other: str
) -> None:
    """And said why, when the sink opens, too. What is said there mends it."""
    first = "ä" if other == "Ä" else "a"
    await run(connections, f"CREATE TABLE t (v text, k {kind} NOT NULL PRIMARY KEY)")
    sink = sink_of(connections, "k")
    with capture_logs() as said:
        await sink.open()
    [warning] = said
    assert (warning["log_level"], warning["table"]) == ("warning", "t")
    statement = warning["statement"]
    rows = rows_of((first, "1"), (other, "2"), ("b", "3"), ("€", "4"))
    reasons = await refused_by(sink, Batch(1, rows))
    assert list(reasons) == [other]
    assert statement in reasons[other]
    await sink.deliver(Batch(1, [row for row in rows if row.data[0] != other]))
    await sink.deliver(Batch(2, [*gone((other, "2")), *rows_of(("b", "4"))]))
    assert await kept(connections) == sorted([(first, "1"), ("b", "4"), ("€", "4")])
    assert other in await refused_by(sink, Batch(3, rows_of((other, "5"))))
    await run(connections, statement)
    sink = sink_of(connections, "k")
    with capture_logs() as said:
        await sink.open()
    assert said == []
    await sink.deliver(Batch(3, rows_of((other, "5"))))
    assert {(first, "1"), (other, "5")} <= set(await kept(connections))


async def advised(connections: MysqlConnections, column: str) -> tuple[str | None, str]:
    """The statement that a table with this key is told, and what the column has to be."""
    await run(connections, f"CREATE OR REPLACE TABLE t (k {column}, v text, PRIMARY KEY (k))")
    with capture_logs() as said:
        await sink_of(connections, "k").open()
    return said[0]["statement"], said[0]["wanted"]


async def test_what_mends_a_column_keeps_all_else_of_it(connections: MysqlConnections) -> None:
    """What is in front of the rest is its type, and its collation."""
    rests = [r"NOT NULL DEFAULT 'it''s \\ \n `1`, 50%' COMMENT 'a ''region'' \\, (new)'"]
    rests += ["NOT NULL DEFAULT 'uuid()'", "NOT NULL DEFAULT '' COMMENT 'k'", "NOT NULL"]
    exact = "`k` varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    for kind, rest in itertools.product(("varchar", "char"), rests):
        column = f"{kind}(40) CHARACTER SET latin1 {rest}"
        statement, wanted = await advised(connections, column)
        assert wanted == "`k` varchar(40) COLLATE utf8mb4_nopad_bin"
        assert statement is not None
        before = (await run(connections, "SHOW CREATE TABLE t"))[0][1]
        await run(connections, statement)
        after = (await run(connections, "SHOW CREATE TABLE t"))[0][1]
        assert f" {rest},\n" in before
        assert after == re.sub("`k` .*? NOT", f"{exact} NOT", before, count=1)


@pytest.mark.parametrize(
    "rest",
    ["DEFAULT uuid()", "DEFAULT (1 + 1)", "CHECK (k <> 'a')", "INVISIBLE DEFAULT 'a'"],
)
async def test_a_column_with_more_is_told_only_its_collation(
    connections: MysqlConnections, rest: str
) -> None:
    """As it is not known here what a statement would take from it."""
    statement, wanted = await advised(connections, f"varchar(40) NOT NULL {rest}")
    assert (statement, wanted) == (None, "`k` varchar(40) COLLATE utf8mb4_nopad_bin")
    sink = sink_of(connections, "k")
    await sink.open()
    reasons = await refused_by(sink, Batch(1, rows_of(("b", "1"), ("B", "2"))))
    assert f"it has to be {wanted}" in reasons["B"]


async def test_a_generated_column_is_told_only_its_collation(
    connections: MysqlConnections,
) -> None:
    """Its rule stays its owner's."""
    await run(connections, "CREATE TABLE t (v text, k varchar(9) AS (left(v, 9)) STORED UNIQUE)")
    with capture_logs() as said:
        await sink_of(connections, "k").open()
    assert said[0]["statement"] is None


async def test_a_row_without_key_goes_by_its_exact_texts(connections: MysqlConnections) -> None:
    """Whatever the table's collation takes for the same."""
    await run(connections, "CREATE TABLE t (k varchar(40) CHARACTER SET latin1, v char(9))")
    sink = sink_of(connections)
    await sink.open()
    texts = [("a", "x"), ("A", "x"), ("ä", None), ("Ä", "x "), ("a ", "x")]
    await sink.deliver(Batch(1, rows_of(*texts, operation=Operation.EVENT)))
    await sink.deliver(Batch(2, gone(("A", "x"), ("Ä", "x "), ("ä", None), ("a ", "X"))))
    assert await kept(connections) == [("a", "x"), ("a ", "x")]


@pytest.mark.parametrize("index", ["UNIQUE (v)", "UNIQUE (k, v(3)), UNIQUE (v)"])
async def test_a_clash_by_another_unique_index_is_refused(
    connections: MysqlConnections, index: str
) -> None:
    """The row of the other key stays as it is. Rows that clash with none are written."""
    columns = "k varchar(9) NOT NULL PRIMARY KEY, v varchar(9)"
    await run(connections, f"CREATE TABLE t ({index}, {columns})")
    sink = sink_of(connections, "k")
    await sink.open()
    await sink.deliver(Batch(1, rows_of(("a", "1"), ("b", "2"))))
    rows = rows_of(("c", "1"), ("b", "3"), ("d", "4"))
    reasons = await refused_by(sink, Batch(2, rows))
    assert list(reasons) == ["c"]
    assert "Duplicate entry" in reasons["c"]
    await sink.deliver(Batch(2, rows[1:]))
    assert await kept(connections) == [("a", "1"), ("b", "3"), ("d", "4")]
    assert list(await refused_by(sink, Batch(3, rows_of(("b", "1"))))) == ["b"]
    await sink.deliver(Batch(3, rows_of(("b", "3"))))
    assert await kept(connections) == [("a", "1"), ("b", "3"), ("d", "4")]


async def test_an_index_of_a_part_of_the_key_merges_nothing(connections: MysqlConnections) -> None:
    """Its beginning says nothing about the rest."""
    key = "k varchar(90) COLLATE utf8mb4_nopad_bin"
    await run(connections, f"CREATE TABLE t ({key}, v text, UNIQUE (k(3)))")
    sink = sink_of(connections, "k")
    await sink.open()
    await sink.deliver(Batch(1, rows_of(("abc1", "1"))))
    assert list(await refused_by(sink, Batch(2, rows_of(("abc2", "2"))))) == ["abc2"]
    await sink.deliver(Batch(2, rows_of(("abc1", "3"))))
    assert await kept(connections) == [("abc1", "3")]


async def test_one_of_two_rows_with_one_unique_value_is_refused(
    connections: MysqlConnections,
) -> None:
    """And not the whole batch. What was tried leaves nothing behind."""
    await run(connections, "CREATE TABLE t (k varchar(9) NOT NULL PRIMARY KEY, v text)")
    sink = sink_of(connections)
    await sink.open()
    rows = rows_of(*((str(number % 4), str(number)) for number in range(5)))
    rows = [*rows, *rows_of(("x" * 10, "5"))]
    reasons = await refused_by(sink, Batch(1, rows))
    assert set(reasons) == {"0", "x" * 10}
    assert await kept(connections) == []
    await sink.deliver(Batch(1, rows[:4]))
    assert await kept(connections) == [(str(number), str(number)) for number in range(4)]


@pytest.mark.parametrize("index", ["", ", UNIQUE (v)"])
async def test_an_unfit_row_takes_no_other_row_along(
    connections: MysqlConnections, index: str
) -> None:
    """Rows that would clash if each change were made, and of which the last ones do not. One that
    is new goes in when the rows that are there have changed."""
    await run(connections, f"CREATE TABLE t (k varchar(9) PRIMARY KEY, v varchar(9){index})")
    sink = sink_of(connections, "k")
    await sink.open()
    await sink.deliver(Batch(1, rows_of(("old", "1"), ("there", "2"))))
    good = rows_of(("a", "7"), ("b", "7"), ("a", "8"), ("new", "1"), ("newer", "2"), ("there", "3"))
    good += [OutputRow(OutputId(1, 6), "T", 0, ("old",), Operation.DELETE)]
    unfit = [("c", "x" * 10), ("c", "y" * 10), ("\ud800", "1")]
    bad = [OutputRow(OutputId(2, at), "T", 0, data) for at, data in enumerate(unfit)]
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(Batch(2, [*good, *bad]))
    assert [one.row for one in refused.value.refused] == bad
    await sink.deliver(Batch(2, good))
    wanted = [("a", "8"), ("b", "7"), ("new", "1"), ("newer", "2"), ("there", "3")]
    assert await kept(connections) == wanted
