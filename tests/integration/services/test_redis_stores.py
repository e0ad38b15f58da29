"""Tables that other programs keep in a real Redis: followed and looked up, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from redis import exceptions
from redis.asyncio import Redis

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.databases import DatabaseError, TableShape, open_asking, redis_at
from lockstep.databases.redis.looking import RedisLooking
from lockstep.embedded import RedisServer
from lockstep.events import AttributeType, UnavailableError
from tests.integration.services.cluster import CLOCK
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import (
    agrees_with,
    asked_over_an_absence,
    dying,
    folds_alike,
    ordered,
    post,
    rows_of,
)

COPIES = """
@app:name('{name}')
define stream Orders (id long, customer int);
@store(type='redis', mode='copy', {store} table.name='customers', columns='name=full_name',
       poll.interval='100 millisec')
@PrimaryKey('id')
define table Customers (id int, name string, credit double, gold bool);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
LOOKUPS = """
@app:name('{name}')
define stream Orders (id long, customer int);
define stream Gold (customer int);
@store(type='redis', mode='lookup', {store} table.name='customers', columns='name=full_name')
@PrimaryKey('id')
define table Customers (id int, name string, region string);
from Orders as o left outer join Customers as c on o.customer == c.id and c.region == 'eu'
select o.id as id, c.name as name insert into Found;
from Gold[(Customers.id == customer) in Customers] select customer insert into Known;
"""
NODES = ("coordinator", "processor-1", "receiver-1", "presenter")
KINDS = {
    "id": AttributeType.LONG,
    "shop": AttributeType.STRING,
    "name": AttributeType.STRING,
    "amount": AttributeType.DOUBLE,
    "fine": AttributeType.BOOL,
}
SHAPE = TableShape("shops*[1]", tuple(KINDS), tuple(KINDS.values()), ("id", "shop"))


class Place:
    """A server of other programs; what it holds survives a kill."""

    def __init__(self, server: RedisServer) -> None:
        self.server = server
        self.store = f"host='127.0.0.1', port='{server.port}', password='{server.password}',"
        self.client: Any = Redis(port=server.port, password=server.password, decode_responses=True)

    async def put(self, key: str, **fields: str) -> None:
        """A row as it is from now on."""
        async with self.client.pipeline(transaction=True) as pipeline:
            pipeline.delete(key)
            pipeline.hset(key, mapping=fields)
            await pipeline.execute()


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """The test's own."""
    server = RedisServer(tmp_path / "shop", clock=SystemClock(), randomness=SystemRandomness())
    await server.start()
    made = Place(server)
    yield made
    await made.client.aclose()
    await server.kill()


def asking_of(place: Place) -> Any:
    """What a receiver asks with."""
    return open_asking(redis_at("127.0.0.1", place.server.port, place.server.password))


async def test_rows_are_asked_for_by_their_whole_keys(place: Place) -> None:
    """Other fields do not matter, one that is missing is null, and what else is asked for is
    compared by who asks."""
    await place.put("shops*[1]:7:a%3Ab", id="7", amount="1.0E10", fine="TRUE", more="x", name="ä")
    await place.put("shops*[1]:8:c", name="")
    asking = asking_of(place)
    keys = [(7, "a:b"), (8, "c"), (9, "c"), (7, "a")]
    assert await asking.rows(SHAPE, ("id", "shop"), keys) == [
        (7, "a:b", "ä", 1e10, True),
        (8, "c", "", None, None),
    ]
    several = [("no", "c", 8), ("", "c", 8)]
    assert await asking.rows(SHAPE, ("name", "shop", "id"), several) == [(8, "c", "", None, None)]
    await place.put("shops*[1]:8:c", amount="much")
    with pytest.raises(DatabaseError, match="'amount' of a row is 'much', which is no double"):
        await asking.rows(SHAPE, ("id", "shop"), [(8, "c")])
    await place.client.set("shops*[1]:1:x", "no hash")
    with pytest.raises(DatabaseError, match="WRONGTYPE"):
        await asking.rows(SHAPE, ("id", "shop"), [(1, "x")])
    await place.server.kill()
    with pytest.raises(UnavailableError, match="away"):
        await asking.rows(SHAPE, ("id", "shop"), [(8, "c")])
    await asking.close()


async def test_a_login_that_is_refused_is_waited_for(place: Place) -> None:
    """A wrong password, and none where one is wanted: somebody may be changing it just now."""
    await place.put("shops*[1]:8:c", name="")
    for password in ("wrong", ""):
        asking = open_asking(redis_at("127.0.0.1", place.server.port, password))
        with pytest.raises(UnavailableError, match=r"refuses the login \(hint: .*secret") as caught:
            await asking.rows(SHAPE, ("id", "shop"), [(8, "c")])
        assert caught.value.message == "the database refuses the login"
        await asking.close()


async def test_a_look_finds_all_rows_and_nothing_else(place: Place) -> None:
    """Many of them; not keys that only look alike, and not what is no hash."""
    async with place.client.pipeline(transaction=False) as pipeline:
        for number in range(5_000):
            pipeline.hset(f"shops*[1]:{number}:s", mapping={"amount": "NaN"})
            pipeline.hset(f"shopsX1:{number}:s", mapping={"amount": "1"})
        pipeline.set("shops*[1]:x:y", "no hash")
        await pipeline.execute()
    looking = RedisLooking(redis_at("127.0.0.1", place.server.port, place.server.password), SHAPE)
    found = await looking.look()
    assert found is not None
    assert set(found) == {(number, "s") for number in range(5_000)}
    assert found == await looking.look()  # one NaN is what another one is
    await place.put("shops*[1]:a:s", amount="1")
    with pytest.raises(DatabaseError, match="'id' of a row is 'a', which is no long"):
        await looking.look()
    await place.client.delete("shops*[1]:a:s")
    await place.put("shops*[1]:1", amount="1")
    with pytest.raises(DatabaseError, match=r"is not of 2 attributes"):
        await looking.look()
    await looking.close()


