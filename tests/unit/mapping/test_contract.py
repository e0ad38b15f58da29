"""What all mappers keep: no message ends its source, and no row its sink."""

from __future__ import annotations

import json
import logging
import sys
from pkgutil import resolve_name
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import struct_pb2

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping import MappingError, MessageWriter, columns_reader, source_mapper
from lockstep.mapping.reading import MAX_REFUSED, PayloadReader, read_rows
from lockstep.operators.limits import LimitError
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.mappers import MapperExtension
from tests.unit.mapping.mappers import annotation, attributes, events, rows, source

TEXT = StreamSchema("T", (Attribute("x", AttributeType.STRING),))
OBJECT = StreamSchema("O", (Attribute("x", AttributeType.OBJECT),))
STEPS = "$.items[?(@.t =~ /(?=(a+)+b).*/)].n"
"""An expression that takes too many steps on a long text."""

LONG = '{"items":[{"n":1,"t":"%s"}]}' % ("a" * 3_000)


def too_deep() -> Any:
    """Lists in one another, beyond the stack that this process has."""
    return nested(sys.getrecursionlimit())


def nested(levels: int) -> Any:
    """Lists in one another."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def writer(mapping: ast.Annotation, schema: StreamSchema = OBJECT, **options: str) -> MessageWriter:
    """Of a sink with options of its own."""
    elements = tuple(ast.Element(key, value) for key, value in options.items())
    return MessageWriter(schema, ast.Annotation("sink", elements, (mapping,)))


def test_all_source_mappers_are_guarded() -> None:
    """Also those that are still to be written."""
    for declared in default_catalogue().of(ExtensionKind.SOURCE_MAPPER):
        assert isinstance(declared, MapperExtension)
        assert issubclass(resolve_name(declared.mapper), PayloadReader), declared.name


@pytest.mark.parametrize(
    "error",
    [ArithmeticError(), AttributeError(), KeyError("k"), LimitError("too much"), RecursionError(),
     TypeError(), ValueError(), MappingError("bad")],
)  # fmt: skip
def test_a_reader_that_stumbles_refuses_the_payload(error: Exception) -> None:
    """Whatever a value can cause, for the payload as a whole and for one of its events."""

    class Stumbles(PayloadReader):
        """Cannot read anything."""

        def reading(self, payload: Any, now_ms: int, properties: Any) -> Any:
            """Stumbles."""
            raise error

    def row(item: int) -> tuple[Any, ...]:
        if item == 2:
            raise error
        return (item,)

    assert len(Stumbles().read(b"", 1).refused) == 1
    reading = read_rows([1, 2, 3], row, 1, as_one_chunk=True)
    assert rows(reading) == [[(1,), (3,)]]
    assert [refused.item for refused in reading.refused] == [2]


@pytest.mark.parametrize("kind", ["json", "cloudevents"])
def test_an_expression_of_too_many_steps_refuses_its_message(kind: str) -> None:
    """The reader of columns leaves it to the mapper, which says why."""
    mapping = annotation(kind, nested=(attributes(x=STEPS),))
    mapper = source_mapper(TEXT, mapping)
    event = LONG.removeprefix("{")
    body = '{"specversion":"1.0","id":"1","source":"s","type":"t","data":{},' + event
    reading = mapper.read(body, 1)
    assert ["steps" in refused.message for refused in reading.refused] == [True]
    columns = columns_reader(mapping, mapper)
    assert columns is not None
    assert columns.read(body.encode(), {}) is None


def test_a_cloud_event_with_a_name_that_json_escapes() -> None:
    """The reader of columns finds what the mapper does."""
    schema = StreamSchema("S", (Attribute('w"\\', AttributeType.INT),))
    mapping = annotation("cloudevents")
    mapper = source_mapper(schema, mapping)
    columns = columns_reader(mapping, mapper)
    event = {"specversion": "1.0", "id": "1", "source": "s", "type": "t", "data": {'w"\\': 7}}
    body = json.dumps([event, event]).encode()
    assert rows(mapper.read(body, 1)) == [[(7,), (7,)]]
    assert columns is not None
    found = columns.read(body, {})
    assert found is not None
    assert pa.array(found.values[0]).to_pylist() == [7, 7]


def test_a_number_that_json_has_not_refuses_its_message() -> None:
    """Protobuf's own documents can hold it."""
    schema = 'syntax="proto3"; import "google/protobuf/struct.proto"; message M { google.protobuf.'
    mapper = source("protobuf", schema=OBJECT, schema_def=schema + "Struct x = 1; }")
    held = struct_pb2.Struct(fields={"k": struct_pb2.Value(number_value=float("nan"))})
    body = held.SerializeToString()
    (refused,) = mapper.read(b"\x0a" + bytes([len(body)]) + body, 1).refused
    assert (refused.where, "NaN" in refused.message) == ("x", True)


