"""`@map(type='avro')`: what it reads, writes and refuses, against fastavro and bytes by hand."""

from __future__ import annotations

import io
import json
import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import StreamSchema
from lockstep.mapping import MappingError
from lockstep.siddhiql.errors import SiddhiQLError
from tests.unit.mapping.avro_schemas import NARROW_DEF, UNIONS, binary, reason, record, stream
from tests.unit.mapping.mappers import (
    NARROW,
    SCHEMA,
    attributes,
    events,
    payload,
    rows,
    sink,
    source,
)

NULLABLE = json.dumps(
    {
        "type": "record",
        "name": "All",
        "fields": [
            {"name": name, "type": ["null", kind]}
            for name, kind in (
                ("a", "string"), ("v", "int"), ("d", "double"),
                ("l", "long"), ("b", "boolean"), ("f", "float"),
            )
        ],
    }
)  # fmt: skip
# Written by hand: "x" (length 1), 5 (zigzag 10), 2.5.
BY_HAND = b"\x02x\x0a" + struct.pack("<d", 2.5)


# -- reading ------------------------------------------------------------------------------------


def test_a_record_is_an_event_and_needs_no_schema() -> None:
    """A record is an event and needs no schema."""
    assert rows(source("avro").read(BY_HAND, 7)) == [[("x", 5, 2.5)]]
    assert rows(source("avro", schema_def=NARROW_DEF).read(BY_HAND, 7)) == [[("x", 5, 2.5)]]


def test_an_array_of_records_is_one_chunk_or_several() -> None:
    """An array of records is one chunk or several."""
    many = json.dumps({"type": "array", "items": json.loads(NARROW_DEF)})
    body = binary(many, [{"a": "x", "v": 1, "d": 1.0}, {"a": "y", "v": 2, "d": 2.0}])
    assert rows(source("avro", schema_def=many).read(body, 7)) == [[("x", 1, 1.0), ("y", 2, 2.0)]]
    apart = source("avro", schema_def=many, event_grouping_enabled="false")
    assert rows(apart.read(body, 7)) == [[("x", 1, 1.0)], [("y", 2, 2.0)]]
    assert rows(source("avro", schema_def=many).read(binary(many, []), 7)) == []


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_container_file_brings_its_schema(codec: str) -> None:
    """A container file brings its schema."""
    target = io.BytesIO()
    written = record(d="double", v="int", a="string", more=["null", "long"])
    records = [{"a": f"é{n}", "v": n, "d": n / 2, "more": None} for n in range(5_000)]
    fastavro.writer(target, fastavro.parse_schema(json.loads(written)), records, codec)
    [found] = rows(source("avro", form="container").read(target.getvalue(), 7))
    assert found == [(f"é{n}", n, n / 2) for n in range(5_000)]


def test_a_container_is_read_in_the_form_of_the_readers_schema() -> None:
    """A container is read in the form of the readers schema."""
    target = io.BytesIO()
    old = fastavro.parse_schema(json.loads(record(a="string", v="int")))
    fastavro.writer(target, old, [{"a": "x", "v": 1}])
    newer = json.loads(record(a="string", v="long"))
    newer["fields"].append({"name": "d", "type": "double", "default": 9.5})
    mapper = source("avro", form="container", schema_def=json.dumps(newer))
    assert rows(mapper.read(target.getvalue(), 7)) == [[("x", 1, 9.5)]]


@pytest.mark.parametrize(("schema", "type_", "value", "found"), UNIONS)
@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_a_container_of_the_readers_own_schema_is_read_as_it_was_written(
    schema: str, type_: str, value: Any, found: Any, codec: str
) -> None:
    """By the branch of a union that it was written by, not by the first that fits."""
    target = io.BytesIO()
    fastavro.writer(target, fastavro.parse_schema(json.loads(schema)), [{"x": value}], codec)
    mapper = source("avro", schema=stream(x=type_), form="container", schema_def=schema)
    assert rows(mapper.read(target.getvalue(), 7)) == [[(found,)]]


