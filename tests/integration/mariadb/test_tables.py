"""A table in a real MariaDB: rows and cursor together, by a composite key too, whatever dies."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiomysql
import pymysql
import pytest

from lockstep.databases import (
    DatabaseError,
    check_datasource,
    datasource_of_url,
    read_datasource,
)
from lockstep.databases.mysql.connections import parameters_of
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
from lockstep_services.publisher.mysql.statements import MysqlStatements
from lockstep_services.publisher.mysql.table import MysqlConnections, MysqlTable
from lockstep_services.publisher.rdbms.table_sink import TableSink
from tests.mariadb.server import MariadbServer, start_mariadb

NAME = "totals 100% `1`"
QUOTED = "`totals 100% ``1```"
KINDS = (AttributeType.LONG,)
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
async def mariadb(tmp_path: Path) -> AsyncIterator[MariadbServer]:
    """The test's own."""
    server = await start_mariadb(tmp_path / "mariadb")
    yield server
    await server.kill()


@pytest.fixture
async def connections(mariadb: MariadbServer) -> AsyncIterator[MysqlConnections]:
    """To its database."""
    pool = MysqlConnections(datasource_of_url("shop", mariadb.url, statement_timeout_ms=2_000))
    yield pool
    await pool.close()


def sink_of(connections: MysqlConnections, key: tuple[str, ...] = KEY) -> TableSink:
    """Another publisher's, each time."""
    binding = SinkBinding("Shop", SCHEMA, "Totals.0.rdbms")
    return TableSink(binding, MysqlTable(binding, NAME, key, connections))


def rows_of(*data: Sequence[Any], operation: Operation = Operation.UPSERT) -> list[OutputRow]:
    """As the output log has them."""
    return [
        OutputRow(OutputId(1, number), "Totals", 0, tuple(values), operation)
        for number, values in enumerate(data)
    ]


async def kept(server: MariadbServer) -> list[tuple[Any, ...]]:
    """What a program of its own reads."""
    connection = await aiomysql.connect(
        host="127.0.0.1", port=server.port, user="lockstep", password=server.password, db="test"
    )
    async with connection.cursor() as cursor:
        await cursor.execute("SELECT * FROM `totals 100% ``1``` ORDER BY amount, customer")
        found = [tuple(row) for row in await cursor.fetchall()]
    connection.close()
    return found


async def test_rows_by_a_composite_key(
    mariadb: MariadbServer, connections: MysqlConnections
) -> None:
    """Of each key the last change counts. No case is folded, and what is too long is refused."""
    sink = sink_of(connections)
    assert await sink.open() == 0
    rows = rows_of(
        ("ann", "n", 1, 5.0, True, {"a": [1]}),
        ("Ann", "n", 1, 1.0, None, None),
        ("ann", "ß🍕", 1, 2.0, False, None),
        ("ann", "n", 2, 12.5, True, None),
        ("gone", "n", 1, 0.0, True, None),
    )
    gone = rows_of(("gone", "n"), operation=Operation.DELETE)
    await sink.deliver(Batch(3, [*rows, *gone]))
    wanted = [
        ("Ann", "n", 1, 1.0, None, None),
        ("ann", "ß🍕", 1, 2.0, 0, None),
        ("ann", "n", 2, 12.5, 1, None),
    ]
    assert await kept(mariadb) == wanted
    bad = rows_of(("x" * 300, "n", 1, 1.0, True, None), ("bob", "n", 1, float("nan"), True, None))
    good = rows_of(("cid", "n", 1, 20.0, True, None))
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(Batch(4, [*bad, *good]))
    assert [one.row for one in refused.value.refused] == bad
    assert await kept(mariadb) == wanted
    await sink.deliver(Batch(4, good))
    assert (await kept(mariadb))[-1][0] == "cid"


async def test_a_table_that_is_there_has_to_tell_rows_apart(
    mariadb: MariadbServer, connections: MysqlConnections
) -> None:
    """By the same columns, in any order; else rows would be written again and again."""
    table = "`totals 100% ``1```"
    columns = "customer varchar(40), region varchar(40), orders bigint, amount double, fine boolean"
    others = "PRIMARY KEY (customer), UNIQUE (region, customer, orders), KEY (customer, region)"
    async with connections.transaction() as cursor:
        await cursor.execute(f"CREATE TABLE {table} ({columns}, more text, {others})")
    with pytest.raises(SinkSetupError, match="no primary key or unique index of customer, region"):
        await sink_of(connections).open()
    async with connections.transaction() as cursor:
        await cursor.execute(f"ALTER TABLE {table} DROP PRIMARY KEY, ADD UNIQUE (Region, customer)")
    sink = sink_of(connections)
    await sink.open()
    found = [("ann", "n", 1, 5.0, True, None), ("ann", "n", 2, 7.0, True, None)]
    await sink.deliver(Batch(3, rows_of(*found)))
    assert await kept(mariadb) == [("ann", "n", 2, 7.0, 1, None)]


