"""Collections that other programs keep in a MongoDB: followed and looked up, whatever dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymongo import AsyncMongoClient, errors

from lockstep.databases import DatabaseError, TableShape, mongodb_at, open_asking
from lockstep.databases.mongodb.client import MongoClient
from lockstep.databases.mongodb.looking import MongoLooking
from lockstep.events import AttributeType, UnavailableError
from tests.integration.services.cluster import CLOCK
from tests.integration.services.conftest import Start
from tests.integration.services.tables_of_others import (
    agrees_with,
    asked_over_an_absence,
    dying,
    folds_alike,
    ordered,
)
from tests.mongodb.server import MongoServer
from tests.tls.certificates import Authority
from tests.tls.terminator import terminating

COPIES = """
@app:name('{name}')
define stream Orders (id long, customer int);
@store(type='mongodb', mode='copy', mongodb.uri='{uri}', collection.name='customers',
       columns='id=_id, name=full.name', poll.interval='100 millisec')
@PrimaryKey('id')
define table Customers (id int, name string, credit double, gold bool);
from Orders join Customers on Orders.customer == Customers.id
select Orders.id as id, Customers.name as name, Customers.credit as credit insert into Found;
"""
LOOKUPS = """
@app:name('{name}')
define stream Orders (id long, customer int);
define stream Gold (customer int);
@store(type='mongodb', mode='lookup', mongodb.uri='{uri}', collection.name='customers',
       columns='name=full.name')
@PrimaryKey('id')
define table Customers (id int, name string, region string);
from Orders as o left outer join Customers as c on o.customer == c.id and c.region == 'eu'
select o.id as id, c.name as name insert into Found;
from Gold[(Customers.id == customer) in Customers] select customer insert into Known;
"""
NODES = ("coordinator", "processor-1", "receiver-1", "presenter")
KINDS = {"id": AttributeType.LONG, "shop": AttributeType.STRING, "amount": AttributeType.DOUBLE}
SHAPE = TableShape("sales", tuple(KINDS), tuple(KINDS.values()), ("id",))


class Place:
    """A server of other programs."""

    def __init__(self, server: MongoServer) -> None:
        self.server = server
        self.client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
            server.url, serverSelectionTimeoutMS=1_000, timeoutMS=60_000
        )
        self.datasource = mongodb_at(f"{server.url}?serverSelectionTimeoutMS=500", "shop")
        self.customers = self.client["shop"]["customers"]

    async def put(self, number: int, **fields: Any) -> None:
        """A customer as it is from now on."""
        await self.customers.replace_one({"_id": number}, fields, upsert=True)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """The test's own."""
    server = MongoServer(tmp_path / "mongodb")
    await server.start()
    made = Place(server)
    yield made
    await made.client.close()
    await server.kill()


async def test_documents_are_asked_for_by_any_fields(place: Place) -> None:
    """Many values in one trip. A value is a value, whatever it looks like; a whole number may be a
    double there; what is no row is refused."""
    sales = place.client["shop"]["sales"]
    await sales.insert_many(
        [{"id": n, "shop": f"s{n % 2}", "amount": n / 4, "more": [n]} for n in range(1_200)]
    )
    await sales.insert_one({"id": 2_000.0, "shop": "$ne"})
    asking = open_asking(place.datasource)
    found = await asking.rows(SHAPE, ("id",), [(n,) for n in (*range(1_000), 2_000)])
    assert sorted(found) == [
        *((n, f"s{n % 2}", n / 4) for n in range(1_000)), (2_000, "$ne", None)
    ]  # fmt: skip
    keys = [(n, "s1") for n in range(10)]
    found = await asking.rows(SHAPE, ("id", "shop"), keys)
    assert sorted(found) == [(n, "s1", n / 4) for n in (1, 3, 5, 7, 9)]
    assert await asking.rows(SHAPE, ("shop",), [("$ne",)]) == [(2_000, "$ne", None)]
    await sales.insert_one({"id": 3_000, "amount": "much"})
    with pytest.raises(DatabaseError, match="'amount' of a document is 'much'"):
        await asking.rows(SHAPE, ("id",), [(3_000,)])
    await place.server.kill()
    with pytest.raises(UnavailableError):
        await asking.rows(SHAPE, ("id",), [(1,)])
    await asking.close()


async def test_doubles_are_found_by_the_floats_that_they_become(place: Place) -> None:
    """As a copy has them; alone and beside another field."""
    sales = place.client["shop"]["sales"]
    await sales.insert_many([{"id": n, "rate": n / 10} for n in range(100)])
    kinds = (AttributeType.LONG, AttributeType.FLOAT)
    shape = TableShape("sales", ("id", "rate"), kinds, ("id",))
    rates = [float(np.float32(n / 10)) for n in range(100)]
    asking = open_asking(place.datasource)
    found = await asking.rows(shape, ("rate",), [(rate,) for rate in rates])
    assert sorted(found) == list(enumerate(rates))
    assert await asking.rows(shape, ("id", "rate"), [(3, rates[3]), (4, rates[5])]) == [
        (3, rates[3])
    ]
    await asking.close()


