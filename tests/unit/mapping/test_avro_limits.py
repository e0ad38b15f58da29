"""`@map(type='avro')`: small messages that would take hours or gigabytes."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from tests.unit.mapping.avro_schemas import NARROW_DEF, binary, reason, record, stream
from tests.unit.mapping.mappers import events, rows, sink, source


def test_a_block_that_claims_too_much_is_refused() -> None:
    """A block that claims too much is refused."""
    target = io.BytesIO()
    parsed = fastavro.parse_schema({"type": "record", "name": "E", "fields": []})
    fastavro.writer(target, parsed, [], sync_marker=b"s" * 16)
    head = target.getvalue()
    count = io.BytesIO()
    fastavro.schemaless_writer(count, fastavro.parse_schema("long"), 2**40)
    claims = head + count.getvalue() + b"\x00" + b"s" * 16
    assert "may be in a message" in reason(source("avro", form="container").read(claims, 7))


@pytest.mark.parametrize("blocks", [1, 3])
def test_blocks_that_would_fill_the_memory_are_refused(
    blocks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One limit for all blocks of a message."""
    monkeypatch.setattr("lockstep.mapping.avro.container.MAX_UNPACKED_BYTES", 50_000)
    target = io.BytesIO()
    parsed = fastavro.parse_schema(json.loads(NARROW_DEF))
    characters = 60_000 // blocks
    records = [{"a": "x" * characters, "v": 1, "d": 1.0}] * blocks
    fastavro.writer(target, parsed, records, "deflate", sync_interval=characters)
    assert len(target.getvalue()) < 1_000
    mapper = source("avro", form="container")
    assert "larger than 50000 bytes" in reason(mapper.read(target.getvalue(), 7))
    monkeypatch.setattr("lockstep.mapping.avro.container.MAX_UNPACKED_BYTES", 70_000)
    assert len(rows(mapper.read(target.getvalue(), 7))[0]) == blocks


def container(schema: dict[str, Any], count: int, block: bytes) -> bytes:
    """A container file with a block that claims so many records."""
    target = io.BytesIO()
    fastavro.writer(target, fastavro.parse_schema(schema), [], sync_marker=b"s" * 16)
    for number in (count, len(block)):
        fastavro.schemaless_writer(target, fastavro.parse_schema("long"), number)
    return target.getvalue() + block + b"s" * 16


def doubled(times: int, leaf: Any) -> dict[str, Any]:
    """A record of two records of two records …"""
    kind: Any = leaf
    for level in range(times):
        name = f"D{level}"
        again = kind if isinstance(kind, str) else kind["name"]
        fields = [{"name": "l", "type": kind}, {"name": "r", "type": again}]
        kind = {"type": "record", "name": name, "fields": fields}
    fields = [{"name": "a", "type": "boolean"}, {"name": "b", "type": kind}]
    return {"type": "record", "name": "R", "fields": fields}


BOOLEANS = stream(a="bool")


@pytest.mark.parametrize(
    ("schema", "count", "said"),
    [
        (doubled(17, "null"), 1, "100000 values that take no bytes"),
        (doubled(40, "int"), 1, "100000 values that take no bytes"),
        (doubled(10, "null"), 10_000, "4882 may be in a message"),
        (
            {"type": "record", "name": "Outer", "fields": [
                {"name": "a", "type": {"type": "array", "items": doubled(8, "null")}},
            ]},
            1,
            "an item of the schema's array is 512 values",
        ),
        (
            {"type": "record", "name": "R", "fields": [
                {"name": "a", "type": {"type": "map", "values": {
                    "type": "array", "items": {"type": "fixed", "name": "F", "size": -1},
                }}},
            ]},
            1,
            "has the size -1",
        ),
    ],
)  # fmt: skip
def test_schemas_of_many_values_without_bytes_are_refused(
    schema: dict[str, Any], count: int, said: str
) -> None:
    """A message of a few bytes would claim any number of them."""
    mapper = source("avro", schema=BOOLEANS, form="container")
    assert said in reason(mapper.read(container(schema, count, b"\x01" * count), 7))


def test_schemas_of_few_values_without_bytes_are_read() -> None:
    """Also many records of them, and with unions, each of which takes a byte."""
    mapper = source("avro", schema=BOOLEANS, form="container")
    few = container(doubled(3, "null"), 1_000, b"\x01" * 1_000)
    assert rows(mapper.read(few, 7)) == [[(True,)] * 1_000]
    optional = [
        {"name": f"f{at}", "type": ["null", {"type": "record", "name": f"O{at}", "fields": [
            {"name": "x", "type": "int"},
        ]}]}
        for at in range(300)
    ]  # fmt: skip
    schema: dict[str, Any] = {"type": "record", "name": "R", "fields": [
        {"name": "a", "type": "boolean"}, {"name": "b", "type": {"type": "array", "items": {
            "type": "record", "name": "I", "fields": optional,
        }}},
    ]}  # fmt: skip
    block = b"\x01" + b"\x02" + b"\x00" * 300 + b"\x00"
    assert rows(mapper.read(container(schema, 1, block), 7)) == [[(True,)]]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ({"type": "bytes", "precision": 10, "scale": 2}, b"\x11" * 257),
        ({"type": "bytes", "precision": 10**9, "scale": 10**9}, b"\x01"),
        ({"type": "fixed", "name": "F", "size": 257, "precision": 10, "scale": 2}, b"\x11" * 257),
    ],
)
def test_long_decimals_are_refused(kind: dict[str, Any], body: bytes) -> None:
    """The library would take the square of their length, and a text all digits of the scale."""
    schema = record(a={**kind, "logicalType": "decimal"})
    if kind["type"] == "bytes":
        body = binary(json.dumps("bytes"), body)
    mapper = source("avro", schema=stream(a="string"), schema_def=schema)
    assert "256 bytes and the scale 1000 are taken" in reason(mapper.read(body, 7))


def test_the_largest_double_comes_back_as_a_decimal() -> None:
    """With all its digits."""
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 400, "scale": 20}
    options: dict[str, Any] = {"schema": stream(a="double"), "schema_def": record(a=kind)}
    (body,) = sink("avro", **options).write(events((1.7e308,)))
    assert rows(source("avro", **options).read(body, 7)) == [[(1.7e308,)]]
