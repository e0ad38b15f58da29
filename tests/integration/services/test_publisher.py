"""Sinks against real servers: once where the destination keeps the cursor, with stable ids
elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import nats
import pytest
from aiohttp import web
from nats.js.errors import NotFoundError

from lockstep.events import OutputId, OutputRow, UnavailableError
from tests.integration.services.cluster import RANDOM, WAIT_MS, Cluster, log_of, table, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook

SLOW_S = 0.01

ORDERS = """
@app:name('{name}')
define stream In (customer string, region string, amount double);
@store(type='rdbms', table.name='totals {name}')
@PrimaryKey('customer', 'region')
define table Totals (customer string, region string, orders long, amount double);
@sink(type='rdbms', table.name='log {name}')
define stream Log (customer string, amount double);
@sink(type='rdbms', table.name='newest {name}', execution.mode='update-or-insert',
      update.keys='region, customer')
define stream Newest (customer string, region string, amount double);
from In select customer, region, amount insert into Newest;
from In select customer, region, count() as orders, sum(amount) as amount group by customer, region
update or insert into Totals
on Totals.customer == customer and Totals.region == region;
from In select customer, amount insert into Log;
"""


async def execute(cluster: Cluster, statement: str) -> None:
    """Runs a statement in the cluster's own database."""
    dsn = cluster.settings.store.postgres_dsn.get_secret_value()
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def newest_by_both_columns(cluster: Cluster) -> None:
    """A sink that updates has a row for each key, though no table of the app says so."""

    async def newest() -> Any:
        found = await table(cluster, 'SELECT * FROM "newest Orders" ORDER BY 1, 2')
        return found if len(found) == 3 and found[0][2] == 7.0 else None

    wanted = [("ann", "n", 7.0), ("ann", "s", 2.0), ("bob", "n", 1.0)]
    assert await until(newest, "newest") == wanted


async def test_tables_with_composite_keys_and_inserted_rows(cluster_of: Start) -> None:
    """Tables are made with the right types; upserts by key; one row a streamed event."""
    nodes = ("coordinator", "processor-1", "receiver", "publisher")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(ORDERS.format(name="Orders"))
        events = [["ann", "n", 5.0], ["bob", "n", 1.0], ["ann", "s", 2.0], ["ann", "n", 7.0]]
        for event in events:
            await cluster.send(app, "In", event)

        async def totals() -> Any:
            found = await table(cluster, 'SELECT * FROM "totals Orders" ORDER BY 1, 2')
            return found if len(found) == 3 and found[0][2] == 2 else None

        assert await until(totals, "totals") == [
            ("ann", "n", 2, 12.0),
            ("ann", "s", 1, 2.0),
            ("bob", "n", 1, 1.0),
        ]

        async def logged() -> Any:
            found = await table(cluster, 'SELECT * FROM "log Orders"')
            return found if len(found) == 4 else None

        assert await until(logged, "log rows") == [(event[0], event[2]) for event in events]
        await newest_by_both_columns(cluster)


async def test_killed_transactions_and_two_publishers_insert_every_row_once(
    cluster_of: Start,
) -> None:
    """Backends are terminated under load, publishers crash and come back: no row lost, none
    twice.
    """
    nodes = ("coordinator", "processor-1", "receiver", "publisher-1", "publisher-2")
    async with cluster_of(*nodes) as cluster:
        app = await cluster.deploy(ORDERS.format(name="Kill"))
        count = 0
        for kill in range(6):
            for _ in range(25):
                await cluster.send(app, "In", [f"c{count}", "n", 1.0])
                count += 1
            await execute(
                cluster,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <>"
                " pg_backend_pid() AND datname = current_database() AND query LIKE '%log Kill%'",
            )
            if kill in (2, 4):
                await cluster.crash(f"publisher-{kill // 2}")
                await cluster.start(f"publisher-{kill // 2}")

        async def logged() -> Any:
            found = await table(cluster, 'SELECT customer FROM "log Kill"')
            return found if len(found) >= count else None

        found = await until(logged, f"{count} rows")
        assert sorted(found) == sorted((f"c{i}",) for i in range(count))


async def test_a_purged_app_is_delivered_from_its_first_row_on(cluster_of: Start) -> None:
    """Though no publisher was there until the new log had grown beyond the old one's cursor, which
    still stands in the user's database."""
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster:
        app = await cluster.deploy(ORDERS.format(name="Purged"))
        await cluster.send(app, "In", ["old", "n", 1.0])

        async def rows(count: int) -> list[tuple[Any, ...]]:
            async def there() -> Any:
                found = await table(cluster, 'SELECT customer FROM "log Purged"')
                return found if len(found) >= count else None

            found: list[tuple[Any, ...]] = await until(there, f"{count} rows")
            return found

        await rows(1)
        await cluster.crash("publisher")
        status, _ = await cluster.call("DELETE", "coordinator", f"/v1/apps/{app}?purge=true")
        assert status == 200
        await cluster.deploy(ORDERS.format(name="Purged"))
        for number in range(6):
            await cluster.send(app, "In", [f"new{number}", "n", 1.0])
        await cluster.published_count(app, 12)
        await cluster.start("publisher")
        assert await rows(7) == [("old",), *((f"new{number}",) for number in range(6))]


