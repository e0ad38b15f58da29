"""Tables in a real Redis: rows and cursor are one step, whatever dies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from redis.asyncio import Redis

from lockstep.databases import Datasource, redis_at
from lockstep.databases.redis.connections import RedisConnections
from lockstep.embedded import EmbeddedServers
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
from lockstep.plan import java
from lockstep_services.publisher.contract import Batch, SinkBinding, SinkSetupError
from lockstep_services.publisher.rdbms.table_sink import TableSink
from lockstep_services.publisher.redis.table import RedisTable
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start

SCHEMA = StreamSchema(
    "Totals",
    (
        Attribute("customer", AttributeType.STRING),
        Attribute("region", AttributeType.STRING),
        Attribute("orders", AttributeType.LONG),
        Attribute("amount", AttributeType.DOUBLE),
        Attribute("rate", AttributeType.FLOAT),
        Attribute("fine", AttributeType.BOOL),
        Attribute("more", AttributeType.OBJECT),
    ),
)
KEY = ("customer", "region")
TABLE = "totals of test_redis_tables"
APP = """
@app:name('Totals')
define stream Sale (article string, amount double);
define stream Gone (article string);
@store(type='redis', nodes='{host}:{port}@{password}', table.name='sold')
@PrimaryKey('article')
define table Sold (article string, amount double);
from Sale select article, amount update or insert into Sold on Sold.article == article;
from Gone delete Sold on Sold.article == article;
"""


def place(servers: EmbeddedServers) -> Datasource:
    """Of the session's server."""
    found = urlsplit(servers.redis_url)
    return redis_at(str(found.hostname), int(found.port or 0), unquote(str(found.password)))


@pytest.fixture
async def connections(servers: EmbeddedServers) -> AsyncIterator[RedisConnections]:
    """To it."""
    found = RedisConnections(place(servers))
    yield found
    await found.close()


@pytest.fixture
async def redis(servers: EmbeddedServers) -> AsyncIterator[Any]:
    """A program of its own."""
    async with Redis.from_url(servers.redis_url, decode_responses=True) as client:
        yield client
        if keys := [key async for key in client.scan_iter(f"{TABLE}*")]:
            await client.delete(*keys)


def sink_of(connections: RedisConnections, name: str) -> TableSink:
    """Another publisher's, each time."""
    binding = SinkBinding("Shop", SCHEMA, name)
    return TableSink(binding, RedisTable(binding, TABLE, KEY, connections))


def rows_of(*data: Sequence[Any], operation: Operation = Operation.UPSERT) -> list[OutputRow]:
    """As the output log has them."""
    return [
        OutputRow(OutputId(1, number), "Totals", 0, tuple(values), operation)
        for number, values in enumerate(data)
    ]


async def kept(redis: Any) -> dict[str, dict[str, str]]:
    """All rows by their keys."""
    keys = [key async for key in redis.scan_iter(f"{TABLE}*")]
    return {key.removeprefix(f"{TABLE}:"): await redis.hgetall(key) for key in keys}


async def test_rows_are_hashes_as_the_older_product_wrote_them(
    connections: RedisConnections, redis: Any
) -> None:
    """Texts as Java writes them, no field for null, no two keys one; what is changed loses what it
    had, what is deleted goes, and what else lay at the key."""
    sink = sink_of(connections, "Rows.0.redis")
    start = await sink.open()
    await redis.set(f"{TABLE}:a%3Ab:c", "something else")
    rows = rows_of(
        ("ann", "eu", 7, 1e10, java.f32(0.1), True, {"a": [1]}),
        ("a:b", "c", 1, 1.0, 2.0, False, None),
        ("a", "b:c", 2, None, None, None, None),
        ("ä ", "%3A", 3, 45.25, None, None, None),
        ("bob", "us", 1, 1.0, 1.0, True, None),
        ("bob", "us", 2, None, 1.0, True, None),
    )
    await sink.deliver(Batch(start + 1, rows))
    assert await kept(redis) == {
        "ann:eu": {
            "customer": "ann", "region": "eu", "orders": "7", "amount": "1.0E10", "rate": "0.1",
            "fine": "true", "more": '{"a":[1]}',
        },
        "a%3Ab:c": {
            "customer": "a:b", "region": "c", "orders": "1", "amount": "1.0", "rate": "2.0",
            "fine": "false",
        },
        "a:b%3Ac": {"customer": "a", "region": "b:c", "orders": "2"},
        "ä :%253A": {"customer": "ä ", "region": "%3A", "orders": "3", "amount": "45.25"},
        "bob:us": {"customer": "bob", "region": "us", "orders": "2", "rate": "1.0", "fine": "true"},
    }  # fmt: skip
    gone = rows_of(("bob", "us"), ("ann", "eu"), ("nobody", ""), operation=Operation.DELETE)
    await sink.deliver(Batch(start + 2, gone))
    assert sorted(await kept(redis)) == ["a%3Ab:c", "a:b%3Ac", "ä :%253A"]


