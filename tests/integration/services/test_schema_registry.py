"""Avro with a schema registry through a whole suite on real servers."""

from __future__ import annotations

import asyncio
import io
import json
import struct
from pathlib import Path
from typing import Any

import fastavro
import nats
from aiohttp import web

from tests.integration.services.cluster import RANDOM, until
from tests.integration.services.conftest import Start
from tests.integration.services.webhook import webhook
from tests.schema_registry import RegistryServer

NODES = ("coordinator", "processor-1", "receiver", "publisher")
APP = """
@app:name('Registered')
@source(type='http', receiver.url='http://0.0.0.0:8280/sweets',
        @map(type='avro', schema.registry='{registry}', use.avro.deserializer='true'))
@source(type='nats', destination='{subject}',
        @map(type='avro', schema.registry='{registry}', use.avro.deserializer='true'))
define stream In (name string, amount double);
@sink(type='http', publisher.url='{hook}',
      @map(type='avro', schema.registry='{registry}', schema.subject='out-value',
           use.avro.serializer='true'))
define stream Out (name string, amount double);
from In[amount > 1.0] select * insert into Out;
"""
FIRST = json.dumps(
    {
        "type": "record",
        "name": "Sweet",
        "fields": [{"name": "name", "type": "string"}, {"name": "amount", "type": "double"}],
    }
)
SECOND = json.dumps(
    {
        "type": "record",
        "name": "Sweet",
        "fields": [
            {"name": "amount", "type": ["null", "float"]},
            {"name": "shop", "type": "string"},
            {"name": "name", "type": "string"},
        ],
    }
)

THIRD = json.dumps(
    {
        "type": "record",
        "name": "Sweet",
        "fields": [
            {"name": "name", "type": {"type": "enum", "name": "Kind", "symbols": ["bun", "tart"]}},
            {"name": "amount", "type": "double"},
        ],
    }
)


def message(number: int, schema: str, **values: Any) -> bytes:
    """As Confluent's serializers write it."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(schema)), values)
    return struct.pack(">bI", 0, number) + target.getvalue()


def read(body: bytes) -> tuple[str, float]:
    """The values of a record of the sink's own attributes."""
    made = fastavro.parse_schema({**json.loads(FIRST), "name": "Out"})
    found: Any = fastavro.schemaless_reader(io.BytesIO(body), made, None)
    return found["name"], found["amount"]


def kept(folder: Path, password: str) -> dict[str, str]:
    """Settings of services that know the registry's password."""
    folder.mkdir()
    (folder / "registry").write_text(password)
    return {"LOCKSTEP_SECRETS__FOLDER": str(folder)}


async def test_records_of_several_schemas_go_in_and_records_come_out(
    cluster_of: Start, tmp_path: Path
) -> None:
    """While the registry is away senders hear 503 and the sink waits; then each record goes through
    once and in order, and what is none becomes a dead letter."""
    got: asyncio.Queue[bytes] = asyncio.Queue()

    async def answer(request: web.Request) -> web.Response:
        assert request.content_type == "application/avro"
        got.put_nowait(await request.read())
        return web.Response()

    subject = RANDOM.uuid_hex()
    registry = RegistryServer()
    first, second, third = (registry.put("in-value", each) for each in (FIRST, SECOND, THIRD))
    registry.is_away = True
    registry.password = "key"
    secrets = kept(tmp_path / "secrets", registry.password)
    async with (
        registry.running(),
        webhook(answer) as hook,
        cluster_of(*NODES, **secrets) as cluster,
    ):
        client = await nats.connect(cluster.settings.bus.url.get_secret_value())
        await client.jetstream().add_stream(name=subject, subjects=[subject])
        address = registry.url.replace("http://", "http://lockstep:${secret:registry}@")
        app = await cluster.deploy(APP.format(registry=address, hook=hook, subject=subject))

        async def post(body: bytes) -> int:
            headers = {"Content-Type": "application/avro"}
            path = f"/{app}/In"
            return (await cluster.call("POST", "receiver", path, body=body, headers=headers))[0]

        cake = message(first, FIRST, name="cake", amount=2.5)
        assert await post(cake) == 503

        async def sink_waits() -> bool:
            sinks = (await cluster.status(app))["sinks"]  # none until the publisher is heard of
            return any("schema registry" in (sink["trouble"] or "") for sink in sinks)

        await until(sink_waits, "the sink says what it waits for")
        registry.is_away = False

        async def taken() -> bool:
            return await post(cake) == 200

        await until(taken, "the registry is back")
        assert await post(message(second, SECOND, amount=3.5, shop="x", name="pie")) == 200
        assert await post(b"\x00\x00\x00\x00\x63rest") == 400
        assert await post(cake[:-1]) == 400

        # The first one waits for its schema, the others do not; none overtakes it.
        await client.publish(subject, message(third, THIRD, name="tart", amount=4.5))
        await client.publish(subject, message(first, FIRST, name="bun", amount=0.5))
        await client.publish(subject, b"\x00\x00\x00\x00\x63rest")
        await client.publish(subject, message(second, SECOND, amount=5.5, shop="x", name="flan"))
        await client.close()
        async with asyncio.timeout(60):
            bodies = [await got.get() for _ in range(4)]
            while not (letters := await cluster.watcher.bus.dead_letters.read(app)):
                await asyncio.sleep(0.05)
        assert {body[:5] for body in bodies} == {struct.pack(">bI", 0, 4)}
        records = [read(body[5:]) for body in bodies]
        assert records == [("cake", 2.5), ("pie", 3.5), ("tart", 4.5), ("flan", 5.5)]
        (letter,) = letters
        assert "404" in letter.letter.reason
        assert letter.letter.payload == b"\x00\x00\x00\x00\x63rest"
    asked = [each for each in registry.asked if each.endswith(f"/ids/{second}")]
    assert len(asked) <= 2  # once while it was away