async def test_a_row_that_the_table_refuses_is_put_aside(cluster_of: Start) -> None:
    """A constraint: the row is a dead letter with the reason, the others stand in the table."""
    nodes = ("coordinator", "processor-1", "receiver", "publisher")
    async with cluster_of(*nodes) as cluster:
        await execute(
            cluster,
            'CREATE TABLE "log Fussy" (customer text, amount double precision CHECK (amount > 0))',
        )
        app = await cluster.deploy(ORDERS.format(name="Fussy"))
        await cluster.send(app, "In", [["a", "n", 1.0], ["b", "n", -1.0], ["c", "n", 2.0]])

        async def logged() -> Any:
            found = await table(cluster, 'SELECT customer FROM "log Fussy"')
            return found if len(found) == 2 else None

        assert await until(logged, "two rows") == [("a",), ("c",)]
        letters = await cluster.watcher.bus.dead_letters.read(app)
        assert len(letters) == 1
        assert "violates check constraint" in letters[0].letter.reason
        assert b'"customer":"b"' in letters[0].letter.payload


async def test_http_sink_retries_with_a_stable_id(cluster_of: Start) -> None:
    """A server that fails first gets the same Idempotency-Key again; a refused row is put aside."""
    seen: list[tuple[str, Any]] = []
    answers = iter([500, 503])

    async def receive(request: web.Request) -> web.Response:
        body = await request.json()
        seen.append((request.headers["Idempotency-Key"], body["event"]["a"]))
        if body["event"]["a"] == 13:
            return web.Response(status=422, text="unlucky")
        return web.Response(status=next(answers, 200))

    async with (
        webhook(receive) as url,
        cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster,
    ):
        text = (
            "@app:name('Hook') define stream In (a int);"
            f" @sink(type='http', publisher.url='{url}', @map(type='json'))"
            " define stream Out (a int); from In select a insert into Out;"
        )
        app = await cluster.deploy(text)
        await cluster.send(app, "In", [[1], [13], [2]])

        async def delivered() -> Any:
            return [a for _, a in seen][-1:] == [2]

        await until(delivered, "the last row")
        by_value: dict[int, set[str]] = {}
        for key, value in seen:
            by_value.setdefault(value, set()).add(key)
        assert [a for _, a in seen].count(1) == 3
        assert all(len(keys) == 1 for keys in by_value.values())

        async def put_aside() -> Any:
            return await cluster.watcher.bus.dead_letters.read(app)

        (letter,) = await until(put_aside, "the dead letter")
        assert "422: unlucky" in letter.letter.reason


async def test_a_crash_repeats_about_a_second_of_what_a_slow_server_gets(
    cluster_of: Start,
) -> None:
    """Of 1,200 posts that wait, those of the batch under way come again, under their ids."""
    seen: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        await asyncio.sleep(SLOW_S)
        seen.append(request.headers["Idempotency-Key"])
        return web.Response()

    async with (
        webhook(receive) as url,
        cluster_of("coordinator", "processor-1", "receiver", "publisher-1") as cluster,
    ):
        text = (
            "@app:name('Slow') define stream In (a int);"
            f" @sink(type='http', publisher.url='{url}', @map(type='json'))"
            " define stream Out (a int); from In select a insert into Out;"
        )
        app = await cluster.deploy(text)
        for first in range(0, 1_200, 5):
            await cluster.send(app, "In", [[a] for a in range(first, first + 5)])

        async def half() -> bool:
            return len(seen) >= 600

        await until(half, "600 posts")
        await cluster.crash("publisher-1")
        await cluster.start("publisher-1")

        async def all_there() -> bool:
            return len(set(seen)) == 1_200

        await until(all_there, "all posts")
    assert len(seen) - 1_200 <= 2 / SLOW_S