async def test_an_id_is_found_by_its_text(place: Place) -> None:
    """As a copy has it; beside one that is that text."""
    sales = place.client["shop"]["sales"]
    made = (await sales.insert_one({"amount": 1.5})).inserted_id
    await sales.insert_one({"_id": "own", "amount": 2.5})
    shape = TableShape("sales", ("_id",), (AttributeType.STRING,), ("_id",))
    asking = open_asking(place.datasource)
    found = await asking.rows(shape, ("_id",), [(str(made),), ("own",), ("none",)])
    assert sorted(found) == sorted([(str(made),), ("own",)])
    await asking.close()


async def test_a_look_reads_all(place: Place) -> None:
    """And tells when two documents are one row."""
    sales = place.client["shop"]["sales"]
    await sales.insert_many([{"id": n, "shop": "s"} for n in range(1_000)])
    looking = MongoLooking(place.datasource, SHAPE)
    assert await looking.look() == {(n,): (n, "s", None) for n in range(1_000)}
    await sales.insert_one({"id": 7, "shop": "t"})
    with pytest.raises(DatabaseError, match=r"two rows have id=\(7,\)"):
        await looking.look()
    await looking.close()


async def test_certificates_that_are_replaced_are_taken(place: Place, tmp_path: Path) -> None:
    """The authority and what is shown, by new connections: so many questions at once need some. One
    that is under way ends with what it has. Files that do not fit together are passed over."""
    await place.client["shop"]["sales"].insert_many([{"id": n} for n in range(5_000)])
    authority = Authority(tmp_path / "tls")
    own, shown = authority.give("server"), tmp_path / "shown.pem"
    trusted = tmp_path / "trusted.pem"

    def write(giving: Authority) -> None:
        pair = giving.give("client")
        shown.write_bytes(pair.certificate.read_bytes() + pair.key.read_bytes())
        trusted.write_bytes(giving.file.read_bytes())

    write(authority)
    async with terminating(place.server.port, authority.files(own)) as port:
        files = f"tls=true&tlsCAFile={trusted}&tlsCertificateKeyFile={shown}"
        uri = f"mongodb://127.0.0.1:{port}/shop?{files}"
        client = MongoClient(replace(mongodb_at(uri, "shop"), statement_timeout_ms=3_000))

        async def found() -> int:
            return len(await client.find("sales", {}, ("id",), 5_000))

        assert await found() == 5_000
        shown.write_text("-----BEGIN")
        assert await found() == 5_000
        fresh = Authority(tmp_path / "fresh")
        pair = fresh.give("server")
        before = asyncio.ensure_future(found())
        await asyncio.sleep(0.005)  # a part of the documents has come
        for old, new in ((own.certificate, pair.certificate), (own.key, pair.key)):
            old.write_bytes(new.read_bytes())
        authority.file.write_bytes(fresh.file.read_bytes())
        write(fresh)
        at_once = [found() for _ in range(4)]
        assert await asyncio.gather(before, *at_once) == [5_000] * 5
        await client.close()


async def held(place: Place) -> list[tuple[Any, ...]]:
    """All customers, as another program reads them."""
    found = await place.customers.find().to_list(None)
    return sorted(
        (one["_id"], one.get("full", {}).get("name"), one.get("credit"), one.get("gold"))
        for one in found
    )


async def keep_changing(place: Place, stop: asyncio.Event) -> int:
    """Another program, until told; how many changes."""
    done = 0
    while not stop.is_set():
        try:
            await place.customers.update_one({"_id": done % 7}, {"$set": {"credit": float(done)}})
            await place.customers.delete_one({"_id": done % 50})
            await place.put(done * 31 % 50, full={"name": f"name {done}"}, gold=True)
            done += 1
        except errors.PyMongoError:
            pass  # it was killed
        await CLOCK.sleep_ms(3)
    return done


@pytest.mark.parametrize("victim", ["receiver-1", "receiver-2", "mongodb"])
async def test_whoever_dies_the_copy_is_what_the_server_has(
    cluster_of: Start, place: Place, victim: str
) -> None:
    """While the collection changes all the time a service, or the server, dies and comes back.
    Folding the log again gives what was published."""
    async with cluster_of(*NODES, "receiver-2") as cluster:
        for number in range(50):
            await place.put(number, full={"name": "c"}, credit=0.0, gold=False)
        text = COPIES.format(name="Busy", uri=place.server.url)
        app = await cluster.deploy(text)
        await agrees_with(cluster, app, partial(held, place))
        await ordered(
            cluster,
            app,
            partial(keep_changing, place),
            dying(cluster, victim, "mongodb", place.server),
        )
        await place.put(100, full={"name": "last"})
        await agrees_with(cluster, app, partial(held, place))
        await folds_alike(cluster, app, text)


async def test_each_event_gets_what_the_server_had_when_it_came(
    cluster_of: Start, place: Place
) -> None:
    """While it is away senders wait. Its rows are in the log: folding that again gives the same."""
    rows = ((1, "ann", "eu"), (2, "bob", "us"), (4, "eve", "EU"))
    for number, name, region in rows:
        await place.put(number, id=number, full={"name": name}, region=region)
    await place.put(3, id=3, region="eu")
    async with cluster_of("coordinator", "processor-1", "processor-2", "receiver") as cluster:
        text = LOOKUPS.format(name="Asked", uri=place.server.url)
        rename = partial(place.put, 1, id=1, full={"name": "ann 2"}, region="eu")
        await asked_over_an_absence(
            cluster, text, rename=rename, leave=(place.server.stop,), come_back=place.server.start
        )
