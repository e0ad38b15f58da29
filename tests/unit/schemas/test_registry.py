"""The client of schema registries, against a server over HTTP."""

from __future__ import annotations

import asyncio
import io
import json
import struct
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest

from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.mapping import MappingError, UsesRegistry
from lockstep.schemas import Kind, SchemaRefusedError, Wanted, bring
from lockstep.schemas.registry import AWAY_FOR_MS, UNKNOWN_FOR_MS, SchemaRegistry
from lockstep.telemetry import get_logger
from tests.schema_registry import RegistryServer
from tests.unit.mapping.avro_schemas import UNIONS, stream
from tests.unit.mapping.mappers import attributes, events, rows, sink, source

OLD = json.dumps(
    {
        "type": "record",
        "name": "N",
        "fields": [{"name": "a", "type": "string"}, {"name": "v", "type": "int"}],
    }
)
NEW = json.dumps(
    {
        "type": "record",
        "name": "N",
        "fields": [
            {"name": "d", "type": "double", "default": 9.5},
            {"name": "a", "type": "string"},
            {"name": "v", "type": "long"},
        ],
    }
)


class World:
    """A registry, and a client of it on a clock of its own."""

    def __init__(self, server: RegistryServer) -> None:
        self.server = server
        self.clock = VirtualClock()
        self.client = SchemaRegistry(self.clock, get_logger())

    async def bring(self, mapper: object, payload: bytes | None = None) -> None:
        """As a service does before it maps."""
        assert isinstance(mapper, UsesRegistry)
        await bring(mapper.registered, self.client, payload)

    def wanted(self, number: int, kind: Kind = Kind.AVRO) -> Wanted:
        """A schema by its id."""
        return Wanted(self.server.url, kind, number)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A registry that runs."""
    async with RegistryServer().running() as server:
        made = World(server)
        yield made
        await made.client.close()


def message(number: int, schema: str, value: Any) -> bytes:
    """As Confluent's serializers write it."""
    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(json.loads(schema)), value)
    return struct.pack(">bI", 0, number) + target.getvalue()


async def test_a_schema_is_asked_for_once_by_all_who_want_it(world: World) -> None:
    """A schema is asked for once by all who want it."""
    number = world.server.put("s-value", OLD)
    found = await asyncio.gather(*(world.client.get(world.wanted(number)) for _ in range(5)))
    assert {each.text for each in found} == {OLD}
    await world.client.get(world.wanted(number))
    assert world.server.asked == [f"GET /schemas/ids/{number}"]


async def test_an_unknown_id_is_refused_and_not_asked_for_again_at_once(world: World) -> None:
    """An unknown id is refused and not asked for again at once."""
    for _ in range(3):
        with pytest.raises(SchemaRefusedError, match=r"404.*not found"):
            await world.client.get(world.wanted(7))
    assert len(world.server.asked) == 1
    await world.clock.advance_ms(UNKNOWN_FOR_MS)
    with pytest.raises(SchemaRefusedError):
        await world.client.get(world.wanted(7))
    assert len(world.server.asked) == 2


async def test_a_registry_that_is_away_is_asked_again_after_a_pause(world: World) -> None:
    """A registry that is away is asked again after a pause."""
    number = world.server.put("s-value", OLD)
    world.server.is_away = True
    for _ in range(3):
        with pytest.raises(UnavailableError, match="answers 503"):
            await world.client.get(world.wanted(number))
    assert len(world.server.asked) == 1
    world.server.is_away = False
    await world.clock.advance_ms(AWAY_FOR_MS)
    assert (await world.client.get(world.wanted(number))).text == OLD


async def test_nobody_at_the_address_is_unavailable() -> None:
    """Nobody at the address is unavailable."""
    async with RegistryServer().running() as server:
        url = server.url
    client = SchemaRegistry(VirtualClock(), get_logger())
    with pytest.raises(UnavailableError, match="does not answer") as error:
        await client.get(Wanted(url.replace("http://", "http://me:secret@"), Kind.AVRO, 1))
    assert "secret" not in str(error.value)
    await client.close()


async def test_only_the_server_of_an_address_is_told() -> None:
    """In logs and errors. Its user, its path and its query may be secrets."""
    told: list[Any] = []
    log: Any = SimpleNamespace(warning=lambda *event, **fields: told.append((*event, fields)))
    client = SchemaRegistry(VirtualClock(), log)
    async with RegistryServer().running() as server:
        server.is_away = True
        address = server.url.replace("http://", "http://me:secret@") + "/secret?key=secret"
        with pytest.raises(UnavailableError, match="answers 503") as error:
            await client.get(Wanted(address, Kind.AVRO, 1))
        assert error.value.where == server.url
        assert told == [("a schema registry is away", {"registry": server.url})]
    await client.close()


async def test_a_schema_of_another_language_is_refused(world: World) -> None:
    """A schema of another language is refused."""
    number = world.server.put("p-value", 'syntax = "proto3";', "PROTOBUF")
    with pytest.raises(SchemaRefusedError, match="is PROTOBUF, not AVRO"):
        await world.client.get(world.wanted(number))