async def test_an_unreachable_sink_blocks_only_itself(cluster_of: Start, tmp_path: Path) -> None:
    """After its tries its rows stand in the error store; the file beside it has them all."""
    path = tmp_path / "out.ndjson"
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster:
        text = (
            "@app:name('Away') define stream In (a int);"
            " @sink(type='http', publisher.url='http://127.0.0.1:9/x', @map(type='json'))"
            f" @sink(type='file', file.uri='{path}', @map(type='json'))"
            " define stream Out (a int); from In select a insert into Out;"
        )
        app = await cluster.deploy(text)
        for i in range(5):
            await cluster.send(app, "In", [i])

        async def written() -> Any:
            lines = path.read_text().splitlines() if path.exists() else []
            return [json.loads(line)["event"]["a"] for line in lines] == list(range(5))

        await until(written, "five lines")

        async def put_aside() -> Any:
            found = await cluster.watcher.bus.dead_letters.read(app)
            return found if len(found) == 5 else None

        letters = await until(put_aside, "five dead letters")
        assert all("given up after 3 attempts" in one.letter.reason for one in letters)
        await cluster.crash("publisher")
        with path.open("ab") as theirs:
            theirs.write(b'{"id": "9')
        await cluster.start("publisher")
        await cluster.send(app, "In", [5])

        async def six() -> Any:
            lines = path.read_text().splitlines()
            return len(lines) == 7 and lines[5] == '{"id": "9' and '"a":5' in lines[6]

        await until(six, "what others wrote stays, the next row is a line of its own")


async def test_what_no_sink_carries_is_refused_at_deploy(cluster_of: Start) -> None:
    """By name, with its place and what there is; nothing is deployed."""
    async with cluster_of("coordinator") as cluster:
        text = (
            "@app:name('Bird') define stream In (a int);\n @sink(type='pigeon')"
            " define stream Out (a int); from In select a insert into Out;"
        )
        status, answer = await cluster.call("PUT", "coordinator", "/v1/apps", json={"text": text})
        assert status == 400
        assert "no sink 'pigeon'" in str(answer)
        assert (answer["line"], answer["column"]) == (2, 2)
        assert (await cluster.call("GET", "coordinator", "/v1/apps"))[1] == {"apps": []}


NATS = (
    "@app:name('{name}') define stream In (a int);"
    " @sink(type='nats', destination='{root}.{{{{a}}}}',"
    " @map(type='text', @payload('v={{{{a}}}}')))"
    " define stream Out (a int); from In select a insert into Out;"
)


async def test_nats_sink_where_nobody_keeps_the_subject(cluster_of: Start) -> None:
    """Listeners hear it, and the sink goes on."""
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster:
        root = RANDOM.uuid_hex()
        subscription = await cluster.watcher.bus.topics.subscribe(f"{root}.*")
        app = await cluster.deploy(NATS.format(name="Heard", root=root))
        await cluster.send(app, "In", [7])
        async with asyncio.timeout(WAIT_MS / 1000):
            assert await anext(aiter(subscription)) == (f"{root}.7", b"v=7")
        await subscription.close()


async def test_nats_sink_where_a_stream_keeps_the_subject(cluster_of: Start) -> None:
    """Each row stands in the stream once, with its identity, though the cursor was lost."""
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster:
        root = RANDOM.uuid_hex()
        client = await nats.connect(cluster.settings.bus.url.get_secret_value())
        stream = client.jetstream(timeout=WAIT_MS / 1000)
        await stream.add_stream(name=root, subjects=[f"{root}.>"])
        app = await cluster.deploy(NATS.format(name="Kept", root=root))
        for i in range(5):
            await cluster.send(app, "In", [i])

        async def kept() -> Any:
            return (await stream.stream_info(root)).state.messages == 5

        await until(kept, "five messages")
        await cluster.crash("publisher")
        await execute(cluster, "DELETE FROM lockstep.cursors")
        await cluster.start("publisher")
        await cluster.send(app, "In", [5])

        async def sixth() -> Any:
            found = await stream.get_last_msg(root, f"{root}.5")
            return found.data == b"v=5"

        await until_found(sixth, "the sixth message")
        assert (await stream.stream_info(root)).state.messages == 6
        first = await stream.get_msg(root, 1)
        assert first.headers is not None
        since = (await log_of(cluster.watcher, app)).since_ms
        assert first.headers["Nats-Msg-Id"].startswith(f"Kept@{since}/main/0/")
        await stream.delete_stream(root)
        await client.close()


async def until_found(look: Callable[[], Awaitable[Any]], what: str) -> None:
    """Waits while there is nothing to look at yet."""

    async def there() -> Any:
        try:
            return await look()
        except NotFoundError:
            return None

    await until(there, what)