async def test_a_publisher_that_was_replaced_writes_nothing(
    connections: RedisConnections, redis: Any
) -> None:
    """Nor does one that believes the cursor to be elsewhere. Who takes over finds what a step did
    whose answer got lost."""
    first, second = (sink_of(connections, "Fenced.0.redis") for _ in range(2))
    start = await first.open()
    row = ("ann", "eu", 1, None, None, None, None)
    await first.deliver(Batch(start + 5, rows_of(row)))
    assert await second.open() == start + 5
    with pytest.raises(FencedError):
        await first.deliver(Batch(start + 6, rows_of(("zoe", *row[1:]))))
    table = RedisTable(second.binding, TABLE, KEY, connections)
    assert await table.take_over() == start + 5
    await table.transact(rows_of(("bob", *row[1:])), start + 5, start + 9)
    with pytest.raises(FencedError):  # the same again
        await table.transact(rows_of(("zoe", *row[1:])), start + 5, start + 9)
    assert await table.take_over() == start + 9
    assert sorted(await kept(redis)) == ["ann:eu", "bob:eu"]


async def test_a_cursor_is_exact_at_any_size(connections: RedisConnections, redis: Any) -> None:
    """A scheduled script's holds a due time and the number of a part: more than 53 bits."""
    binding = SinkBinding("batch:daily", SCHEMA, "Large.0.redis")
    table = RedisTable(binding, TABLE, KEY, connections)
    at = await table.take_over()
    for minute in range(3):
        up_to = ((1_764_400_000_000 + minute * 60_000) << 20) + 1
        row = ("ann", "eu", minute, None, None, None, None)
        await table.transact(rows_of(row), at, up_to)
        at = await table.take_over()
        assert at == up_to
    assert (await kept(redis))["ann:eu"]["orders"] == "2"


async def test_a_server_that_is_away_and_one_that_lets_nobody_in(
    servers: EmbeddedServers, connections: RedisConnections
) -> None:
    """The first is tried again; the second is somebody's to mend. Broken connections are made
    anew."""
    known = place(servers)
    nobody = RedisConnections(redis_at("127.0.0.1", 9, ""))
    with pytest.raises(UnavailableError, match="the database is away"):
        await sink_of(nobody, "Away.0.redis").open()
    wrong = RedisConnections(redis_at(known.host, known.port, "wrong"))
    with pytest.raises(SinkSetupError, match="cannot be used"):
        await sink_of(wrong, "Wrong.0.redis").open()
    await wrong.close()
    sink = sink_of(connections, "Broken.0.redis")
    start = await sink.open()
    await connections.close()
    await sink.deliver(Batch(start + 1, []))
    await nobody.close()


async def test_a_table_of_an_app_goes_on_when_its_publisher_dies(
    cluster_of: Start, servers: EmbeddedServers
) -> None:
    """What the table holds is in Redis: all of it, and nothing that was deleted."""
    known = place(servers)
    nodes = ("coordinator", "processor-1", "receiver", "publisher-1")
    async with (
        cluster_of(*nodes) as cluster,
        Redis.from_url(servers.redis_url, decode_responses=True) as client,
    ):

        async def holds(wanted: dict[str, str]) -> None:
            found: dict[str, Any] = {}

            async def there() -> bool:
                nonlocal found
                keys = [key async for key in client.scan_iter("sold:*")]
                found = {key: await client.hget(key, "amount") for key in keys}
                return found == wanted

            await until(there, str(wanted), seen=lambda: found)

        app = await cluster.deploy(
            APP.format(host=known.host, port=known.port, password=known.password)
        )
        await cluster.send(app, "Sale", [["toffee", 45.25], ["cake", 1.0], ["toffee", 50.0]])
        await holds({"sold:toffee": "50.0", "sold:cake": "1.0"})
        await cluster.crash("publisher-1")
        await cluster.send(app, "Gone", ["cake"])
        await cluster.send(app, "Sale", [["bread", 2.5], ["toffee", 51.0]])
        await cluster.start("publisher-2")
        await holds({"sold:toffee": "51.0", "sold:bread": "2.5"})