@pytest.mark.parametrize(
    ("type_", "value", "wanted", "found"),
    [
        ({"type": "long", "logicalType": "timestamp-millis"}, 1_000, "long", 1_000),
        ({"type": "long", "logicalType": "timestamp-micros"}, 1_500, "long", 1_500),
        ({"type": "int", "logicalType": "date"}, 3, "int", 3),
        ({"type": "int", "logicalType": "time-millis"}, 3, "long", 3),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("1.20"), "string", "1.20",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("1.25"), "double", 1.25,
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            Decimal("7.00"), "int", 7,
        ),
        (
            {"type": "string", "logicalType": "uuid"},
            UUID(int=5), "string", "00000000-0000-0000-0000-000000000005",
        ),
        ({"type": "enum", "name": "E", "symbols": ["UP", "DOWN"]}, "DOWN", "string", "DOWN"),
        (["null", "string", "long"], 5, "long", 5),
        (["null", "string"], None, "string", None),
        ("float", 1.5, "double", 1.5),
        ("double", 1.1, "float", 1.100000023841858),
        ("int", 5, "double", 5.0),
        ("bytes", b"\xff\x00", "object", b"\xff\x00"),
        ("bytes", "é".encode(), "string", "é"),
        ({"type": "array", "items": "int"}, [1, 2], "object", [1, 2]),
        ({"type": "array", "items": "int"}, [1, 2], "string", "[1,2]"),
        ({"type": "map", "values": "bytes"}, {"k": b"v"}, "object", {"k": "v"}),
    ],
)  # fmt: skip
def test_types_of_avro_as_types_of_attributes(
    type_: Any, value: Any, wanted: str, found: Any
) -> None:
    """Types of avro as types of attributes."""
    written = record(x=type_)
    plain = json.loads(written)
    if isinstance(type_, dict) and type_.get("logicalType") not in (None, "decimal", "uuid"):
        del plain["fields"][0]["type"]["logicalType"]  # so that numbers can be given
    mapper = source("avro", schema=stream(x=wanted), schema_def=written)
    assert rows(mapper.read(binary(json.dumps(plain), {"x": value}), 7)) == [[(found,)]]


def test_attributes_are_paths() -> None:
    """Attributes are paths."""
    inner = {"type": "record", "name": "I", "fields": [{"name": "k", "type": "double"}]}
    written = record(name="string", inner=inner, numbers={"type": "array", "items": "int"})
    mapper = source("avro", attributes(a="name", v="$.numbers[1]", d="inner.k"), schema_def=written)
    body = binary(written, {"name": "x", "inner": {"k": 1.5}, "numbers": [7, 8]})
    assert rows(mapper.read(body, 7)) == [[("x", 8, 1.5)]]
    without = binary(written, {"name": "x", "inner": {"k": 1.5}, "numbers": []})
    assert mapper.read(without, 7).refused[0].where == "v"


def test_attributes_may_be_fields_in_another_order() -> None:
    """Also where nothing has to be converted."""
    written = record(second="int", first="string", third="double")
    mapper = source("avro", attributes(a="first", v="$.second", d="third"), schema_def=written)
    body = binary(written, {"first": "x", "second": 5, "third": 2.5})
    assert rows(mapper.read(body, 7)) == [[("x", 5, 2.5)]]


def test_missing_fields_and_fields_too_many() -> None:
    """Missing fields and fields too many."""
    written = record(a="string", v="int", extra="string")
    body = binary(written, {"a": "x", "v": 1, "extra": "y"})
    assert "'d'" in reason(source("avro", schema_def=written).read(body, 7))
    loose = source("avro", schema_def=written, fail_on_missing_attribute="false")
    assert rows(loose.read(body, 7)) == [[("x", 1, None)]]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "at byte 0"),
        (BY_HAND[:-1], "at byte"),
        (BY_HAND + b"!", "1 bytes stand behind the value, from byte 11"),
        (b"\x02\xff\x0a" + struct.pack("<d", 2.5), "at byte 2"),
        (b"\x01x\x0a" + struct.pack("<d", 2.5), ""),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x", ""),
        (b"\x02x\xfe\xff\xff\xff\xff\x01" + struct.pack("<d", 2.5), "is no int"),
    ],
)
def test_bad_bytes_are_refused_with_a_reason(body: bytes, said: str) -> None:
    """Bad bytes are refused with a reason."""
    told = reason(source("avro").read(body, 7))
    assert said in told


@given(st.binary(max_size=80))
def test_no_bytes_are_more_than_refused(body: bytes) -> None:
    """No bytes are more than refused."""
    inner = {"type": "record", "name": "I", "fields": [{"name": "k", "type": ["null", "bytes"]}]}
    deep = record(a={"type": "array", "items": inner}, b={"type": "map", "values": "double"})
    for mapper in (
        source("avro", schema=SCHEMA, schema_def=NULLABLE),
        source("avro", schema=stream(a="object", b="object"), schema_def=deep),
        source("avro", form="container"),
    ):
        reading = mapper.read(body, 7)
        assert bool(reading.refused) != bool(reading.chunks) or not body


