"""Objects of several rows in real stores, S3's and Google's: each row once however a publisher
dies, gathered by number and by time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pytest
from aiohttp import web

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.connectors.google_cloud_storage.sink import GoogleCloudStorageObjects
from lockstep.events import OutputRow, UnavailableError
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.sinks.objects import Gathering, MadeObject
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import Batch, Sink, SinkBinding
from tests.google_cloud_storage.server import BUCKET as GOOGLE_BUCKET
from tests.google_cloud_storage.server import Emulator, emulator
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, s3_server
from tests.unit.services.publisher.parts import Cursors, KilledError, Mortal, row, sink_of


@dataclass(frozen=True)
class Store:
    """Its options with a path, and all that it holds below that."""

    options: str
    objects: Callable[[], Mapping[str, bytes]]


@pytest.fixture(scope="module")
def amazon() -> Iterator[S3Server]:
    """With a bucket."""
    with s3_server() as found:
        yield found


@pytest.fixture(scope="module")
def google() -> Iterator[Emulator]:
    """Likewise."""
    with emulator() as found:
        yield found


@pytest.fixture(params=["s3", "google-cloud-storage"])
def store(request: pytest.FixtureRequest) -> Store:
    """Each test has a prefix of its own."""
    prefix = re.sub(r"\W", "-", request.node.name) + "/"
    if request.param == "s3":
        return _amazon(request.getfixturevalue("amazon"), prefix)
    google: Emulator = request.getfixturevalue("google")
    options = (
        f"type='google-cloud-storage', bucket.name='{GOOGLE_BUCKET}',"
        f" object.name='{prefix}{{{{k}}}}', endpoint='{google.url}'"
    )
    return Store(options, lambda: google.objects(prefix))


def _amazon(server: S3Server, prefix: str) -> Store:
    options = (
        f"type='s3', bucket.name='{BUCKET}', object.path='{prefix}{{{{k}}}}',"
        f" endpoint='{server.url}', aws.access.key='{ACCESS_KEY}', aws.secret.key='{SECRET_KEY}'"
    )

    def objects() -> Mapping[str, bytes]:
        client = server.client()
        found = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return {
            one["Key"].removeprefix(prefix): client.get_object(Bucket=BUCKET, Key=one["Key"])[
                "Body"
            ].read()
            for one in found
        }

    return Store(options, objects)


def sink(store: Store, cursors: Cursors, more: str = "flush.size='4'") -> Sink:
    """As the publisher builds it; what was in memory before is gone."""
    text = f"@sink({store.options}, {more}, @map(type='json')) define stream S (k string, v int);"
    schema, annotation = sink_of(text)
    definition = check(text).app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    clock = VirtualClock()
    factory = SinkFactory(
        cursors, MemoryBus(MemoryCarrier(clock)).topics, get_logger(), datasources={},
        default_dsn="", max_connections=1, statement_timeout_ms=1_000, vault=Vault(""), clock=clock,
    )  # fmt: skip
    return factory.sink_of(SinkBinding("A", schema, "S.0.objects"), annotation, definition)


ALL = [row(position, "ab"[ordinal % 2], 10 * position + ordinal, ordinal=ordinal)
       for position in range(1, 8) for ordinal in range(4)]  # fmt: skip


def values(store: Store) -> list[int]:
    """Of all rows, as often as they are there."""
    lines = [line for one in store.objects().values() for line in one.splitlines()]
    return sorted(json.loads(line)["event"]["v"] for line in lines)


@pytest.mark.parametrize(("first", "again"), [(5, 28), (20, 6), (28, 9)])
async def test_a_publisher_that_is_killed_before_its_cursor_moves(
    store: Store, first: int, again: int
) -> None:
    """The next one cuts batches elsewhere: objects that are there stay, and each row is once."""
    cursors = Mortal()
    killed = sink(store, cursors)
    assert killed.gathering == Gathering(4, 60_000)
    await killed.open()
    cursors.deaths = 1
    with pytest.raises(KilledError):
        await killed.deliver(Batch(first, ALL[:first]))
    before = store.objects()
    assert before
    after = sink(store, cursors)
    assert await after.open() == 0
    for begin in range(0, len(ALL), again):
        part: list[OutputRow] = ALL[begin : begin + again]
        await after.deliver(Batch(begin + len(part), part))
    for each in (killed, after):
        await each.close()
    assert values(store) == [each.data[1] for each in ALL]
    assert before.items() <= store.objects().items()
    assert cursors.kept == {"A/S.0.objects": 28}


async def test_one_that_was_replaced_and_does_not_know_it(store: Store) -> None:
    """What it still writes is there already, or is what its successor would write."""
    cursors = Cursors()
    old, new = sink(store, cursors), sink(store, cursors)
    await old.open()
    await new.open()
    await new.deliver(Batch(12, ALL[:12]))
    await asyncio.gather(old.deliver(Batch(20, ALL[:20])), new.deliver(Batch(28, ALL[12:])))
    for each in (old, new):
        await each.close()
    assert values(store) == [each.data[1] for each in ALL]


async def test_a_store_that_is_away(amazon: S3Server) -> None:
    """And a write whose answer is lost: it is found there."""
    store = _amazon(amazon, "away/")
    written = sink(store, Cursors(), "flush.size='40', rotate.interval.ms='500'")
    assert written.gathering == Gathering(40, 500)
    await asyncio.to_thread(amazon.stop)
    try:
        with pytest.raises(UnavailableError):
            await written.deliver(Batch(8, ALL[:8]))
    finally:
        await asyncio.to_thread(amazon.start)
    assert store.objects() == {}
    lost = amazon.lost
    await asyncio.to_thread(amazon.lose_answer, "away/a")
    with pytest.raises(UnavailableError):
        await written.deliver(Batch(8, ALL[:8]))
    await written.deliver(Batch(8, ALL[:8]))
    await written.close()
    assert amazon.lost == lost + 1
    assert values(store) == [each.data[1] for each in ALL[:8]]
    assert len(store.objects()) == 2


async def test_the_condition_that_the_emulator_does_not_know() -> None:
    """Google's store answers 412 where another one has made the object since we looked: what it
    ends with counts, and it stays."""
    asked: list[tuple[str, str]] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append((request.method, request.query.get("ifGenerationMatch", "")))
        if request.method == "POST":
            return web.Response(status=412)
        if len(asked) == 1:
            return web.Response(status=404)
        return web.json_response({"metadata": {"lockstep-last": "7.2"}})

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    options = {
        "bucket.name": "b", "object.name": "o", "flush.size": "4",
        "endpoint": f"http://127.0.0.1:{runner.addresses[0][1]}",
    }  # fmt: skip
    written = GoogleCloudStorageObjects(options)
    made = MadeObject("o/x", b"1\n", "text/plain", "5.0")
    assert await written.create(made, anew=False) == "7.2"
    await written.close()
    await runner.cleanup()
    assert asked == [("GET", ""), ("POST", "0"), ("GET", "")]