async def test_rows_without_a_key(mariadb: MariadbServer, connections: MysqlConnections) -> None:
    """Each row is one, and one goes where one is deleted."""
    sink = sink_of(connections, key=())
    await sink.open()
    row = ("ann", None, 1, 5.5, None, None)
    await sink.deliver(Batch(1, rows_of(row, row, operation=Operation.EVENT)))
    assert await kept(mariadb) == [row, row]
    await sink.deliver(Batch(2, rows_of(row, operation=Operation.DELETE)))
    assert await kept(mariadb) == [row]


@pytest.mark.parametrize(("texts", "characters"), [(1, 255), (3, 255), (4, 191), (8, 95)])
async def test_many_texts_share_what_a_key_may_hold(
    mariadb: MariadbServer, connections: MysqlConnections, texts: int, characters: int
) -> None:
    """As the groups of a stored aggregation are: the table is made, and a text that fits is kept in
    full. One character more is refused."""
    names = tuple(f"t{number}" for number in range(texts))
    kinds = [*(Attribute(name, AttributeType.STRING) for name in names)]
    schema = StreamSchema("Totals", (Attribute("at", AttributeType.LONG), *kinds))
    binding = SinkBinding("Shop", schema, "Totals.0.rdbms")
    table = MysqlTable(binding, "many", ("at", *names), connections)
    sink = TableSink(binding, table)
    assert await sink.open() == 0
    row = (1, *["🍕" * characters] * texts)
    await sink.deliver(Batch(1, rows_of(row)))
    place = parameters_of(datasource_of_url("shop", mariadb.url))
    connection = await aiomysql.connect(**place)
    async with connection.cursor() as cursor:
        await cursor.execute("SELECT * FROM many")
        assert await cursor.fetchall() == (row,)
    connection.close()
    with pytest.raises(RowsRefusedError):
        await sink.deliver(Batch(2, rows_of((1, *["x" * (characters + 1)] * texts))))


async def test_another_publisher_shuts_the_first_one_out(
    mariadb: MariadbServer, connections: MysqlConnections
) -> None:
    """It goes on from the cursor, and what the first one still tries changes nothing."""
    first, second = sink_of(connections), sink_of(connections)
    await first.open()
    await first.deliver(Batch(7, rows_of(("a", "n", 1, 1.0, None, None))))
    assert await second.open() == 7
    with pytest.raises(FencedError):
        await first.deliver(Batch(8, rows_of(("b", "n", 1, 2.0, None, None))))
    await second.deliver(Batch(8, rows_of(("c", "n", 1, 3.0, None, None))))
    assert [row[0] for row in await kept(mariadb)] == ["a", "c"]


async def test_a_server_that_dies_keeps_all_or_nothing(
    mariadb: MariadbServer, connections: MysqlConnections
) -> None:
    """While it is away deliveries say so. Afterwards they go on from the cursor."""
    sink = sink_of(connections)
    await sink.open()
    await sink.deliver(Batch(1, rows_of(("a", "n", 1, 1.0, None, None))))
    await mariadb.kill()
    with pytest.raises(UnavailableError):
        await sink.deliver(Batch(2, rows_of(("b", "n", 1, 2.0, None, None))))
    await mariadb.start()
    await sink.deliver(Batch(2, rows_of(("b", "n", 1, 2.0, None, None))))
    assert await sink_of(connections).open() == 2
    assert [row[0] for row in await kept(mariadb)] == ["a", "b"]