def test_broken_containers_are_refused() -> None:
    """Broken containers are refused."""
    target = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(NARROW_DEF))
    fastavro.writer(target, parsed, [{"a": "x", "v": 1, "d": 1.0}], "deflate")
    good = target.getvalue()
    mapper = source("avro", form="container")
    assert rows(mapper.read(good, 7)) == [[("x", 1, 1.0)]]
    assert "does not begin as a container" in reason(mapper.read(BY_HAND, 7))
    assert "does not end where it should" in reason(mapper.read(good[:-1], 7))
    assert "the head" in reason(mapper.read(good[:20], 7))
    for at in range(4, len(good)):  # every byte damaged once
        mapper.read(good[:at] + bytes([good[at] ^ 0x55]) + good[at + 1 :], 7)


# -- what an app may not say -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema_def": "{"}, "no Avro schema"),
        ({"schema_def": '{"type":"record","fields":[]}'}, "no Avro schema"),
        ({"schema_def": record(x="nope")}, "no Avro schema"),
        (
            {"schema_def": json.dumps({
                "type": "record", "name": "L",
                "fields": [{"name": "next", "type": ["null", "L"]}],
            })},
            "holds itself",
        ),
        ({"schema_def": record(x={"type": "array", "items": "null"})}, "takes no bytes"),
        ({"schema_def": record(x={"type": "fixed", "name": "F", "size": "x"})}, "has the size x"),
        ({"schema_id": "1"}, "there is no schema.registry"),
        ({"schema_registry": "localhost:8081", "schema_id": "1"}, "schema.registry is"),
        ({"schema_registry": "http://h:1", "schema_id": "x"}, "schema.id is"),
        ({"schema_registry": "http://h:1"}, "without schema.id"),
        ({"use_avro_deserializer": "true"}, "there is no schema.registry"),
        ({"form": "json"}, "form is"),
    ],
)  # fmt: skip
def test_sources_that_cannot_work(options: dict[str, Any], said: str) -> None:
    """Sources that cannot work."""
    with pytest.raises(SiddhiQLError, match=said):
        source("avro", **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schema_def": record(a="string", v="int")}, "no field 'd'"),
        ({"schema_def": record(a="string", v="int", d="double", z="int")}, "nothing fills.*'z'"),
        ({"schema_def": record(a="int", v="int", d="double")}, "'a' is string"),
        ({"schema_def": '"string"'}, "no record"),
        ({"event_grouping_enabled": "true"}, "no group"),
        ({"schema_subject": "s"}, "there is no schema.registry"),
        ({"schema_registry": "http://h:1"}, "either schema.id or schema.subject"),
        (
            {
                "schema_registry": "http://h:1",
                "schema_id": "1",
                "form": "container",
                "use_avro_serializer": "true",
            },
            "brings its schema",
        ),
        ({"use_avro_serializer": "true"}, "there is no schema.registry"),
    ],
)
def test_sinks_that_cannot_work(options: dict[str, Any], said: str) -> None:
    """Sinks that cannot work."""
    with pytest.raises(SiddhiQLError, match=said):
        sink("avro", **options)


def test_an_object_needs_a_schema() -> None:
    """An object needs a schema."""
    with pytest.raises(SiddhiQLError, match="no schema can be made for the object 'o'"):
        sink("avro", schema=stream(o="object"))


# -- writing --------------------------------------------------------------------------------------


def test_an_event_is_a_record() -> None:
    """An event is a record."""
    assert sink("avro").write(events(("x", 5, 2.5))) == [BY_HAND]
    assert sink("avro", schema_def=NARROW_DEF).write(events(("x", 5, 2.5))) == [BY_HAND]


def test_payload_as_the_older_product_writes_it() -> None:
    """Payload as the older product writes it."""
    written = record(name="string", amount="double", n=["null", "int"])
    text = """{"name": "{{a}}", "amount": {{d}}, "n": {{v}}}"""
    mapper = sink("avro", payload(text), schema_def=written)
    quoted = 'say "hi" \\ {{v}}'
    [body] = mapper.write(events((quoted, None, 2.5)))
    found = fastavro.schemaless_reader(io.BytesIO(body), json.loads(written), None)
    assert found == {"name": quoted, "amount": 2.5, "n": None}