def test_a_mistake_of_a_mapper_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """With its traceback, so that it can be mended; a refusal is the sender's and is not."""

    def stumbles(item: Any) -> tuple[Any, ...]:
        if item == "refused":
            raise MappingError("no")
        raise AttributeError("a mistake of this test")

    with caplog.at_level(logging.WARNING):
        reading = read_rows([1, 2, "refused"], stumbles, 1, as_one_chunk=True)
    assert len(reading.refused) == 3
    (record,) = caplog.records
    assert "a mistake of this test" in record.getMessage()
    assert record.exc_info is not None


@pytest.mark.parametrize("kind", ["json", "cloudevents", "xml", "csv", "text", "keyvalue"])
def test_a_row_that_is_nested_too_deep_is_refused(kind: str) -> None:
    """As a MappingError, which the sink puts aside; the next row passes."""
    written = writer(annotation(kind))
    with pytest.raises(MappingError):
        written.write(events((too_deep(),)))
    assert written.write(events((nested(3),)))


def test_an_option_that_cannot_be_filled_refuses_its_row_alone() -> None:
    """Rows of a group that it would be part of are messages of their own."""
    mapping = annotation("json", event_grouping_enabled="true")
    written = writer(mapping, topic="{{x}}")
    deep, *others = events((too_deep(),), (1,), (1,))
    with pytest.raises(MappingError, match="nested too deep"):
        written.fill("{{x}}", deep)
    assert written.fill("{{x}}", others[0]) == "1"
    assert written.groups(others) == [others]
    assert written.groups([deep, *others]) == [[deep], [others[0]], [others[1]]]


def test_a_message_without_its_required_parts_is_refused() -> None:
    """Protobuf's library has an error of its own for it."""
    schema = (
        "message M { optional I x = 1; } message I { required int32 a = 1; optional int32 b = 2; }"
    )
    mapping = annotation("protobuf", schema_def=f'syntax="proto2"; {schema}')
    with pytest.raises(MappingError):
        writer(mapping).write(events(({"b": 1},)))


NUMBER = StreamSchema("N", (Attribute("x", AttributeType.INT),))


@pytest.mark.parametrize(
    ("kind", "good"),
    [
        ("json", '{"x":1}'),
        ("cloudevents", '{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"x":1}}'),
    ],
)
def test_of_very_many_bad_events_no_more_are_told(kind: str, good: str) -> None:
    """What is told of one takes much more memory than the event; the payload is refused then."""
    mapper = source(kind, schema=NUMBER)
    some = mapper.read(f"[{','.join([good] + ['0'] * MAX_REFUSED)}]", 7)
    assert (len(some.refused), rows(some)) == (MAX_REFUSED, [[(1,)]])
    many = mapper.read(f"[{','.join([good] + ['0'] * 10 * MAX_REFUSED)}]", 7)
    assert (len(many.refused), many.chunks) == (MAX_REFUSED + 1, [])