@pytest.mark.parametrize("sink", ["", "@sink(type='log', priority='DEBUG')"])
async def test_an_output_log_does_not_fill_up(cluster_of: Start, sink: str) -> None:
    """Twenty times what the log may hold goes through it, whether anybody wants it or not."""
    limits = {
        "LOCKSTEP_BUS__MAX_LOG_BYTES": "400000",
        "LOCKSTEP_BUS__MAX_MESSAGE_BYTES": "60000",  # a record must fit into the log at all
        "LOCKSTEP_PUBLISHER__TRIM_INTERVAL_MS": "50",
    }
    nodes = ("coordinator", "processor-1", "receiver", "publisher")
    async with cluster_of(*nodes, **limits) as cluster:
        text = (
            "@app:name('Full') define stream In (a int);"
            f" {sink} define stream Out (a int, t string);"
            " from In select a, str:repeat('0123456789', 4000) as t insert into Out;"
        )
        app = await cluster.deploy(text)
        log = await cluster.watcher.bus.output_log(await log_of(cluster.watcher, app))
        status, answer = await cluster.call(
            "POST",
            "receiver",
            f"/v1/apps/{app}/streams/In/events",
            body="\n".join(f"[{i}]" for i in range(200)),
            headers={"Content-Type": "application/x-ndjson"},
        )
        assert status == 200, answer

        async def through() -> Any:
            tail = await log.tail()
            last = OutputId(answer["last_position"], 199)
            return tail.last_id is not None and tail.last_id >= last

        await until(through, "the last row in the output log")

        async def trimmed() -> Any:
            return (await log.held()).size_bytes <= 150_000

        await until(trimmed, "a quarter of the limit is left")


async def test_a_distributed_sink_sends_each_row_to_its_destination(
    cluster_of: Start, tmp_path: Path
) -> None:
    """By key to two files: all rows once, equal keys together."""
    async with cluster_of("coordinator", "processor-1", "receiver", "publisher") as cluster:
        text = (
            "@app:name('Dist') define stream In (k string, v int);"
            " @sink(type='file', @map(type='json'), @distribution(strategy='partitioned',"
            f" partitionKey='k', @destination(file.uri='{tmp_path}/a'),"
            f" @destination(file.uri='{tmp_path}/b')))"
            " define stream Out (k string, v int); from In select k, v insert into Out;"
        )
        app = await cluster.deploy(text)
        await cluster.send(app, "In", [["a" if i % 3 else "b", i] for i in range(12)])

        def rows(name: str) -> list[Any]:
            path = tmp_path / name
            lines = path.read_text().splitlines() if path.exists() else []
            return [json.loads(line)["event"] for line in lines]

        async def all_there() -> Any:
            return len(rows("a")) + len(rows("b")) == 12

        await until(all_there, "twelve rows")
        keys = [{row["k"] for row in rows(name)} for name in ("a", "b")]
        assert sorted(map(sorted, keys)) == [["a"], ["b"]]


def test_row_ids_are_the_outputs_identity() -> None:
    """Stable over restarts and publishers."""
    from lockstep.events import Attribute, AttributeType, StreamSchema
    from lockstep_services.publisher.contract import SinkBinding

    schema = StreamSchema("S", (Attribute("a", AttributeType.INT),))
    row = OutputRow(OutputId(7, 2), "S", 0, (1,))
    assert SinkBinding("A", schema, "S.0.http").row_id(row) == "A/main/0/7.2"


async def test_a_refused_row_comes_back_on_the_fault_stream(cluster_of: Start) -> None:
    """`on.error='STREAM'`: the app's own queries see it with the reason, once, though a publisher
    dies before its cursor has moved; 'LOG' drops it.
    """
    asked: list[int] = []

    async def receive(request: web.Request) -> web.Response:
        value = (await request.json())["event"]["a"]
        asked.append(value)
        return web.Response(status=422 if value == 13 else 200, text="unlucky")

    async with webhook(receive) as url:
        sink = f"@sink(type='http', publisher.url='{url}', on.error='{{}}', @map(type='json'))"
        text = (
            "@app:name('Back') define stream In (a int);"
            f" @OnError(action='STREAM') {sink.format('STREAM')} {sink.format('log')}"
            " define stream Out (a int);"
            " from In select a insert into Out;"
            " from !Out select a, convert(_error, 'string') as why insert into Bad;"
        )
        async with cluster_of("coordinator", "processor-1", "receiver", "publisher-1") as cluster:
            app = await cluster.deploy(text)
            store = cluster.nodes["publisher-1"].world.store

            async def lost(sink: str, sequence: int) -> None:
                raise UnavailableError("the cursor does not move")

            # Of this node alone, and for good: it may try until the moment of its death.
            setattr(store.cursors, "put", lost)  # noqa: B010
            await cluster.send(app, "In", [[1], [13], [2]])
            await cluster.published_count(app, 4)
            await cluster.crash("publisher-1")
            before = asked.count(13)
            await cluster.start("publisher-2")
            await cluster.send(app, "In", {"a": 3})

            async def again() -> bool:
                return asked.count(13) > before and asked.count(3) >= 2

            await until(again, "the rows once more")
            rows = await cluster.published_count(app, 5)
            assert [row.data for row in rows if row.stream == "Bad"] == [
                (13, f"sink Out.0.http: {url} answered 422: unlucky")
            ]
            assert await cluster.watcher.bus.dead_letters.read(app) == []
