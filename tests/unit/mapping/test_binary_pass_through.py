"""`@map(type='binaryPassThrough')`: bytes as a value, and a value as bytes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping import MappingError
from lockstep.siddhiql.errors import SiddhiQLError
from tests.unit.mapping.mappers import attributes, events, payload, rows, sink, source

OBJECT = AttributeType.OBJECT
ONE = StreamSchema("One", (Attribute("buffer", OBJECT),))
FILE = StreamSchema(
    "File",
    (
        Attribute("buffer", OBJECT),
        Attribute("eof", AttributeType.BOOL),
        Attribute("number", AttributeType.INT),
    ),
)
PATHS = attributes(buffer="0", eof="trp:eof", number="trp:sequence.number")


@given(st.binary(max_size=50))
def test_bytes_go_through_as_they_are(body: bytes) -> None:
    """Bytes go through as they are."""
    assert rows(source("binaryPassThrough", schema=ONE).read(body, 7)) == [[(body,)]]
    assert sink("binaryPassThrough", schema=ONE).write(events((body,))) == [body]


def test_properties_of_the_transport_stand_beside_the_bytes() -> None:
    """Properties of the transport stand beside the bytes."""
    mapper = source("binaryPassThrough", PATHS, schema=FILE)
    properties = {"eof": "true", "sequence.number": "3"}
    assert rows(mapper.read(b"\x00\xff", 7, properties)) == [[(b"\x00\xff", True, 3)]]
    [error] = mapper.read(b"\x00", 7, {"eof": "true"}).refused
    assert error.where == "number"


@pytest.mark.parametrize(
    ("schema", "nested"),
    [
        (FILE, ()),
        (FILE, (attributes(buffer="1", eof="trp:eof", number="trp:n"),)),
        (FILE, (attributes(buffer="trp:b", eof="trp:eof", number="trp:n"),)),
        (StreamSchema("T", (Attribute("t", AttributeType.STRING),)), ()),
    ],
)
def test_sources_that_cannot_work(schema: StreamSchema, nested: tuple[Any, ...]) -> None:
    """Sources that cannot work."""
    with pytest.raises(SiddhiQLError):
        source("binaryPassThrough", *nested, schema=schema)


def test_the_payload_says_which_attribute_is_the_message() -> None:
    """The payload says which attribute is the message."""
    two = StreamSchema("Two", (Attribute("a", OBJECT), Attribute("b", OBJECT)))
    with pytest.raises(SiddhiQLError, match="2 attributes"):
        sink("binaryPassThrough", schema=two)
    for text in ("b", "{{b}}"):
        mapper = sink("binaryPassThrough", payload(text), schema=two)
        assert mapper.write(events((b"x", b"y"))) == [b"y"]
    with pytest.raises(SiddhiQLError, match="'c' is no attribute"):
        sink("binaryPassThrough", payload("c"), schema=two)


@pytest.mark.parametrize(("value", "said"), [(None, "null"), (5, "int"), ({"k": 1}, "dict")])
def test_what_is_no_bytes_is_refused(value: Any, said: str) -> None:
    """What is no bytes is refused."""
    with pytest.raises(MappingError, match=said):
        sink("binaryPassThrough", schema=ONE).write(events((value,)))
