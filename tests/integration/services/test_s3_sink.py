"""@sink(type='s3') on a real store: an object a message, none twice however a publisher dies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import OutputRow, UnavailableError
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import Batch, RowsRefusedError, Sink, SinkBinding
from tests.s3.server import ACCESS_KEY, BUCKET, SECRET_KEY, S3Server, s3_server
from tests.unit.services.publisher.parts import Cursors, KilledError, Mortal, row, sink_of


@pytest.fixture(scope="module")
def running() -> Iterator[S3Server]:
    """With a bucket."""
    with s3_server() as found:
        yield found


@pytest.fixture
def server(running: S3Server, request: pytest.FixtureRequest) -> S3Server:
    """Each test has a prefix of its own."""
    running.prefix = re.sub(r"\W", "-", request.node.name)
    return running


def sink(
    server: S3Server, cursors: Cursors, mapping: str = "type='json'", key: str = ACCESS_KEY
) -> Sink:
    """As the publisher builds it; what was in memory before is gone."""
    text = (
        f"@sink(type='s3', bucket.name='{BUCKET}', object.path='{server.prefix}/{{{{k}}}}',"
        f" endpoint='{server.url}', aws.access.key='{key}', aws.secret.key='{SECRET_KEY}',"
        f" @map({mapping})) define stream S (k string, v int);"
    )
    schema, annotation = sink_of(text)
    definition = check(text).app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    clock = VirtualClock()
    factory = SinkFactory(
        cursors, MemoryBus(MemoryCarrier(clock)).topics, get_logger(), datasources={},
        default_dsn="", max_connections=1, statement_timeout_ms=1_000, vault=Vault(""), clock=clock,
    )  # fmt: skip
    return factory.sink_of(SinkBinding("A", schema, "S.0.s3"), annotation, definition)


def objects(server: S3Server) -> dict[str, bytes]:
    """All that the store holds of the test, as another client sees it."""
    client = server.client()
    found = client.list_objects_v2(Bucket=BUCKET, Prefix=f"{server.prefix}/").get("Contents", [])
    return {
        one["Key"].removeprefix(f"{server.prefix}/"): client.get_object(
            Bucket=BUCKET, Key=one["Key"]
        )["Body"].read()
        for one in found
    }


def rows_in(server: S3Server) -> list[int]:
    """The values of all rows in all objects, as often as they are there."""
    found = [json.loads(content) for content in objects(server).values()]
    flat = [each for one in found for each in (one if isinstance(one, list) else [one])]
    return sorted(each["event"]["v"] for each in flat)


async def test_an_object_a_row_with_path_and_type(server: S3Server) -> None:
    """Named so that names are in the order of the log."""
    written = sink(server, Cursors())
    await written.open()
    await written.deliver(Batch(1, [row(9, "a", 1), row(10, "a", 2), row(10, "b", 3, ordinal=1)]))
    await written.close()
    assert objects(server) == {
        "a/A.S.00000000000000000009.000000.json": b'{"event":{"k":"a","v":1}}',
        "a/A.S.00000000000000000010.000000.json": b'{"event":{"k":"a","v":2}}',
        "b/A.S.00000000000000000010.000001.json": b'{"event":{"k":"b","v":3}}',
    }
    name = f"{server.prefix}/a/A.S.00000000000000000009.000000.json"
    assert server.client().head_object(Bucket=BUCKET, Key=name)["ContentType"] == "application/json"


GROUPED = "type='json', event.grouping.enabled='true'"
ALL = [row(position, "ab"[ordinal % 2], 10 * position + ordinal, ordinal=ordinal)
       for position in range(1, 4) for ordinal in range(4)]  # fmt: skip


@pytest.mark.parametrize("mapping", ["type='json'", GROUPED], ids=["rows", "groups"])
@pytest.mark.parametrize(("first", "again"), [(2, 12), (7, 6), (10, 1), (12, 5)])
async def test_a_publisher_that_is_killed_before_its_cursor_moves(
    server: S3Server, mapping: str, first: int, again: int
) -> None:
    """The next one cuts batches elsewhere, also within a position: each row is there once."""
    cursors = Mortal()
    killed = sink(server, cursors, mapping)
    await killed.open()
    cursors.deaths = 1
    with pytest.raises(KilledError):
        await killed.deliver(Batch(first, ALL[:first]))
    assert objects(server)
    after = sink(server, cursors, mapping)
    assert await after.open() == 0
    for begin in range(0, len(ALL), again):
        part: list[OutputRow] = ALL[begin : begin + again]
        await after.deliver(Batch(begin + len(part), part))
    await after.close()
    assert rows_in(server) == [each.data[1] for each in ALL]


async def test_every_object_of_a_table_has_its_header(server: S3Server) -> None:
    """Whoever wrote what before it: the same message has the same content."""
    mapping = "type='csv', header='true'"
    rows = [row(1, "a", 1), row(2, "a", 2)]
    first = sink(server, Cursors(), mapping)
    await first.deliver(Batch(2, rows))
    before = objects(server)
    again = sink(server, Cursors(), mapping)
    await again.deliver(Batch(2, rows[1:]))
    assert objects(server) == before
    assert list(before.values()) == [b"k,v\na,1\n", b"k,v\na,2\n"]


@pytest.mark.parametrize("name", ["..", "a/b", "", "a\nb", "x" * 1_100])
async def test_a_path_that_leads_elsewhere_refuses_its_row(server: S3Server, name: str) -> None:
    """And no other."""
    written = sink(server, Cursors())
    rows = [row(1, "a", 1), row(2, name, 2), row(3, "b", 3)]
    with pytest.raises(RowsRefusedError) as refused:
        await written.deliver(Batch(3, rows))
    assert [each.row for each in refused.value.refused] == [rows[1]]
    await written.deliver(Batch(3, [rows[0], rows[2]]))
    assert rows_in(server) == [1, 3]
    assert not written.takes_again


async def test_a_store_that_is_away_and_one_that_refuses_us(server: S3Server) -> None:
    """Both are tried again; what had arrived is not sent again by who lives."""
    cursors = Cursors()
    batch = Batch(1, [row(1, "a", 1)])
    stranger = sink(server, cursors, key="wrong")
    with pytest.raises(UnavailableError):
        await stranger.deliver(batch)
    written = sink(server, cursors)
    server.stop()
    try:
        with pytest.raises(UnavailableError):
            await written.deliver(batch)
    finally:
        server.start()
    assert objects(server) == {}
    await written.deliver(batch)
    assert rows_in(server) == [1]