def test_payload_by_entries_and_within_records() -> None:
    """Payload by entries and within records."""
    inner = {"type": "record", "name": "I", "fields": [{"name": "k", "type": "double"}]}
    written = record(name="string", inner=inner)
    mapper = sink("avro", payload(**{"name": "{{a}}-{{v}}", "inner.k": "d"}), schema_def=written)
    [body] = mapper.write(events(("x", 5, 2.5)))
    found = fastavro.schemaless_reader(io.BytesIO(body), json.loads(written), None)
    assert found == {"name": "x-5", "inner": {"k": 2.5}}


def test_groups_are_containers_or_arrays() -> None:
    """Groups are containers or arrays."""
    many = json.dumps({"type": "array", "items": json.loads(NARROW_DEF)})
    grouped = events(("x", 1, 1.0), ("y", 2, 2.0))
    forms: list[dict[str, Any]] = [{"form": "container"}, {"schema_def": many}]
    for options in forms:
        written = sink("avro", event_grouping_enabled="true", **options).write(grouped)
        assert len(written) == 1
        assert rows(source("avro", **options).read(written[0], 7)) == [
            [("x", 1, 1.0), ("y", 2, 2.0)]
        ]
        assert len(sink("avro", **options).write(grouped)) == 2
    once, again = (sink("avro", form="container").write(grouped) for _ in range(2))
    assert once == again  # the marks between blocks are not drawn


@pytest.mark.parametrize(
    ("types", "schema_def", "values", "said"),
    [
        ({"x": "string"}, record(x="string"), (None,), "'x' is null"),
        ({"x": "long"}, record(x="int"), (2**31,), "no int"),
        ({"x": "string"}, record(x={"type": "enum", "name": "E", "symbols": ["A"]}), ("B",), "fit"),
        (
            {"x": "string"},
            record(x={"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}),
            ("word",), "no decimal",
        ),
        (
            {"x": "double"},
            record(x={"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 1}),
            (1.25,), "fit",
        ),
        ({"x": "object"}, record(x={"type": "array", "items": "int"}), ([2**40],), "fit"),
        ({"x": "object"}, record(x={"type": "array", "items": "int"}), ({"k": 1},), "fit"),
    ],
)  # fmt: skip
def test_events_that_do_not_fit_are_refused(
    types: dict[str, str], schema_def: str, values: tuple[Any, ...], said: str
) -> None:
    """Events that do not fit are refused."""
    mapper = sink("avro", schema=stream(**types), schema_def=schema_def)
    with pytest.raises(MappingError, match=said):
        mapper.write(events(values))


def test_a_decimal_keeps_its_digits() -> None:
    """A decimal keeps its digits."""
    money = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    shape = stream(x="string", y="double")
    written = record(x=money, y=money)
    [body] = sink("avro", schema=shape, schema_def=written).write(events(("12.30", 0.1)))
    assert rows(
        source("avro", schema=stream(x="string", y="string"), schema_def=written).read(body, 7)
    ) == [[("12.30", "0.10")]]


VALUES = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8"), max_size=20),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.floats(width=32, allow_nan=False),
)


@settings(max_examples=60)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_what_is_written_is_read(data: list[tuple[Any, ...]]) -> None:
    """What is written is read."""
    writer = sink("avro", schema=SCHEMA, schema_def=NULLABLE)
    reader = source("avro", schema=SCHEMA, schema_def=NULLABLE)
    by_paths = source("avro", attributes(*SCHEMA.names), schema=SCHEMA, schema_def=NULLABLE)
    for body, values in zip(writer.write(events(*data)), data, strict=True):
        assert rows(reader.read(body, 7)) == [[values]]
        assert rows(by_paths.read(body, 7)) == [[values]]
    [packed] = sink(
        "avro", schema=SCHEMA, schema_def=NULLABLE, form="container", event_grouping_enabled="true"
    ).write(events(*data))
    assert rows(source("avro", schema=SCHEMA, form="container").read(packed, 7)) == [data]


def test_the_names_of_the_stream_are_names_of_avro() -> None:
    """The names of the stream are names of avro."""
    odd = StreamSchema("!S-1", NARROW.attributes)
    assert sink("avro", schema=odd).write(events(("x", 5, 2.5))) == [BY_HAND]
