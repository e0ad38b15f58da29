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


ITEM: dict[str, Any] = {"type": "record", "name": "I", "fields": [{"name": "x", "type": "boolean"}]}
FREE: dict[str, Any] = {"type": "record", "name": "I", "fields": [
    {"name": "x", "type": "boolean"}, *({"name": f"n{at}", "type": "null"} for at in range(50)),
]}  # fmt: skip
DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 4}


def holding(kind: str, items: Any) -> dict[str, Any]:
    """A record with an attribute, and a list or map beside it."""
    inside = {"type": kind, "items" if kind == "array" else "values": items}
    fields = [{"name": "a", "type": "boolean"}, {"name": "b", "type": inside}]
    return {"type": "record", "name": "R", "fields": fields}


@pytest.mark.parametrize(
    ("schema", "item"),
    [
        (holding("array", ITEM), b"\x01"),
        (holding("array", {"type": "array", "items": "int"}), b"\x00"),
        (holding("array", {"type": "map", "values": "int"}), b"\x00"),
        (holding("map", ITEM), b"\x00\x01"),
        (holding("array", ["null", ITEM]), b"\x02\x01"),
        (holding("array", DECIMAL), b"\x00"),
    ],
)
@pytest.mark.parametrize("form", ["", "container"])
def test_a_message_of_too_many_values_is_refused(
    schema: dict[str, Any], item: bytes, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a byte or two, and would take a hundred times as much."""
    monkeypatch.setattr("lockstep.mapping.amount.MAX_VALUES", 10_000)

    def read(items: int) -> Any:
        body = b"\x01" + binary('"long"', items) + item * items + b"\x00"
        if form:
            return source("avro", schema=BOOLEANS, form=form).read(container(schema, 1, body), 7)
        return source("avro", schema=BOOLEANS, schema_def=json.dumps(schema)).read(body, 7)

    assert "more than 10000 values" in reason(read(2_500))
    assert rows(read(1_000)) == [[(True,)]]


def test_all_records_of_a_container_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is small, and so is each block."""
    monkeypatch.setattr("lockstep.mapping.amount.MAX_VALUES", 10_000)
    schema = holding("array", ITEM)
    target = io.BytesIO()
    record = {"a": True, "b": [{"x": True}] * 10}
    fastavro.writer(target, fastavro.parse_schema(schema), [record] * 300, sync_interval=50)
    mapper = source("avro", schema=BOOLEANS, form="container")
    assert "more than 10000 values" in reason(mapper.read(target.getvalue(), 7))
    target = io.BytesIO()
    fastavro.writer(target, fastavro.parse_schema(schema), [record] * 100, sync_interval=50)
    assert rows(mapper.read(target.getvalue(), 7)) == [[(True,)] * 100]


def test_what_a_reader_fills_in_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """And values that take no bytes: a message of a few bytes would be many."""
    monkeypatch.setattr("lockstep.mapping.amount.MAX_VALUES", 10_000)
    more = {"name": "y", "type": "int", "default": 1}
    filled = {
        **ITEM,
        "fields": [*ITEM["fields"], *({**more, "name": f"y{at}"} for at in range(50))],
    }
    block = b"\x01" + binary('"long"', 300) + b"\x01" * 300 + b"\x00"
    for written, wanted in ((FREE, None), (ITEM, filled)):
        given = {} if wanted is None else {"schema_def": json.dumps(holding("array", wanted))}
        mapper = source("avro", schema=BOOLEANS, form="container", **given)
        body = container(holding("array", written), 1, block)
        assert "more than 10000 values" in reason(mapper.read(body, 7))


def test_values_are_counted_and_stay_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted is read as what is not."""
    kinds: dict[str, Any] = {
        "r": ITEM, "u": ["null", "I"], "l": {"type": "array", "items": "I"},
        "m": {"type": "map", "values": "I"}, "d": DECIMAL,
    }  # fmt: skip
    schema = record(**kinds)
    body = b"\x01" + b"\x02\x01" + b"\x04\x01\x00\x00" + b"\x02\x02k\x01\x00" + b"\x02\x05"
    wanted = stream(r="object", u="object", l="object", m="object", d="string")
    plain = rows(source("avro", schema=wanted, schema_def=schema).read(body, 7))
    monkeypatch.setattr("lockstep.mapping.amount.MAX_VALUES", 50)
    mapper = source("avro", schema=wanted, schema_def=schema)
    assert rows(mapper.read(body, 7)) == plain
    assert rows(mapper.read(body, 7)) == plain  # each message by itself
    (row,) = plain[0]
    assert row[0] == {"x": True}
    assert row[2] == [{"x": True}, {"x": False}]