async def test_references_come_along_inner_ones_first(world: World) -> None:
    """References come along inner ones first."""
    inner = '{"type":"record","name":"In","fields":[{"name":"k","type":"double"}]}'
    world.server.put("in", inner)
    middle = '{"type":"record","name":"Mid","fields":[{"name":"i","type":"In"}]}'
    to_inner = {"name": "In", "subject": "in", "version": 1}
    world.server.put("mid", middle, references=[to_inner])
    to_middle = {"name": "Mid", "subject": "mid", "version": 1}
    outer = (
        '{"type":"record","name":"N","fields":[{"name":"a","type":"string"},'
        '{"name":"v","type":"int"},{"name":"m","type":"Mid"}]}'
    )
    number = world.server.put("out", outer, references=[to_middle])
    found = await world.client.get(world.wanted(number))
    assert found.references == (("In", inner), ("Mid", middle))
    mapper = source(
        "avro",
        attributes(a="a", v="v", d="m.i.k"),
        schema_registry=world.server.url,
        schema_id=str(number),
    )
    await world.bring(mapper)
    assert rows(mapper.read(b"\x02x\x0a" + struct.pack("<d", 2.5), 7)) == [[("x", 5, 2.5)]]


async def test_messages_are_read_in_the_form_of_the_readers_schema(world: World) -> None:
    """Messages are read in the form of the readers schema."""
    old, new = world.server.put("s-value", OLD), world.server.put("s-value", NEW)
    mapper = source(
        "avro", schema_registry=world.server.url, use_avro_deserializer="true", schema_def=NEW
    )
    first = message(old, OLD, {"a": "x", "v": 5})
    assert not mapper.read(first, 7).chunks  # nobody has brought its schema
    await world.bring(mapper, first)
    assert rows(mapper.read(first, 7)) == [[("x", 5, 9.5)]]
    second = message(new, NEW, {"a": "y", "v": 6, "d": 1.5})
    await world.bring(mapper, second)
    assert rows(mapper.read(second, 7)) == [[("y", 6, 1.5)]]
    await world.bring(mapper, first)
    assert len(world.server.asked) == 2


@pytest.mark.parametrize(("schema", "type_", "value", "found"), UNIONS)
async def test_a_message_of_the_readers_own_schema_is_read_as_it_was_written(
    world: World, schema: str, type_: str, value: Any, found: Any
) -> None:
    """By the branch of a union that it was written by, not by the first that fits."""
    number = world.server.put("s-value", schema)
    mapper = source(
        "avro",
        schema=stream(x=type_),
        schema_registry=world.server.url,
        use_avro_deserializer="true",
        schema_def=schema,
    )
    body = message(number, schema, {"x": value})
    await world.bring(mapper, body)
    assert rows(mapper.read(body, 7)) == [[(found,)]]


async def test_messages_are_read_as_they_were_written_without_a_readers_schema(
    world: World,
) -> None:
    """Messages are read as they were written without a readers schema."""
    new = world.server.put("s-value", NEW)
    mapper = source("avro", schema_registry=world.server.url, use_avro_deserializer="true")
    body = message(new, NEW, {"a": "y", "v": 6, "d": 1.5})
    await world.bring(mapper, body)
    assert rows(mapper.read(body, 7)) == [[("y", 6, 1.5)]]


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x01\x00\x00\x00\x01x", b"\x00\xff\xff\xff\xffx"])
async def test_messages_without_an_id_are_refused(world: World, body: bytes) -> None:
    """Messages without an id are refused."""
    mapper = source("avro", schema_registry=world.server.url, use_avro_deserializer="true")
    await world.bring(mapper, body)
    assert mapper.read(body, 7).refused
    assert not world.server.asked


async def test_a_schema_that_cannot_be_used_refuses_its_messages_alone(world: World) -> None:
    """A schema that cannot be used refuses its messages alone."""
    broken = world.server.put(
        "b", '{"type":"record","name":"L","fields":[{"name":"n","type":"L"}]}'
    )
    good = world.server.put("s-value", NEW)
    mapper = source("avro", schema_registry=world.server.url, use_avro_deserializer="true")
    bad, fine = (
        message(broken, OLD, {"a": "x", "v": 5}),
        message(good, NEW, {"a": "y", "v": 6, "d": 1.5}),
    )
    for body in (bad, fine):
        await world.bring(mapper, body)
    [error] = mapper.read(bad, 7).refused
    assert "holds itself" in error.message
    assert rows(mapper.read(fine, 7)) == [[("y", 6, 1.5)]]


async def test_a_sink_writes_by_id_with_and_without_it_in_front(world: World) -> None:
    """A sink writes by id with and without it in front."""
    number = world.server.put("s-value", NEW)
    plain = sink("avro", schema_registry=world.server.url, schema_id=str(number))
    with pytest.raises(MappingError, match="has not given the schema yet"):
        plain.write(events(("x", 5, 2.5)))
    await world.bring(plain)
    named = sink(
        "avro", schema_registry=world.server.url, schema_id=str(number), use_avro_serializer="true"
    )
    await world.bring(named)
    whole = message(number, NEW, {"a": "x", "v": 5, "d": 2.5})
    assert named.write(events(("x", 5, 2.5))) == [whole]
    assert plain.write(events(("x", 5, 2.5))) == [whole[5:]]


