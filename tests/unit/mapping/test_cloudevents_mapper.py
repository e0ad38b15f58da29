"""cloudevents sources and sinks (extensions 13.9), read by the CloudEvents project's own reader."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from lockstep.events import Event
from lockstep.mapping import MappingError, MessageWriter, Reading
from lockstep.mapping.cloudevents.envelope import milliseconds, timestamp
from lockstep.siddhiql import SiddhiQLError, ast
from tests.unit.mapping.mappers import (
    NARROW,
    annotation,
    attributes,
    events,
    payload,
    rows,
    sink,
    source,
)

DATA = {"a": "x", "v": 5, "d": 2.5}
ROW = ("x", 5, 2.5)
EVENT = {
    "specversion": "1.0",
    "id": "7",
    "source": "/shop",
    "type": "sold",
    "time": "2026-03-01T10:00:00.250Z",
    "data": DATA,
}
AT_MS = 1_772_359_200_250


def read(event: Any, properties: dict[str, Any] | None = None) -> Reading:
    """What the message brings."""
    return source("cloudevents").read(json.dumps(event), 1000, properties)


def without(name: str) -> dict[str, Any]:
    """The event with one attribute less."""
    return {key: value for key, value in EVENT.items() if key != name}


def test_structured() -> None:
    """Values out of `data`; the event's own time and identity."""
    reading = read(EVENT)
    assert rows(reading) == [[ROW]]
    assert reading.chunks[0][0].timestamp_ms == AT_MS
    ((origin,),) = reading.origins
    assert (origin.timestamp_ms, origin.id) == (AT_MS, "/shop 7")


def test_without_a_time() -> None:
    """It is the time of arrival."""
    reading = read(without("time"))
    assert reading.chunks[0][0].timestamp_ms == 1000
    assert reading.origins[0][0].timestamp_ms is None


def test_a_batch_is_one_chunk() -> None:
    """A bad event is refused alone, with its number; an empty batch brings nothing."""
    reading = read([EVENT, {**EVENT, "id": ""}, {**EVENT, "id": "8"}])
    assert rows(reading) == [[ROW, ROW]]
    assert [origin.id for origin in reading.origins[0]] == ["/shop 7", "/shop 8"]
    assert [error.item for error in reading.refused] == [2]
    assert rows(read([])) == []


@pytest.mark.parametrize(
    ("data", "row"),
    [
        ({**DATA, "more": 1}, ROW),
        ({**DATA, "v": "5", "d": 2}, ("x", 5, 2.0)),
        ({**DATA, "a": None}, (None, 5, 2.5)),
        ({**DATA, "a": {"k": 1}}, ('{"k":1}', 5, 2.5)),
    ],
)
def test_data(data: Any, row: tuple[Any, ...]) -> None:
    """By name, leniently."""
    assert rows(read({**EVENT, "data": data})) == [[row]]


def test_data_in_base64() -> None:
    """As the format has it for bytes."""
    encoded = base64.b64encode(json.dumps(DATA).encode()).decode()
    assert rows(read({**without("data"), "data_base64": encoded})) == [[ROW]]
    (error,) = read({**without("data"), "data_base64": "?"}).refused
    assert "no Base64" in error.message


@pytest.mark.parametrize(
    ("event", "message", "hint"),
    [
        (5, "must be a JSON object", '"specversion": "1.0"'),
        ({}, "'specversion' is 'None'", "send CloudEvents 1.0"),
        ({**EVENT, "specversion": "0.3"}, "'specversion' is '0.3'", "send CloudEvents 1.0"),
        (without("id"), "'id' must be a text", '"id": …'),
        ({**EVENT, "id": 7}, "'id' must be a text", '"id": …'),
        ({**EVENT, "id": "\ud800"}, "'id' has half of a character", None),
        (without("source"), "'source' must be a text", '"id": …'),
        (without("type"), "'type' must be a text", '"id": …'),
        ({**EVENT, "time": "yesterday"}, "'time' is 'yesterday'", "2026-03-01T10:00:00Z"),
        ({**EVENT, "time": 5}, "'time' is '5'", "2026-03-01T10:00:00Z"),
        ({**EVENT, "time": "1969-12-31T23:59:59Z"}, "'time' is", "from 1970 on"),
        (without("data"), "'data' must be a JSON object", '"data": {…}'),
        ({**EVENT, "data": [DATA]}, "'data' must be a JSON object", '"data": {…}'),
        ({**EVENT, "data": {"a": "x", "v": 5}}, "there is no 'd'", None),
        ({**EVENT, "data": {**DATA, "v": "many"}}, "many is no int", None),
    ],
)
def test_what_is_refused(event: Any, message: str, hint: str | None) -> None:
    """With a reason, and what to send instead."""
    reading = read(event)
    assert not reading.chunks
    (error,) = reading.refused
    assert message in error.message
    assert (hint or "") in (error.hint or "")
    assert (hint is None) == (error.hint is None)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json(body: bytes) -> None:
    """Refused as a whole."""
    reading = source("cloudevents").read(body, 1)
    assert (rows(reading), len(reading.refused)) == ([], 1)


@pytest.mark.parametrize("prefix", ["ce-", "Ce-", "ce_", "cloudEvents:", "cloudEvents_"])
def test_binary_mode(prefix: str) -> None:
    """Attributes in the headers of HTTP, NATS, Kafka, AMQP."""
    headers = {f"{prefix}{name}": value for name, value in without("data").items()}
    mapper = source("cloudevents")
    reading = mapper.read(json.dumps(DATA).encode(), 1, headers)
    assert rows(reading) == [[ROW]]
    assert (reading.origins[0][0].timestamp_ms, reading.origins[0][0].id) == (AT_MS, "/shop 7")
    del headers[f"{prefix}id"]
    (error,) = mapper.read(json.dumps(DATA).encode(), 1, headers).refused
    assert "'id' must be a text" in error.message


