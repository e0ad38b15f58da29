"""JSON values become events of the schema's types, or every bad field is named."""

import json

import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep_services.receiver.decode import JSON, NDJSON, MalformedBodyError, decode_text
from lockstep_services.receiver.values import EventReader, FieldError, RawEvent

T = AttributeType
SCHEMA = StreamSchema(
    "S",
    (
        Attribute("symbol", T.STRING),
        Attribute("price", T.FLOAT),
        Attribute("class", T.INT),
        Attribute("big", T.LONG),
        Attribute("ok", T.BOOL),
        Attribute("any", T.OBJECT),
    ),
)
GOOD = {"symbol": "x", "price": 1.5, "class": 3, "big": 2**62, "ok": True, "any": {"k": [1]}}


@pytest.fixture
def reader() -> EventReader:
    """A reader of the schema above."""
    return EventReader(SCHEMA)


def test_both_paths_agree_on_a_good_event(reader: EventReader) -> None:
    """The typed decoder and the explaining one."""
    expected = RawEvent(("x", 1.5, 3, 2**62, True, {"k": [1]}))
    assert reader.fast_object(json.dumps(GOOD).encode()) == expected
    assert reader.read(GOOD) == expected


def test_floats_hold_what_32_bits_hold(reader: EventReader) -> None:
    """0.1 becomes the nearest single."""
    event = reader.read({**GOOD, "price": 0.1})
    assert isinstance(event, RawEvent)
    assert event.data[1] == pytest.approx(0.1, abs=1e-8)
    assert event.data[1] != 0.1


def test_null_is_allowed_everywhere_missing_nowhere(reader: EventReader) -> None:
    """A missing field is an error, an explicit null a value."""
    assert reader.read(dict.fromkeys(GOOD)) == RawEvent((None,) * 6)
    found = reader.read({k: v for k, v in GOOD.items() if k != "big"})
    assert found == [FieldError("big", "missing")]


def test_all_bad_fields_are_named(reader: EventReader) -> None:
    """Wrong type, fraction, out of range, misspelt."""
    wrong = {"symbl": 1, "price": 1e39, "class": 2.5, "big": 2**63, "ok": "yes", "any": None}
    found = reader.read(wrong)
    assert isinstance(found, list)
    messages = {error.field: error.message for error in found}
    assert messages["symbol"] == "missing; 'symbl' came instead"
    assert "outside the range of float" in messages["price"]
    assert "fraction" in messages["class"]
    assert "outside the range of long" in messages["big"]
    assert messages["ok"] == 'expected bool, got text "yes"'


def test_a_number_for_a_bool_and_a_bool_for_a_number(reader: EventReader) -> None:
    """true is no 1."""
    found = reader.read({**GOOD, "class": True, "ok": 1})
    assert isinstance(found, list)
    assert [error.field for error in found] == ["class", "ok"]


def test_rows_by_order_and_the_event_envelope(reader: EventReader) -> None:
    """An array in the schema's order, and {"event": …}."""
    assert reader.read(list(GOOD.values())) == reader.read({"event": GOOD})
    found = reader.read([1, 2])
    assert isinstance(found, list)
    assert "expected 6 values" in found[0].message


@pytest.mark.parametrize("name", ['w"<x>%/é', "back\\slash", "a\ttab"])
def test_attributes_of_names_that_json_escapes(name: str) -> None:
    """They are found by their names in an object, an array, lines, and within `event`."""
    reader = EventReader(StreamSchema("S\0", (Attribute(name, T.DOUBLE), Attribute("b", T.INT))))
    event = {name: 1.5, "b": 2}
    expected = (RawEvent((1.5, 2)),)
    for value, kind in ((event, JSON), ([event], JSON), (event, NDJSON), ({"event": event}, JSON)):
        assert decode_text(kind, json.dumps(value).encode(), reader, max_refused=0).chunks == [
            expected
        ]
    with pytest.raises(MalformedBodyError) as refused:
        decode_text(JSON, json.dumps({"b": 2, "never": 1}).encode(), reader, max_refused=0)
    assert [error.field for error in refused.value.errors] == [name]


def test_time_and_id_are_taken_and_checked(reader: EventReader) -> None:
    """`_timestamp` in milliseconds, `_id` a text."""
    event = reader.read({**GOOD, "_timestamp": 5, "_id": "a"})
    assert isinstance(event, RawEvent)
    assert (event.timestamp_ms, event.event_id) == (5, "a")
    found = reader.read({**GOOD, "_timestamp": "now", "_id": 7})
    assert isinstance(found, list)
    assert [error.field for error in found] == ["_timestamp", "_id"]


@pytest.mark.parametrize("depth", [1, 450, 20_000])
def test_what_is_nested_is_named(reader: EventReader, depth: int) -> None:
    """It is not written out, however deep it is."""
    array: list[object] = []
    for _ in range(depth):
        array = [array]
    assert reader.read({**GOOD, "class": array, "ok": {"a": array}}) == [
        FieldError("class", "expected int, got an array"),
        FieldError("ok", "expected bool, got an object"),
    ]