async def test_a_sink_registers_its_own_schema(world: World) -> None:
    """A sink registers its own schema."""
    world.server.put("other", OLD)
    mapper = sink(
        "avro",
        schema_registry=world.server.url,
        schema_subject="new/value",
        use_avro_serializer="true",
    )
    await world.bring(mapper)
    [body] = mapper.write(events(("x", 5, 2.5)))
    assert body[:5] == struct.pack(">bI", 0, 2)
    reader = source("avro", schema_registry=world.server.url, use_avro_deserializer="true")
    await world.bring(reader, body)
    assert rows(reader.read(body, 7)) == [[("x", 5, 2.5)]]


async def test_a_sink_whose_schema_does_not_fit_refuses_its_events(world: World) -> None:
    """A sink whose schema does not fit refuses its events."""
    number = world.server.put("s-value", OLD)
    mapper = sink("avro", schema_registry=world.server.url, schema_id=str(number))
    await world.bring(mapper)
    with pytest.raises(MappingError, match="no field 'd'"):
        mapper.write(events(("x", 5, 2.5)))


PROTO = """
syntax = "proto3";
package shop;
import "part.proto";
message First { int32 n = 1; message Inner { string a = 1; int32 v = 2; double d = 3; } }
message N { string a = 1; int32 v = 2; double d = 3; Part part = 4; }
"""
PART = 'syntax = "proto3"; package shop; message Part { string of = 1; }'
VALUES = b"\x0a\x01x" + b"\x10\x05" + b"\x19" + struct.pack("<d", 2.5)


def put_proto(world: World) -> int:
    """Registers a schema of Protobuf that imports another."""
    world.server.put("part", PART, "PROTOBUF")
    part = {"name": "part.proto", "subject": "part", "version": 1}
    return world.server.put("n-value", PROTO, "PROTOBUF", [part])


@pytest.mark.parametrize(
    ("place", "is_known"),
    [(b"\x02\x02", True), (b"\x04\x00\x00", True), (b"\x02\x08", False), (b"\x04\x00", False)],
)
async def test_a_message_of_protobuf_names_its_schema_and_its_type(
    world: World, place: bytes, is_known: bool
) -> None:
    """A message of protobuf names its schema and its type."""
    number = put_proto(world)
    mapper = source("protobuf", schema_registry=world.server.url, use_protobuf_deserializer="true")
    body = struct.pack(">bI", 0, number) + place + VALUES
    await world.bring(mapper, body)
    reading = mapper.read(body, 7)
    if is_known:
        assert rows(reading) == [[("x", 5, 2.5)]]
    else:
        assert len(reading.refused) == 1


async def test_bare_messages_of_protobuf_have_the_schema_of_the_option(world: World) -> None:
    """Bare messages of protobuf have the schema of the option."""
    number = put_proto(world)
    options: dict[str, Any] = {
        "schema_registry": world.server.url,
        "schema_id": str(number),
        "message": "N",
    }
    reader = source("protobuf", attributes(a="a", v="v", d="d"), **options)
    writer = sink("protobuf", **options)
    named = sink("protobuf", use_protobuf_serializer="true", **options)
    for mapper in (reader, writer, named):
        await world.bring(mapper)
    assert rows(reader.read(VALUES, 7)) == [[("x", 5, 2.5)]]
    assert writer.write(events(("x", 5, 2.5))) == [VALUES]
    head = struct.pack(">bI", 0, number)
    assert named.write(events(("x", 5, 2.5))) == [head + b"\x02\x02" + VALUES]


async def test_a_sink_registers_its_text_of_proto(world: World) -> None:
    """A sink registers its text of proto."""
    text = 'syntax = "proto3"; message N { string a = 1; int32 v = 2; double d = 3; }'
    mapper = sink(
        "protobuf",
        schema_registry=world.server.url,
        schema_subject="n-value",
        schema_def=text,
        use_protobuf_serializer="true",
    )
    await world.bring(mapper)
    assert mapper.write(events(("x", 5, 2.5))) == [b"\x00\x00\x00\x00\x01\x00" + VALUES]
    found = await world.client.get(world.wanted(1, Kind.PROTOBUF))
    assert found.text == text


async def test_a_schema_of_protobuf_that_is_broken_refuses_its_messages(world: World) -> None:
    """A schema of protobuf that is broken refuses its messages."""
    number = world.server.put("b", "message {", "PROTOBUF")
    mapper = source("protobuf", schema_registry=world.server.url, use_protobuf_deserializer="true")
    body = struct.pack(">bI", 0, number) + b"\x00" + VALUES
    await world.bring(mapper, body)
    assert "no .proto at 1:9" in mapper.read(body, 7).refused[0].message