def test_binary_mode_of_http_is_percent_encoded() -> None:
    """And data that is no JSON is a text; a structured event is one whatever its headers say."""
    headers = {f"ce-{name}": value for name, value in without("data").items()}
    headers |= {"ce-subject": "caf%C3%A9%20x", "Content-Type": "text/plain"}
    paths = attributes(a="$.subject", v="$.data", d="$.id")
    assert rows(source("cloudevents", paths).read(b"5", 1, headers)) == [[("café x", 5, 7.0)]]
    headers["Content-Type"] = "application/cloudevents+json; charset=UTF-8"
    assert rows(read({**EVENT, "data": {**DATA, "v": 6}}, headers)) == [[("x", 6, 2.5)]]


def test_paths() -> None:
    """From the whole event; missing ones as null where that is asked for."""
    paths = attributes(a="$.type", v="$.data.n", d="$.data.missing")
    event = {**EVENT, "data": {"n": 5}}
    loose = source("cloudevents", paths, fail_on_missing_attribute="false")
    assert rows(loose.read(json.dumps(event), 1)) == [[("sold", 5, None)]]
    (error,) = source("cloudevents", paths).read(json.dumps(event), 1).refused
    assert error.where == "d"


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t01:00:00.0019999999+01:00", 1),
        ("1969-12-31T23:59:59.9Z", -100),
        ("9999-12-31T23:59:59.999Z", 253_402_300_799_999),
        ("0001-01-01T00:00:00+23:59", -62_135_683_140_000),
        ("2026-02-30T00:00:00Z", None),
        ("2026-01-01T00:00:60Z", None),
        ("2026-01-01", None),
        ("2026-01-01T00:00:00", None),
        ("２026-01-01T00:00:00Z", None),
    ],
)
def test_times(text: str, at_ms: int | None) -> None:
    """RFC 3339, to the millisecond."""
    assert milliseconds(text) == at_ms
    if at_ms is not None and at_ms >= 0:
        assert milliseconds(timestamp(at_ms) or "") == at_ms


def parsed(text: Any) -> Any:
    """By the project's reader."""
    return JSONFormat().read(CloudEvent, text)


def test_sink() -> None:
    """Structured, as a reader of CloudEvents wants it."""
    (text,) = sink("cloudevents").write([Event(AT_MS, (None, 5, 1e10))])
    event = parsed(text)
    assert (event.get_source(), event.get_type()) == ("/lockstep", "lockstep.N")
    assert event.get_subject() == "N"
    assert event.get_datacontenttype() == "application/json"
    assert timestamp(AT_MS) == EVENT["time"] == json.loads(text)["time"]
    assert event.get_data() == {"a": None, "v": 5, "d": 1e10}


def test_sink_options() -> None:
    """Texts with values in them, data of one's own, groups."""
    mapper = sink(
        "cloudevents",
        payload('{"n": {{v}}}'),
        event_source="/shops/{{a}}",
        event_type="sold",
        event_subject="{{v}}",
        event_grouping_enabled="true",
    )
    (text,) = mapper.write(events(ROW))
    (found,) = json.loads(text)
    assert (found["source"], found["type"], found["subject"]) == ("/shops/x", "sold", "5")
    assert found["data"] == {"n": 5}


def test_ids() -> None:
    """Without an identity they are made of what is there: the same again for the same."""
    first, second, other = (
        json.loads(sink("cloudevents").write([Event(at, ROW)])[0])["id"] for at in (1, 1, 2)
    )
    assert first == second != other


def writer(**options: Any) -> MessageWriter:
    """Of a sink with this mapping."""
    mapping = annotation("cloudevents", **options)
    return MessageWriter(NARROW, ast.Annotation("sink", (ast.Element("type", "http"),), (mapping,)))


def test_messages_bear_the_identity_of_their_rows() -> None:
    """One by one, and in batches of the batch's own content type."""
    single, batch = writer(), writer(event_grouping_enabled="true")
    assert (single.content_type, single.bears_identity) == ("application/cloudevents+json", True)
    assert json.loads(single.write(events(ROW), ["A/main/0/1.0"]))["id"] == "A/main/0/1.0"
    assert batch.content_type == "application/cloudevents-batch+json"
    found = json.loads(batch.write(events(ROW, ROW), ["1.0", "1.1"]))
    assert [event["id"] for event in found] == ["1.0", "1.1"]


def test_there_and_back() -> None:
    """What a sink writes, a source reads, with its time."""
    sent = [Event(AT_MS, ROW), Event(5, (None, None, None))]
    (text,) = sink("cloudevents", event_grouping_enabled="true").write(sent)
    reading = source("cloudevents").read(text, 1)
    assert reading.chunks == [sent]


@pytest.mark.parametrize(
    "build",
    [
        lambda: sink("cloudevents").write(events(("x", 5, float("nan")))),
        lambda: sink("cloudevents", payload("{{a}}")).write(events(ROW)),
    ],
)
def test_what_json_cannot_say(build: Any) -> None:
    """Is the event's fault."""
    with pytest.raises(MappingError):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: sink("cloudevents", event_source="{{z}}"),
        lambda: sink("cloudevents", event_grouping_enabled="yes"),
        lambda: source("cloudevents", attributes(a="a")),
    ],
)
def test_wrong_options(build: Any) -> None:
    """Told when the app is checked."""
    with pytest.raises(SiddhiQLError):
        build()
