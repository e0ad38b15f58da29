"""`@map(type='protobuf')`: what it reads, writes and refuses, against Protobuf's own library."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping import MappingError
from lockstep.mapping.protobuf.text import file_of
from lockstep.mapping.protobuf.types import class_of, read_indexes, types_of_text, write_indexes
from lockstep.siddhiql.errors import SiddhiQLError
from tests.unit.mapping.mappers import SCHEMA, attributes, events, payload, rows, sink, source

NARROW_DEF = 'syntax = "proto3"; message N { string a = 1; int32 v = 2; double d = 3; }'
# Written by hand: field 1, two bytes long; field 2 as a number; field 3 in eight bytes.
BY_HAND = b"\x0a\x01x" + b"\x10\x05" + b"\x19" + struct.pack("<d", 2.5)
OPTIONAL_DEF = """
syntax = "proto3";
message All {
  optional string a = 1; optional int32 v = 2; optional double d = 3;
  optional int64 l = 4; optional bool b = 5; optional float f = 6;
}
"""
SWEET = """
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/duration.proto";
import "some/annotations.proto";
option java_package = "com.example";
/* what is sold */
message Sweet {
  string name = 1;
  optional double amount = 2;
  repeated int32 sizes = 3 [packed = true, deprecated = true];
  map<string, Inner> parts = 4;
  Kind kind = 5;
  oneof what { string text = 6; Inner other = 7; }
  google.protobuf.Timestamp at = 8;
  .shop.v1.Sweet.Inner whole = 9;
  google.protobuf.Int64Value maybe = 10;
  google.protobuf.Struct free = 11;
  map<int32, bool> flags = 12;
  bytes raw = 13;
  uint64 big = 14;
  google.protobuf.Duration took = 15;
  string snake_case = 16;
  reserved 20, 30 to 40;
  message Inner { int64 k = 1; bytes raw = 2; Kind kind = 3; }
  enum Kind { UNKNOWN = 0; CAKE = 1; }
}
message Second { int32 n = 1; }
service Shop { rpc Get(Sweet) returns (stream Second); }
"""
Sweet = class_of(types_of_text(SWEET).message("Sweet"))


def stream(**types: str) -> StreamSchema:
    """A stream of these attributes."""
    return StreamSchema(
        "T", tuple(Attribute(name, AttributeType(type_)) for name, type_ in types.items())
    )


def read_one(type_: str, path: str, **fields: Any) -> Any:
    """What an attribute of that type gets of a Sweet with these fields."""
    mapper = source(
        "protobuf", attributes(x=path), schema=stream(x=type_), schema_def=SWEET, message="Sweet"
    )
    reading = mapper.read(Sweet(**fields).SerializeToString(), 7)
    if reading.refused:
        return reading.refused[0].message
    return rows(reading)[0][0][0]


def test_a_message_is_an_event() -> None:
    """A message is an event."""
    assert rows(source("protobuf", schema_def=NARROW_DEF).read(BY_HAND, 7)) == [[("x", 5, 2.5)]]
    assert sink("protobuf", schema_def=NARROW_DEF).write(events(("x", 5, 2.5))) == [BY_HAND]


def test_no_bytes_are_a_message_of_defaults_or_of_nulls() -> None:
    """No bytes are a message of defaults or of nulls."""
    assert rows(source("protobuf", schema_def=NARROW_DEF).read(b"", 7)) == [[("", 0, 0.0)]]
    mapper = source("protobuf", schema=SCHEMA, schema_def=OPTIONAL_DEF)
    assert rows(mapper.read(b"", 7)) == [[(None,) * 6]]


@pytest.mark.parametrize(
    ("type_", "path", "fields", "found"),
    [
        ("string", "name", {"name": "é"}, "é"),
        ("double", "amount", {}, None),
        ("double", "amount", {"amount": 0.0}, 0.0),
        ("object", "sizes", {"sizes": [3, 1]}, [3, 1]),
        ("string", "sizes", {"sizes": [3, 1]}, "[3,1]"),
        ("int", "$.sizes[1]", {"sizes": [3, 1]}, 1),
        ("object", "parts", {"parts": {"b": {"k": 2}, "a": {"k": 1}}},
         {key: {"k": k, "raw": b"", "kind": "UNKNOWN"} for key, k in (("a", 1), ("b", 2))}),
        ("long", "$.parts.a.k", {"parts": {"a": {"k": 1}}}, 1),
        ("string", "kind", {"kind": 1}, "CAKE"),
        ("string", "kind", {"kind": 9}, "9"),
        ("int", "kind", {"kind": 1}, 1),
        ("string", "text", {"text": "t"}, "t"),
        ("string", "text", {"other": {"k": 5}}, None),
        ("long", "other.k", {"other": {"k": 5}}, 5),
        ("long", "$.other.k", {"other": {"k": 5}}, 5),
        ("long", "other.k", {}, None),
        ("long", "at", {"at": {"seconds": -1, "nanos": 5_000_000}}, -995),
        ("long", "at", {}, None),
        ("long", "took", {"took": {"seconds": -1, "nanos": -500_000_000}}, -1500),
        ("long", "maybe", {"maybe": {"value": 7}}, 7),
        ("long", "maybe", {}, None),
        ("object", "free", {"free": {"k": 1.5}}, {"k": 1.5}),
        ("object", "flags", {"flags": {10: True, 2: False}}, {"10": True, "2": False}),
        ("object", "raw", {"raw": b"\xff"}, b"\xff"),
        ("string", "raw", {"raw": "é".encode()}, "é"),
        ("string", "raw", {"raw": b"\xff"}, None),
        ("long", "big", {"big": 2**63 - 1}, 2**63 - 1),
        ("long", "big", {"big": 2**63}, "9223372036854775808 is no long"),
        ("int", "big", {"big": 2**31}, "2147483648 is no int"),
        ("string", "snakeCase", {"snake_case": "s"}, "s"),
    ],
)  # fmt: skip
def test_fields_as_attributes(type_: str, path: str, fields: dict[str, Any], found: Any) -> None:
    """Fields as attributes."""
    value = read_one(type_, path, **fields)
    if found is None and type_ == "string" and "raw" in fields:
        assert "bytes are no text" in value
    else:
        assert value == found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\x0a", "is no N"),
        (b"\x0a\x05x", "is no N"),
        (b"\x0a\x01\xff", "is no N"),
        (b"\xff\xff\xff", "is no N"),
    ],
)
def test_bad_bytes_are_refused_with_a_reason(body: bytes, said: str) -> None:
    """Bad bytes are refused with a reason."""
    [error] = source("protobuf", schema_def=NARROW_DEF).read(body, 7).refused
    assert said in error.message
    assert error.hint


@given(st.binary(max_size=60))
def test_no_bytes_are_more_than_refused(body: bytes) -> None:
    """No bytes are more than refused."""
    mapper = source(
        "protobuf",
        attributes(name="name", parts="parts", whole="whole", n="$.sizes[0]"),
        schema=stream(name="string", parts="object", whole="string", n="int"),
        schema_def=SWEET,
        fail_on_missing_attribute="false",
    )
    reading = mapper.read(body, 7)
    assert bool(reading.refused) != bool(reading.chunks)


def test_a_message_too_deep_is_refused() -> None:
    """A message too deep is refused."""
    text = 'syntax = "proto3"; message L { L next = 1; int32 n = 2; }'
    body = b""
    for _ in range(500):
        length = len(body)
        head = bytes([length]) if length < 128 else bytes([0x80 | (length & 0x7F), length >> 7])
        body = b"\x0a" + head + body
    mapper = source("protobuf", schema=stream(next="object"), schema_def=text)
    assert "is no L" in mapper.read(body, 7).refused[0].message


def test_which_message_is_meant() -> None:
    """Which message is meant."""
    for name in ("Second", "shop.v1.Second"):
        mapper = source("protobuf", schema=stream(n="int"), schema_def=SWEET, message=name)
        assert rows(mapper.read(b"\x08\x05", 7)) == [[(5,)]]
    inner = source("protobuf", schema=stream(k="long"), schema_def=SWEET, message="Inner")
    assert rows(inner.read(b"\x08\x05", 7)) == [[(5,)]]


def test_a_descriptor_set_is_what_protoc_makes() -> None:
    """A descriptor set is what protoc makes."""
    found = descriptor_pb2.FileDescriptorSet(file=[file_of(NARROW_DEF, "n.proto")])
    packed = base64.b64encode(found.SerializeToString()).decode()
    assert rows(source("protobuf", descriptor_set=packed).read(BY_HAND, 7)) == [[("x", 5, 2.5)]]


def test_proto2_has_required_fields_defaults_and_presence() -> None:
    """Proto2 has required fields defaults and presence."""
    text = (
        "message N { required string a = 1; optional int32 v = 2 [default = 7]; "
        "optional double d = 3; }"
    )
    mapper = source("protobuf", schema_def=text)
    assert rows(mapper.read(b"\x0a\x01x", 7)) == [[("x", None, None)]]
    assert "it lacks a" in mapper.read(b"\x10\x05", 7).refused[0].message
    with pytest.raises(MappingError, match="'a' is null"):
        sink("protobuf", schema_def=text).write(events((None, 5, 2.5)))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs a schema"),
        ({"class": "com.example.Request"}, "class of Java"),
        ({"schema_def": "message {"}, r"no \.proto at 1:9"),
        ({"schema_def": 'syntax = "proto3"; message N { Nope n = 1; }'}, "Nope"),
        ({"schema_def": 'edition = "2023"; message N { string a = 1; }'}, "editions"),
        ({"schema_def": "message N { optional group G = 1 { optional int32 i = 2; } }"}, "group"),
        ({"schema_def": 'syntax = "proto3";'}, "no message"),
        ({"schema_def": NARROW_DEF, "message": "M"}, "no message 'M'"),
        ({"schema_def": NARROW_DEF.replace("a = 1", "b = 1")}, "no field 'a'"),
        ({"descriptor_set": "%"}, "Base64"),
        ({"descriptor_set": ""}, "no file"),
        ({"schema_def": NARROW_DEF, "descriptor_set": "x"}, "the same"),
        ({"schema_def": NARROW_DEF, "schema_id": "1"}, "there is no schema.registry"),
        ({"schema_registry": "http://h:1"}, "schema.registry wants"),
    ],
)
def test_mappers_that_cannot_work(options: dict[str, Any], said: str) -> None:
    """Mappers that cannot work."""
    for make in (source, sink):
        with pytest.raises(SiddhiQLError, match=said):
            make("protobuf", **options)


def test_a_field_may_be_missing_where_the_source_says_so() -> None:
    """A field may be missing where the source says so."""
    text = NARROW_DEF.replace("a = 1", "b = 1")
    mapper = source("protobuf", schema_def=text, fail_on_missing_attribute="false")
    assert rows(mapper.read(BY_HAND, 7)) == [[(None, 5, 2.5)]]


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"name": "int"}, "'name' is int"),
        ({"sizes": "string"}, "'sizes' is string"),
        ({"amount": "string"}, "'amount' is string"),
        ({"other": "string"}, "'other' is string"),
    ],
)
def test_attributes_that_can_never_be_a_field(types: dict[str, str], said: str) -> None:
    """Attributes that can never be a field."""
    with pytest.raises(SiddhiQLError, match=said):
        sink("protobuf", schema=stream(**types), schema_def=SWEET)


@pytest.mark.parametrize(
    ("types", "values", "said"),
    [
        ({"name": "string"}, (None,), "'name' is null"),
        ({"sizes": "object"}, ([1, 2**31],), "Sweet"),
        ({"sizes": "object"}, ({"k": 1},), "is a list"),
        ({"parts": "object"}, ([1],), "is a map"),
        ({"other": "object"}, ({"nope": 1},), "no field 'nope'"),
        ({"other": "object"}, (5,), "is no shop.v1.Sweet.Inner"),
        ({"kind": "string"}, ("PIE",), "Sweet"),
        ({"flags": "object"}, ({"x": True},), "whole numbers"),
        ({"free": "object"}, ({"k": {1}},), "free"),
    ],
)
def test_events_that_do_not_fit_are_refused(
    types: dict[str, str], values: tuple[Any, ...], said: str
) -> None:
    """Events that do not fit are refused."""
    mapper = sink("protobuf", schema=stream(**types), schema_def=SWEET)
    with pytest.raises(MappingError, match=said):
        mapper.write(events(values))


def test_payload_names_fields_also_within_messages() -> None:
    """Payload names fields also within messages."""
    by_entry = payload(**{"name": "{{a}}!", "whole.k": "v", "kind": "`CAKE`"})
    by_text = payload('{"name": "{{a}}!", "whole": {"k": {{v}}}, "kind": "CAKE"}')
    for nested in (by_entry, by_text):
        [body] = sink("protobuf", nested, schema_def=SWEET).write(events(("x", 5, 2.5)))
        assert Sweet.FromString(body) == Sweet(name="x!", whole={"k": 5}, kind=1)


def test_documents_go_there_and_back() -> None:
    """Documents go there and back."""
    shape = stream(
        parts="object", whole="object", at="long", took="long", maybe="long", free="object",
        flags="object", raw="object", kind="string", sizes="object", text="string",
    )  # fmt: skip
    row = (
        {"a": {"k": 1, "raw": b"\xff", "kind": "CAKE"}}, {"k": 2, "raw": b"", "kind": "UNKNOWN"},
        -995, -1500, 7, {"k": [1.5, None, {"n": "x"}]}, {"10": True, "2": False}, b"\x00", "CAKE",
        [3, 1], "t",
    )  # fmt: skip
    [body] = sink("protobuf", schema=shape, schema_def=SWEET).write(events(row))
    assert rows(source("protobuf", schema=shape, schema_def=SWEET).read(body, 7)) == [[row]]


VALUES = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8"), max_size=20),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
    st.none() | st.floats(width=32, allow_nan=False),
)


@settings(max_examples=60)
@given(VALUES)
def test_what_is_written_is_read(values: tuple[Any, ...]) -> None:
    """What is written is read."""
    [body] = sink("protobuf", schema=SCHEMA, schema_def=OPTIONAL_DEF).write(events(values))
    reader = source("protobuf", schema=SCHEMA, schema_def=OPTIONAL_DEF)
    assert rows(reader.read(body, 7)) == [[values]]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=16))
def test_places_of_types_go_there_and_back(indexes: list[int]) -> None:
    """Places of types go there and back."""
    body = b"head" + write_indexes(indexes) + b"rest"
    found, at = read_indexes(body, 4)
    assert (found, body[at:]) == (indexes, b"rest")


def test_places_of_types_as_confluent_writes_them() -> None:
    """Places of types as confluent writes them."""
    assert write_indexes([0]) == b"\x00"
    assert write_indexes([1, 0]) == b"\x04\x02\x00"
    assert read_indexes(b"\x02\x02", 0) == ([1], 2)
    for broken in (b"", b"\x80", b"\x22", b"\x01", b"\xff\xff\xff\xff\xff\xff"):
        with pytest.raises(MappingError):
            read_indexes(broken, 0)


LOOSE_DEF = """
syntax = "proto2";
message L {
  optional string a = 1; optional int32 v = 2; optional I i = 3; repeated string r = 4;
  map<string, string> m = 5; map<int32, string> k = 6;
  message I { optional string s = 1; }
}
"""
NO_TEXT = b"\x02\xff\xfe"


@pytest.mark.parametrize(
    ("type_", "path", "body", "told"),
    [
        ("string", "a", b"\x0a" + NO_TEXT, "the text is no UTF-8"),
        ("object", "a", b"\x0a" + NO_TEXT, "L.a is no UTF-8"),
        ("string", "i.s", b"\x1a\x04\x0a" + NO_TEXT, "the text is no UTF-8"),
        ("object", "i", b"\x1a\x04\x0a" + NO_TEXT, "L.I.s is no UTF-8"),
        ("string", "i", b"\x1a\x04\x0a" + NO_TEXT, "L.I.s is no UTF-8"),
        ("object", "r", b"\x22" + NO_TEXT, "L.r is no UTF-8"),
        ("string", "$.r[0]", b"\x22" + NO_TEXT, "L.r is no UTF-8"),
        ("object", "m", b"\x2a\x07\x0a" + NO_TEXT + b"\x12\x01x", "L.MEntry.key is no UTF-8"),
        ("object", "m", b"\x2a\x07\x0a\x01x\x12" + NO_TEXT, "L.MEntry.value is no UTF-8"),
        ("object", "k", b"\x32\x06\x08\x01\x12" + NO_TEXT, "L.KEntry.value is no UTF-8"),
    ],
)
def test_texts_that_are_no_utf8(type_: str, path: str, body: bytes, told: str) -> None:
    """Proto2 lets them pass, and no log could hold them."""
    schema = stream(x=type_, v="int")
    mapper = source("protobuf", attributes(x=path, v="v"), schema=schema, schema_def=LOOSE_DEF)
    (refused,) = mapper.read(body + b"\x10\x05", 7).refused
    assert [(each.attribute, each.message) for each in refused.fields] == [("x", told)]


def test_a_message_of_too_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty message within one is two bytes, and an object with all its fields."""
    monkeypatch.setattr("lockstep.mapping.amount.MAX_VALUES", 10_000)
    fields = " ".join(f"int32 v{at} = {at + 1};" for at in range(100))
    text = f'syntax = "proto3"; message R {{ repeated I l = 1; message I {{ {fields} }} }}'
    wanted = StreamSchema("T", (Attribute("l", AttributeType.OBJECT),))
    mapper = source("protobuf", schema=wanted, schema_def=text, message="R")
    by_path = source(
        "protobuf", attributes(l="$.l[0]"), schema=wanted, schema_def=text, message="R"
    )
    for each in (mapper, by_path):
        (error,) = each.read(b"\x0a\x00" * 100, 7).refused
        assert "more than 10000 values" in error.message
        for _ in range(2):  # each message by itself
            assert rows(each.read(b"\x0a\x00" * 60, 7))