async def test_a_server_that_may_not_write_is_away(mariadb: MariadbServer) -> None:
    """As a replica that is not yet promoted. No row is refused for that."""
    admin = await aiomysql.connect(**parameters_of(datasource_of_url("shop", mariadb.url)))
    async with admin.cursor() as cursor:
        # Who may do all may write nevertheless.
        await cursor.execute("CREATE USER 'app'@'%' IDENTIFIED BY 'app'")
        await cursor.execute(
            "INSERT INTO mysql.db (Host, Db, User, Select_priv, Insert_priv, Update_priv,"
            " Delete_priv, Create_priv) VALUES ('%', 'test', 'app', 'Y', 'Y', 'Y', 'Y', 'Y')"
        )
        await cursor.execute("FLUSH PRIVILEGES")
        pool = MysqlConnections(
            datasource_of_url("shop", f"mysql://app:app@127.0.0.1:{mariadb.port}/test")
        )
        sink, statements = sink_of(pool), MysqlStatements("calls", pool)
        await sink.open()
        row = ("a", "n", 1, 1.0, None, None)
        await cursor.execute("SET GLOBAL read_only = 1")
        for rows in (rows_of(row), []):
            with pytest.raises(UnavailableError, match="read-only"):
                await sink.deliver(Batch(1, rows))
        with pytest.raises(statements.away):
            await statements.take_over(forget=False)
        await cursor.execute("SET GLOBAL read_only = 0")
    await sink.deliver(Batch(1, rows_of(row)))
    assert [one[0] for one in await kept(mariadb)] == ["a"]
    with pytest.raises(ValueError, match="READ ONLY"):
        await statements.rows((f"DELETE FROM {QUOTED} WHERE orders = ", ""), KINDS, (1,), 5)
    await pool.close()
    admin.close()


async def test_a_datasource_says_whether_it_answers(mariadb: MariadbServer) -> None:
    """The server's version; a wrong password and a server that is away are told apart."""
    assert (await check_datasource(datasource_of_url("a", mariadb.url))).startswith("MariaDB 1")
    wrong = datasource_of_url("b", f"mysql://lockstep:no@127.0.0.1:{mariadb.port}/test")
    with pytest.raises(DatabaseError, match="denied"):
        await check_datasource(wrong)
    await mariadb.kill()
    with pytest.raises(UnavailableError):
        await check_datasource(datasource_of_url("a", mariadb.url))


async def test_some_rows_are_read_and_nothing_is_changed(
    mariadb: MariadbServer, connections: MysqlConnections
) -> None:
    """Of a table, or of a SELECT that is one statement and nothing else."""
    sink = sink_of(connections)
    await sink.open()
    rows = [(name, "n", 1, 5.0, True, None) for name in ("ann", "bob", "cid")]
    await sink.deliver(Batch(1, rows_of(*rows)))
    shop = datasource_of_url("shop", mariadb.url, statement_timeout_ms=2_000)

    async def read(**wanted: str) -> tuple[Any, ...]:
        found = await read_datasource(shop, **{"table": "", "select": "", **wanted}, max_rows=2)
        return found.columns, [list(row) for row in found.rows], found.is_cut

    columns, found, is_cut = await read(table=f"test.{NAME}")
    assert columns == SCHEMA.names
    assert (len(found), is_cut) == (2, True)
    named = "`totals 100% ``1```"
    some = f"SELECT customer AS c, CAST(amount AS DECIMAL(9,2)) AS a FROM {named} ORDER BY 1 DESC;"
    assert await read(select=f"{some} ") == (("c", "a"), [["cid", "5.00"], ["bob", "5.00"]], True)
    day = "SELECT DATE '2026-01-02' AS d, X'00ff' AS b, NULL AS n -- all"
    assert await read(select=day) == (("d", "b", "n"), [["2026-01-02", "00ff", None]], False)
    for evil in (
        f"SELECT 1; DELETE FROM {named}",
        f"SELECT 1) AS a; DELETE FROM {named}; --",
        "SELECT 1 INTO OUTFILE '/tmp/lockstep-never'",
        "SELECT 1) AS a INTO OUTFILE '/tmp/lockstep-never' /*",
        f"DELETE FROM {named}",
        f"TRUNCATE {named}",
        "nonsense",
    ):
        with pytest.raises(DatabaseError):
            await read(select=evil)
    assert len(await kept(mariadb)) == 3
    assert not Path("/tmp/lockstep-never").exists()
    with pytest.raises(UnavailableError, match="2000 ms"):
        await read(select="SELECT SLEEP(20) AS s")


async def test_a_server_that_lacks_something_for_now_is_away(mariadb: MariadbServer) -> None:
    """It may have it a while later; nobody has to look after it."""
    shop = datasource_of_url("shop", mariadb.url)
    async with contextlib.AsyncExitStack() as held:
        with contextlib.suppress(pymysql.OperationalError):
            for _ in range(1_000):
                await held.enter_async_context(aiomysql.connect(**parameters_of(shop)))
        with pytest.raises(UnavailableError, match="Too many connections"):
            await check_datasource(shop)
    assert (await check_datasource(shop)).startswith("MariaDB 1")
