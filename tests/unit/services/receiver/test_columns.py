"""Large bodies in columns bring the same record as event by event, or leave it to the slow way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from lockstep.events import Attribute, AttributeType, EventsRecord, StreamSchema
from lockstep.events.codec import decode_input
from lockstep_services.receiver.columns import COLUMNS_MIN_BYTES, ColumnReader
from lockstep_services.receiver.decode import JSON, NDJSON, decode_text
from lockstep_services.receiver.drafts import RowsDraft
from lockstep_services.receiver.runs import Run, stamped
from lockstep_services.receiver.values import EventReader

SCHEMA = StreamSchema("S", tuple(Attribute(f"a_{kind.value}", kind) for kind in AttributeType))
EVENT = {
    "a_string": "grüße \u2028 ☃", "a_int": -(2**31), "a_long": 2**63 - 1, "a_float": 0.1,
    "a_double": 7, "a_bool": True, "a_object": {"k": [1, "x", None]}, "unknown": 1,
}  # fmt: skip
READER = EventReader(SCHEMA)
COLUMNS = ColumnReader(SCHEMA)


def body_of(events: Sequence[dict[str, Any]], kind: str) -> bytes:
    """As a client would send them."""
    if kind == JSON:
        return msgspec.json.encode(events)
    return b"\n".join(msgspec.json.encode(each) for each in events) + b"\n"


def enough(*last: dict[str, Any]) -> list[dict[str, Any]]:
    """So many that the columns are used, with some of their own at the end."""
    return [{**EVENT, "a_int": i} for i in range(COLUMNS_MIN_BYTES // 60)] + list(last)


def row_by_row(body: bytes, kind: str, timestamp_ms: int | None) -> EventsRecord:
    """The record that the slow way makes."""
    decoded = decode_text(kind, body, READER, max_refused=0)
    run = stamped(Run(SCHEMA, decoded.chunks, len(body)), timestamp_ms)
    record = decode_input(RowsDraft(SCHEMA, run.chunks).encoded(99))
    assert isinstance(record, EventsRecord)
    return record


@pytest.mark.parametrize("kind", [JSON, NDJSON])
@pytest.mark.parametrize("timestamp_ms", [None, 5])
@pytest.mark.parametrize(
    "last",
    [
        {},
        {"_timestamp": 17},
        {"_timestamp": 17, "_id": "x"},
        {"a_float": 1e-45, "a_double": -0.0},
        dict.fromkeys(EVENT),
    ],
)
def test_the_same_record(kind: str, timestamp_ms: int | None, last: dict[str, Any]) -> None:
    """Values, chunks, times and ids."""
    body = body_of(enough({**EVENT, **last}), kind)
    draft = COLUMNS.read(kind, body, timestamp_ms)
    assert draft is not None
    assert decode_input(draft.encoded(99)) == row_by_row(body, kind, timestamp_ms)


@pytest.mark.parametrize("kind", [JSON, NDJSON])
@pytest.mark.parametrize("timestamp_ms", [None, 5])
def test_events_within_event(kind: str, timestamp_ms: int | None) -> None:
    """As sinks of JSON write them; a time of their own is within, too."""
    known = {name: value for name, value in EVENT.items() if name != "unknown"}
    events = [{"event": {**known, "a_int": each["a_int"]}} for each in enough()]
    events.append({"event": {**known, "_timestamp": 17, "_id": "x"}})
    body = body_of(events, kind)
    draft = COLUMNS.read(kind, body, timestamp_ms)
    assert draft is not None
    assert decode_input(draft.encoded(99)) == row_by_row(body, kind, timestamp_ms)


@pytest.mark.parametrize("around", [{"_timestamp": 5}, {"_id": None}, {"more": 1}])
def test_what_stands_around_events_is_looked_at(around: dict[str, Any]) -> None:
    """It may count before what is within."""
    events = [{"event": EVENT, **around} for _ in enough()]
    assert COLUMNS.read(JSON, body_of(events, JSON), None) is None


@pytest.mark.parametrize("kind", [JSON, NDJSON])
@pytest.mark.parametrize(
    "wrong",
    [
        {"a_int": 2**31},
        {"a_long": 2**63},
        {"a_float": 1e39},
        {"a_float": -3.4028235e38},  # it would round to the largest float
        {"a_string": 1},
        {"a_bool": "yes"},
        {"_id": 4},
    ],
)
def test_what_does_not_fit_is_looked_at_event_by_event(kind: str, wrong: dict[str, Any]) -> None:
    """There every bad field gets its reason."""
    assert COLUMNS.read(kind, body_of(enough({**EVENT, **wrong}), kind), None) is None


def test_missing_fields_and_torn_lines_too() -> None:
    """One of them is enough."""
    missing = {name: value for name, value in EVENT.items() if name != "a_int"}
    assert COLUMNS.read(NDJSON, body_of(enough(missing), NDJSON), None) is None
    assert COLUMNS.read(NDJSON, body_of(enough(), NDJSON) + b'{"a', None) is None


@pytest.mark.parametrize("fills_missing", [True, False])
def test_names_that_json_escapes_are_looked_at_event_by_event(fills_missing: bool) -> None:
    """No typed decoder can have them."""
    schema = StreamSchema("S", (Attribute('w"', AttributeType.DOUBLE),))
    columns = ColumnReader(schema, fills_missing=fills_missing)
    events = [{'w"': 1.5}] * (COLUMNS_MIN_BYTES // 10)
    for several in (events, [{"event": one} for one in events]):
        assert columns.read(NDJSON, body_of(several, NDJSON), None) is None
        assert columns.read(JSON, body_of(several, JSON), None) is None
        assert columns.taken(several, None) is None


def test_small_bodies_stay_rows() -> None:
    """They can share a record."""
    assert COLUMNS.read(NDJSON, body_of([EVENT], NDJSON), None) is None


def test_a_large_draft_is_cut_between_chunks() -> None:
    """Into parts that hold all of it in order."""
    draft = COLUMNS.read(NDJSON, body_of(enough(), NDJSON), None)
    assert draft is not None
    parts = list(draft.cut(1 << 30, 50))
    assert max(part.batch.num_rows for part in parts) <= 50
    found = [value for part in parts for value in part.batch.column(1).to_pylist()]
    assert found == draft.batch.column(1).to_pylist()
    whole = COLUMNS.read(JSON, body_of(enough(), JSON), None)
    assert whole is not None
    assert list(whole.cut(1, 1)) == [whole]
