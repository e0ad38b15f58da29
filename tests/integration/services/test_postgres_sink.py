"""A sink into PostgreSQL: what passes is waited for, and no row is refused for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from lockstep.databases.postgres.connections import Connections
from lockstep.embedded import PostgresServer
from lockstep.events import (
    Attribute,
    AttributeType,
    Operation,
    OutputId,
    OutputRow,
    StreamSchema,
    UnavailableError,
)
from lockstep_services.publisher.contract import Batch, RowsRefusedError, SinkBinding
from lockstep_services.publisher.rdbms.postgres import PostgresTable
from lockstep_services.publisher.rdbms.statements import PostgresStatements
from lockstep_services.publisher.rdbms.table_sink import TableSink
from tests.contract.pooler import pooled
from tests.integration.services.cluster import CLOCK, RANDOM, until

SCHEMA = StreamSchema(
    "Known", (Attribute("k", AttributeType.INT), Attribute("v", AttributeType.INT))
)
WAITS = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[PostgresServer]:
    """The test's own."""
    found = PostgresServer(tmp_path, clock=CLOCK, randomness=RANDOM, durable=False)
    await found.start()
    yield found
    await found.kill()


@pytest.fixture
async def admin(server: PostgresServer) -> AsyncIterator[asyncpg.Connection]:
    """Whoever looks after the server."""
    connection = await asyncpg.connect(server.url)
    yield connection
    await connection.close()


async def set_default(server: PostgresServer, admin: asyncpg.Connection, setting: str) -> None:
    """For all sessions that begin."""
    name = await admin.fetchval("SELECT quote_ident(current_database())")
    await admin.execute(f"ALTER DATABASE {name} SET {setting}")


def connections_of(server: PostgresServer) -> Connections:
    """New sessions."""
    return Connections(server.url, max_connections=2, statement_timeout_ms=10_000)


def sink_of(connections: Connections) -> TableSink:
    """Of a table with a key."""
    binding = SinkBinding("App", SCHEMA, "Known.0.rdbms")
    return TableSink(binding, PostgresTable(binding, "known", ("k",), connections))


def rows_of(value: int, keys: Sequence[int] = (1, 2, 3)) -> list[OutputRow]:
    """All keys get the value."""
    return [OutputRow(OutputId(value, key), "Known", 1, (key, value)) for key in keys]


async def kept(admin: asyncpg.Connection) -> list[tuple[int, int]]:
    """What is in the table."""
    return [tuple(row) for row in await admin.fetch("SELECT k, v FROM known ORDER BY k")]


