"""Sinks whose schemas are in a registry: they open when the schemas are there."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.schemas.registry import AWAY_FOR_MS, UNKNOWN_FOR_MS
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import Batch, Sink, SinkBinding
from lockstep_services.publisher.sinks.schemas import SchemaSink
from tests.schema_registry import RegistryServer

SCHEMA = json.dumps(
    {"type": "record", "name": "S", "fields": [{"name": "n", "type": ["null", "int"]}]}
)


class World:
    """A registry, a publisher's factory of sinks, and a clock."""

    def __init__(self, server: RegistryServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.clock = VirtualClock()
        self.factory = SinkFactory(
            MemoryStore().cursors,
            MemoryBus(MemoryCarrier(self.clock)).topics,
            get_logger(),
            datasources={},
            default_dsn="",
            max_connections=1,
            statement_timeout_ms=1_000,
            vault=Vault(""),
            clock=self.clock,
        )

    def sink(self, options: str, mapping: str) -> Sink:
        """Of a stream `S (n int)`."""
        registry = f"schema.registry='{self.server.url}'"
        text = (
            f"@sink({options}, @map(type='avro', {registry}, {mapping})) define stream S (n int);"
        )
        checked = check(text)
        definition = checked.app.definitions[0]
        assert isinstance(definition, ast.StreamDefinition)
        binding = SinkBinding("A", checked.streams["S"], "S.0")
        return self.factory.sink_of(binding, definition.annotations[0], definition)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A registry that runs."""
    async with RegistryServer().running() as server:
        made = World(server, tmp_path)
        yield made
        await made.factory.close()


async def test_a_sink_opens_when_its_schema_is_there(world: World) -> None:
    """Away, unknown, there: until then it is as if the sink itself were away."""
    file = world.folder / "out"
    sink = world.sink(
        f"type='file', file.uri='{file}', add.line.separator='false'", "schema.id='1'"
    )
    world.server.is_away = True
    with pytest.raises(UnavailableError, match="answers 503"):
        await sink.open()
    world.server.is_away = False
    await world.clock.advance_ms(AWAY_FOR_MS)
    with pytest.raises(UnavailableError, match="404"):
        await sink.open()
    world.server.put("s-value", SCHEMA)
    await world.clock.advance_ms(UNKNOWN_FOR_MS)
    assert await sink.open() == 0
    rows = [
        OutputRow(OutputId(1, 0), "S", 1_000, (5,)),
        OutputRow(OutputId(1, 1), "S", 1_000, (None,)),
    ]
    await sink.deliver(Batch(1, rows))
    assert file.read_bytes() == b"\x02\x0a\x00"
    await sink.close()
    asked = len(world.server.asked)
    await sink.open()
    assert len(world.server.asked) == asked
    await sink.close()


@pytest.mark.parametrize(
    "options",
    [
        "type='log'",
        "type='http', publisher.url='http://127.0.0.1:1/x'",
        "type='kafka', topic='t', bootstrap.servers='127.0.0.1:1'",
    ],
)
async def test_every_kind_of_sink_wants_its_schemas_first(world: World, options: str) -> None:
    """Also Kafka, whose records are made elsewhere."""
    sink = world.sink(options, "schema.subject='s-value'")
    assert isinstance(sink, SchemaSink)
    world.server.is_away = True
    with pytest.raises(UnavailableError, match="schema registry"):
        await sink.open()
