"""msgpack sources and sinks (extensions 13.8)."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.mapping import MappingError
from lockstep.siddhiql import SiddhiQLError
from tests.unit.mapping.mappers import SCHEMA, attributes, events, payload, rows, sink, source

pack = msgspec.msgpack.encode
unpack = msgspec.msgpack.decode

FULL = {"a": "x", "v": 5, "d": 2.5, "l": 7, "b": True, "f": 1.5}
ROW = ("x", 5, 2.5, 7, True, 1.5)
OBJECTS = StreamSchema(
    "O", (Attribute("a", AttributeType.STRING), Attribute("o", AttributeType.OBJECT))
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (FULL, [[ROW]]),
        (list(ROW), [[ROW]]),
        ([FULL, FULL], [[ROW, ROW]]),
        ([list(ROW), FULL], [[ROW, ROW]]),
        (dict(reversed(FULL.items())), [[ROW]]),
        ({**FULL, "a": None}, [[(None, *ROW[1:])]]),
        ({**FULL, "a": b"x"}, [[ROW]]),
        ({**FULL, "a": {"k": [1, None]}}, [[('{"k":[1,null]}', *ROW[1:])]]),
        ({**FULL, "d": 2, "f": 1}, [[("x", 5, 2.0, 7, True, 1.0)]]),
        ({**FULL, "l": datetime(1970, 1, 1, 0, 0, 1, 5000, UTC)}, [[(*ROW[:3], 1005, True, 1.5)]]),
    ],
)
def test_what_is_read(value: Any, expected: list[Any]) -> None:
    """Maps by name, arrays by place, several as one chunk; whole numbers may be doubles."""
    reading = source("msgpack", schema=SCHEMA).read(pack(value), 1000)
    assert rows(reading) == expected
    assert not reading.refused
    assert {event.timestamp_ms for chunk in reading.chunks for event in chunk} == {1000}


@pytest.mark.parametrize(
    ("value", "field", "message"),
    [
        ({**FULL, "v": 2.0}, "v", "2.0 is no int"),
        ({**FULL, "v": 2**31}, "v", "2147483648 is no int"),
        ({**FULL, "l": 2**63}, "l", "9223372036854775808 is no long"),
        ({**FULL, "v": "5"}, "v", "5 is no int"),
        ({**FULL, "a": 5}, "a", "5 is no string"),
        ({**FULL, "b": 1}, "b", "1 is no bool"),
        ({**FULL, "z": 1}, "S", "there is no attribute 'z'"),
        ({"a": "x"}, "v", "there is no 'v'"),
        (["x", 5], "d", "there is no 'd'"),
        ([*ROW, 1], "S", "7 values for 6 attributes"),
        ({**FULL, "a": b"\xff"}, None, "a byte string is no UTF-8"),
        ({**FULL, "a": msgspec.msgpack.Ext(5, b"abc")}, None, "of the extension type 5"),
        ({5: 1}, None, "a map has the key 5"),
        (5, "S", "an event must be a map or an array"),
        (None, "S", "an event must be a map or an array"),
    ],
)
def test_what_is_refused(value: Any, field: str | None, message: str) -> None:
    """With the attribute, and why."""
    reading = source("msgpack", schema=SCHEMA).read(pack(value), 1000)
    assert not reading.chunks
    (error,) = reading.refused
    assert error.where == field
    assert message in error.message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xc1",
        b"\x01\x02",
        b"\x81\x80\x01",
        b"\xa2\xff\xfe",
        pack(FULL)[:-1],
        pack(FULL) + b"\x00",
        b"\x91" * 5000 + b"\x01",
        b"\x91" * 200 + b"\x01",
        b"\xdd\xff\xff\xff\xff",
        b"\xd7\xff" + b"\xff" * 8,
        '{"a":"x"}',
    ],
)
def test_what_is_no_messagepack_is_refused_as_a_whole(raw: Any) -> None:
    """Cut off, too long, nested without end, of a length that never comes, or a text."""
    reading = source("msgpack", schema=SCHEMA).read(raw, 1)
    assert (rows(reading), len(reading.refused)) == ([], 1)


def test_broken_messages_never_raise() -> None:
    """Bytes that were changed, in every place and by chance: read, or refused with a reason."""
    mapper = source("msgpack", schema=SCHEMA)
    chance = random.Random(7)
    good = pack([FULL, list(ROW), {**FULL, "a": {"deep": [1, {"k": b"y"}]}}])
    seen = {True: 0, False: 0}
    for place in range(len(good)):
        for _ in range(20):
            raw = bytearray(good)
            raw[place] = chance.randrange(256)
            reading = mapper.read(bytes(raw), 1)
            assert all(error.message for error in reading.refused)
            seen[bool(reading.refused)] += 1
    assert min(seen.values()) > 100


def test_one_bad_event_of_several_is_refused_alone() -> None:
    """With its number."""
    reading = source("msgpack").read(pack([["x", 1, 1.0], ["y", "1", 1.0]]), 1000)
    assert rows(reading) == [[("x", 1, 1.0)]]
    assert [(error.item, error.where) for error in reading.refused] == [(2, "v")]


def test_source_options() -> None:
    """Missing values as null, events one at a time, events below something."""
    loose = source("msgpack", fail_on_missing_attribute="false", event_grouping_enabled="false")
    assert rows(loose.read(pack([{"a": "x"}, ["y", 1]]), 5)) == [
        [("x", None, None)],
        [("y", 1, None)],
    ]
    below = source("msgpack", enclosing_element="$.list")
    assert rows(below.read(pack({"list": [["x", 1, 1.0]]}), 5)) == [[("x", 1, 1.0)]]
    assert below.read(pack({"else": 1}), 5).refused


def test_paths() -> None:
    """Into maps and arrays; what a transport says beside them."""
    paths = attributes(a="$.who.name", v="trp:size", d="$.d[1]")
    mapper = source("msgpack", paths)
    reading = mapper.read(pack({"who": {"name": "x"}, "d": [1, 2.5], "z": 0}), 1, {"size": "5"})
    assert rows(reading) == [[("x", 5, 2.5)]]
    (error,) = mapper.read(pack({"who": {}, "d": [1, 2.5]}), 1, {"size": "5"}).refused
    assert (error.where, error.message) == ("a", "there is no '$.who.name'")
    places = source("msgpack", attributes("$[2]", "$[1]", "$[0]"))
    assert rows(places.read(pack([2.5, 5, "x"]), 1)) == [[("x", 5, 2.5)]]


def test_objects() -> None:
    """As JSON would have them; what that cannot say is refused."""
    mapper = source("msgpack", schema=OBJECTS)
    assert rows(mapper.read(pack({"a": "x", "o": {"k": [1, b"t"]}}), 1)) == [
        [("x", {"k": [1, "t"]})]
    ]
    (error,) = mapper.read(pack({"a": "x", "o": [float("nan")]}), 1).refused
    assert (error.where, error.message) == ("o", "an object cannot hold nan")


def test_sink_forms() -> None:
    """Maps, arrays, groups, a payload of one's own; nulls stay."""
    sent = events(("x", 5, 2.5), (None, None, 1.0))
    maps = [{"a": "x", "v": 5, "d": 2.5}, {"a": None, "v": None, "d": 1.0}]
    assert [unpack(one) for one in sink("msgpack").write(sent)] == maps
    (group,) = sink("msgpack", event_grouping_enabled="true").write(sent)
    assert unpack(group) == maps
    (alone,) = sink("msgpack", form="array", event_grouping_enabled="true").write(sent[:1])
    assert unpack(alone) == [["x", 5, 2.5]]
    own = sink("msgpack", payload(k="v", t="{{a}}!", c="`a`")).write(sent[:1])
    assert unpack(own[0]) == {"k": 5, "t": "x!", "c": "a"}
    places = sink("msgpack", payload("d", "a"), form="array").write(sent[:1])
    assert unpack(places[0]) == [2.5, "x"]


@pytest.mark.parametrize("form", ["map", "array"])
def test_there_and_back(form: str) -> None:
    """What a sink writes, a source reads."""
    sent = events(ROW, (None,) * 6, ("é" * 300, -(2**31), -0.0, -(2**63), False, 0.5))
    (message,) = sink("msgpack", schema=SCHEMA, form=form, event_grouping_enabled="true").write(
        sent
    )
    assert rows(source("msgpack", schema=SCHEMA).read(message, 1)) == [[e.data for e in sent]]


def test_what_messagepack_cannot_hold() -> None:
    """Is the event's fault."""
    with pytest.raises(MappingError, match="cannot hold"):
        sink("msgpack", schema=OBJECTS).write(events(("x", 2**70)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: sink("msgpack", form="list"),
        lambda: sink("msgpack", payload("a")),
        lambda: sink("msgpack", event_grouping_enabled="yes"),
        lambda: source("msgpack", attributes(a="a")),
    ],
)
def test_wrong_options(build: Any) -> None:
    """Told when the app is checked."""
    with pytest.raises(SiddhiQLError):
        build()