async def test_a_server_that_may_not_write_is_away(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """As a replica that is not yet promoted, or one whose disk is full. A statement of an app is as
    patient; a question that would change something is wrong, whatever the server may."""
    connections = connections_of(server)
    sink, statements = sink_of(connections), PostgresStatements("calls", connections)
    await sink.open()
    await statements.take_over(forget=False)
    await sink.deliver(Batch(1, rows_of(1)))
    await connections.close()
    await set_default(server, admin, "default_transaction_read_only = on")
    change = ("UPDATE known SET v = ", "")
    for rows in (rows_of(2), []):
        with pytest.raises(UnavailableError, match="read-only"):
            await sink.deliver(Batch(2, rows))
    with pytest.raises(UnavailableError, match="read-only"):
        await sink_of(connections).open()
    with pytest.raises(statements.away):
        await statements.change("App/main/0/1.0", change, (AttributeType.INT,), (7,))
    await connections.close()
    await set_default(server, admin, "default_transaction_read_only = off")
    with pytest.raises(ValueError, match="read-only"):
        await statements.rows(change, (AttributeType.INT,), (7,), 5)
    await sink.deliver(Batch(2, rows_of(2)))
    assert await kept(admin) == [(1, 2), (2, 2), (3, 2)]
    assert await statements.change("App/main/0/1.0", change, (AttributeType.INT,), (7,)) == 3
    await connections.close()


async def test_a_transaction_that_comes_too_late_is_tried_again(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """Another program has changed a row meanwhile, where transactions see one moment."""
    await set_default(server, admin, "default_transaction_isolation = 'repeatable read'")
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await sink.deliver(Batch(1, rows_of(1)))
    async with asyncio.TaskGroup() as group, admin.transaction():
        await admin.execute("UPDATE known SET v = 100 WHERE k = 2")
        delivering = group.create_task(late(sink))
        await until(lambda: admin.fetchval(WAITS), "it waits for the other program")
    assert "serialize" in delivering.result()
    await sink.deliver(Batch(2, rows_of(2)))
    assert await kept(admin) == [(1, 2), (2, 2), (3, 2)]
    await connections.close()


async def late(sink: TableSink) -> str:
    """Why it is to be tried again."""
    with pytest.raises(UnavailableError) as told:
        await sink.deliver(Batch(2, rows_of(2)))
    return str(told.value)


async def test_a_row_that_does_not_fit_is_refused_alone(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """By what the table itself demands."""
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await admin.execute("ALTER TABLE known ADD CHECK (v < 5)")
    bad = rows_of(9, keys=(2,))
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(Batch(1, [*rows_of(1, keys=(1,)), *bad]))
    assert [one.row for one in refused.value.refused] == bad
    await sink.deliver(Batch(1, rows_of(1, keys=(1,))))
    assert await kept(admin) == [(1, 1)]
    await connections.close()


async def test_a_pooler_of_transactions_refuses_no_row(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """Each transaction may have another connection, on which nothing is prepared."""
    async with pooled(server) as url:
        connections = Connections(url, max_connections=2, statement_timeout_ms=10_000)
        other = Connections(url, max_connections=1, statement_timeout_ms=10_000)
        sink, pool = sink_of(connections), await other.pool()
        await sink.open()
        for number in range(1, 7):
            await pool.execute("SELECT 1")  # so the turns change
            await sink.deliver(Batch(number, rows_of(number)))
            assert await kept(admin) == [(1, number), (2, number), (3, number)]
        for each in (connections, other):
            await each.close()


BOOM = """CREATE OR REPLACE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'boom' USING errcode = '{}'; END $$;
CREATE OR REPLACE TRIGGER boom BEFORE INSERT ON known FOR EACH ROW EXECUTE FUNCTION boom()"""


@pytest.mark.parametrize("code", ["58030", "XX001", "XX002", "26000", "42P05"])
async def test_what_the_servers_operator_has_to_mend_refuses_no_row(
    server: PostgresServer, admin: asyncpg.Connection, code: str
) -> None:
    """An I/O error, a broken index, a pooler in between that loses statements: rows wait."""
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await admin.execute(BOOM.format(code))
    with pytest.raises(UnavailableError, match="boom"):
        await sink.deliver(Batch(1, rows_of(1)))
    await admin.execute("DROP TRIGGER boom ON known")
    await sink.deliver(Batch(1, rows_of(1)))
    assert await kept(admin) == [(1, 1), (2, 1), (3, 1)]
    await connections.close()


@pytest.fixture
async def limited(server: PostgresServer, admin: asyncpg.Connection) -> AsyncIterator[Connections]:
    """Of a user `w`, who made no table of apps: what it may do to them, it was granted."""
    await admin.execute(
        "CREATE TABLE known (k integer PRIMARY KEY, v integer);"
        "CREATE ROLE w LOGIN PASSWORD 'w'; GRANT CREATE, USAGE ON SCHEMA public TO w"
    )
    url = urlsplit(server.url)
    address = url._replace(netloc=f"w:w@{url.hostname}:{url.port}").geturl()
    found = Connections(address, max_connections=1, statement_timeout_ms=10_000)
    yield found
    await found.close()


UNFIT = OutputRow(OutputId(1, 9), "Known", 1, (9, 2**40))
"""Its number is too large, whatever rights there are."""


def gone(key: int) -> OutputRow:
    """A deletion."""
    return OutputRow(OutputId(1, 7), "Known", 1, (key,), Operation.DELETE)


@pytest.mark.parametrize(
    ("taken", "lacks"),
    [
        ("ALL", "INSERT, UPDATE, SELECT, DELETE"),
        ("UPDATE, DELETE", "UPDATE, DELETE"),
        ("SELECT", "SELECT"),
    ],
)
async def test_rows_wait_where_the_sink_may_do_nothing_to_its_table(
    admin: asyncpg.Connection, limited: Connections, taken: str, lacks: str
) -> None:
    """Also where a row among them would not fit. They go in once the rights are back."""
    sink = sink_of(limited)
    await sink.open()
    await admin.execute("GRANT ALL ON known TO w")
    await admin.execute(f"REVOKE {taken} ON known FROM w")
    for rows in (rows_of(1), [*rows_of(1), UNFIT], [gone(1)]):
        with pytest.raises(UnavailableError, match=f"write nothing.* grant {lacks} on the table"):
            await sink.deliver(Batch(1, rows))
    await admin.execute("GRANT ALL ON known TO w")
    await sink.deliver(Batch(1, rows_of(1)))
    assert await kept(admin) == [(1, 1), (2, 1), (3, 1)]


async def test_rows_wait_where_the_sink_may_not_look_into_the_schema(
    server: PostgresServer, admin: asyncpg.Connection, limited: Connections
) -> None:
    """The server says then not even which rights there are."""
    await admin.execute("CREATE SCHEMA shop; ALTER TABLE known SET SCHEMA shop")
    await admin.execute("GRANT CREATE, USAGE ON SCHEMA shop TO w; GRANT ALL ON shop.known TO w")
    binding = SinkBinding("App", SCHEMA, "Known.0.rdbms")
    sink = TableSink(binding, PostgresTable(binding, "shop.known", ("k",), limited))
    await sink.open()
    await admin.execute("REVOKE USAGE ON SCHEMA shop FROM w")
    with pytest.raises(UnavailableError, match="grant USAGE"):
        await sink.deliver(Batch(1, rows_of(1)))
    await admin.execute("GRANT USAGE ON SCHEMA shop TO w")
    await sink.deliver(Batch(1, rows_of(1)))


async def test_rows_wait_where_the_sink_may_not_note_its_place(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """They would go in."""
    await admin.execute("GRANT ALL ON known TO w")
    sink = sink_of(limited)
    await sink.open()
    await admin.execute("REVOKE UPDATE ON lockstep_sink_cursors FROM w")
    with pytest.raises(UnavailableError, match="place cannot be noted: permission denied"):
        await sink.deliver(Batch(1, rows_of(1)))
    await admin.execute("GRANT UPDATE ON lockstep_sink_cursors TO w")
    await sink.deliver(Batch(1, rows_of(1)))
    assert await kept(admin) == [(1, 1), (2, 1), (3, 1)]


async def test_a_deletion_that_nobody_may_make_does_not_stop_the_sink(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """Whatever rows are beside it; it is told which right is missing. One column at a time is a
    grant, too."""
    await admin.execute("INSERT INTO known VALUES (1, 0)")
    await admin.execute("GRANT SELECT (k, v), INSERT (k, v), UPDATE (v) ON known TO w")
    sink = sink_of(limited)
    await sink.open()
    for beside in ([], [UNFIT], rows_of(1, keys=(2,))):
        reasons = await refused_by(sink, Batch(1, [gone(1), *beside]))
        assert reasons[gone(1).id].endswith("for table known: the sink's user lacks DELETE")
        assert set(reasons) <= {gone(1).id, UNFIT.id}
    await sink.deliver(Batch(1, []))
    await sink.deliver(Batch(2, rows_of(1, keys=(1, 2))))
    assert await kept(admin) == [(1, 1), (2, 1)]


async def test_a_deletion_reads_the_key_alone(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """So rows are deleted, and others refused, where an upsert may not read what it writes."""
    await admin.execute("INSERT INTO known VALUES (1, 0), (2, 0)")
    await admin.execute("GRANT SELECT (k), INSERT, UPDATE, DELETE ON known TO w")
    sink = sink_of(limited)
    await sink.open()
    reasons = await refused_by(sink, Batch(1, [*rows_of(1, keys=(3,)), gone(1)]))
    assert list(reasons) == [OutputId(1, 3)]
    assert reasons[OutputId(1, 3)].endswith("the sink's user lacks SELECT")
    await sink.deliver(Batch(1, [gone(1)]))
    assert await kept(admin) == [(2, 0)]


async def test_an_event_needs_no_right_but_to_insert(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """Into a table without key."""
    binding = SinkBinding("App", SCHEMA, "Known.0.rdbms")
    sink = TableSink(binding, PostgresTable(binding, "known", (), limited))
    await sink.open()
    with pytest.raises(UnavailableError, match="grant INSERT, DELETE, SELECT on the table"):
        await sink.deliver(Batch(1, rows_of(1)))
    await admin.execute("GRANT INSERT ON known TO w")
    await sink.deliver(Batch(1, rows_of(1)))
    assert await kept(admin) == [(1, 1), (2, 1), (3, 1)]


async def test_a_trigger_that_refuses_a_row_does_not_stop_the_sink(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """Though it says what a missing right says, and there is no other row in the batch."""
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await admin.execute(BOOM.format("42501"))
    reasons = await refused_by(sink, Batch(1, rows_of(1, keys=(1,))))
    assert reasons == {OutputId(1, 1): "boom"}
    await connections.close()


async def test_an_unfit_row_takes_no_other_row_along(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """Rows that would clash if each change were made, and of which the last ones do not."""
    await admin.execute("CREATE TABLE known (k integer PRIMARY KEY, v integer UNIQUE)")
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await sink.deliver(Batch(1, rows_of(1, keys=(1,))))
    good = [*rows_of(7, keys=(7, 8)), *rows_of(8, keys=(7,)), *rows_of(1, keys=(2,)), gone(1)]
    assert list(await refused_by(sink, Batch(2, [*good, UNFIT]))) == [UNFIT.id]
    await sink.deliver(Batch(2, good))
    assert await kept(admin) == [(2, 1), (7, 8), (8, 7)]
    await connections.close()


async def refused_by(sink: TableSink, batch: Batch) -> dict[OutputId, str]:
    """Why, by the refused rows' identities."""
    with pytest.raises(RowsRefusedError) as refused:
        await sink.deliver(batch)
    return {one.row.id: one.reason for one in refused.value.refused}


async def test_a_policy_refuses_single_rows(
    server: PostgresServer, admin: asyncpg.Connection
) -> None:
    """In the words of a right that is missing, though other rows go in."""
    connections = connections_of(server)
    sink = sink_of(connections)
    await sink.open()
    await admin.execute(BOOM.format("42501"))
    await admin.execute("ALTER TABLE known ENABLE ROW LEVEL SECURITY")
    with pytest.raises(RowsRefusedError, match="refused"):
        await sink.deliver(Batch(1, rows_of(1)))
    await connections.close()