async def held(place: Place) -> list[tuple[Any, ...]]:
    """All customers, as another program reads them."""
    found = []
    async for key in place.client.scan_iter("customers:*"):
        row = await place.client.hgetall(key)
        gold = row.get("gold")
        credit = row.get("credit")
        found.append(
            (
                int(key.partition(":")[2]), row.get("full_name"),
                None if credit is None else float(credit), None if gold is None else gold == "true",
            )
        )  # fmt: skip
    return sorted(found)


async def test_a_table_is_loaded_and_followed(cluster_of: Start, place: Place) -> None:
    """Rows that were there, and every way to change them, reach the app's table. While the server
    is away queries read what was there."""
    await place.put("customers:1", full_name="ann", credit="10.5", gold="true", unwanted="x")
    await place.put("customers:2", credit="0")
    async with cluster_of(*NODES) as cluster:
        app = await cluster.deploy(COPIES.format(name="Shop", store=place.store))
        await agrees_with(cluster, app, partial(held, place))
        await place.client.hset("customers:2", "gold", "false")
        await agrees_with(cluster, app, partial(held, place))
        await place.client.rename("customers:2", "customers:20")
        await place.client.hdel("customers:1", "credit")
        await agrees_with(cluster, app, partial(held, place))
        await place.put("customers:3", full_name="x" * 100_000, unwanted="y")
        await place.client.pexpire("customers:20", 1)
        await agrees_with(cluster, app, partial(held, place))
        await place.server.kill()
        await cluster.send(app, "Orders", [7, 1])
        assert (await cluster.published_count(app, 1))[-1].data == (7, "ann", None)
        await place.server.start()
        await place.put("customers:1", full_name="ann 2")
        await agrees_with(cluster, app, partial(held, place))
        await place.client.flushall()
        await agrees_with(cluster, app, partial(held, place))
        assert await rows_of(cluster, app) == []


async def keep_changing(place: Place, stop: asyncio.Event) -> int:
    """Another program, until told; how many changes."""
    done = 0
    while not stop.is_set():
        try:
            await place.client.hset(f"customers:{done % 7}", "credit", str(done))
            await place.client.delete(f"customers:{done % 50}")
            await place.put(f"customers:{done * 31 % 50}", full_name=f"name {done}", gold="true")
            done += 1
        except (exceptions.ConnectionError, exceptions.BusyLoadingError):
            pass  # it was killed
        await CLOCK.sleep_ms(3)
    return done


@pytest.mark.parametrize("victim", ["receiver-1", "receiver-2", "processor-1", "redis"])
async def test_whoever_dies_the_copy_is_what_the_server_has(
    cluster_of: Start, place: Place, victim: str
) -> None:
    """While the table changes all the time a service, or the server, dies and comes back. Folding
    the log again gives what was published."""
    async with cluster_of(*NODES, "processor-2", "receiver-2") as cluster:
        for number in range(50):
            await place.put(f"customers:{number}", full_name="c", credit="0.0", gold="false")
        text = COPIES.format(name="Busy", store=place.store)
        app = await cluster.deploy(text, replicas=2)
        await ordered(
            cluster,
            app,
            partial(keep_changing, place),
            dying(cluster, victim, "redis", place.server),
        )
        await agrees_with(cluster, app, partial(held, place))
        await folds_alike(cluster, app, text)


async def test_each_event_gets_what_the_server_had_when_it_came(
    cluster_of: Start, place: Place
) -> None:
    """While it is away senders wait. Its rows are in the log: folding that again gives the same."""
    rows = ((1, "ann", "eu"), (2, "bob", "us"), (4, "eve", "EU"))
    for number, name, region in rows:
        await place.put(f"customers:{number}", full_name=name, region=region)
    await place.put("customers:3", region="eu")
    nodes = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*nodes) as cluster:
        text = LOOKUPS.format(name="Asked", store=place.store)
        rename = partial(place.client.hset, "customers:1", "full_name", "ann 2")
        await asked_over_an_absence(
            cluster, text, rename=rename, leave=(place.server.kill,), come_back=place.server.start
        )


async def test_a_cache_answers_while_the_server_is_away(cluster_of: Start, place: Place) -> None:
    """What was asked before; what was not makes senders wait."""
    await place.put("customers:1", full_name="ann", region="eu")
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        cached = f"{place.store} @cache(size='10', retention.period='1 hour'),"
        app = await cluster.deploy(LOOKUPS.format(name="Cached", store=cached))
        await cluster.send(app, "Orders", [[1, 1], [2, 5]])
        await place.server.kill()
        await cluster.send(app, "Orders", [[3, 1], [4, 5]])
        assert (await post(cluster, app, "Orders", [5, 2]))[0] == 503
        rows = await cluster.published_count(app, 4)
        assert [row.data for row in rows] == [(1, "ann"), (2, None), (3, "ann"), (4, None)]
