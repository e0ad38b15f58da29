"""Whatever can stand in a log comes back from the codec as it was."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    Operation,
    OutputId,
    OutputRecord,
    OutputRow,
    StreamSchema,
)
from lockstep.events.codec import decode_input, decode_output, encode_record
from lockstep.events.objects import decode_object, encode_object

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
DOUBLES = st.floats(allow_nan=False)
SCALARS = st.none() | st.booleans() | st.integers() | DOUBLES | TEXTS | st.binary()
KEYS = st.booleans() | st.integers() | TEXTS | st.tuples(st.integers(), TEXTS)
OBJECTS: st.SearchStrategy[Any] = st.recursive(
    SCALARS | st.frozensets(KEYS) | st.sets(KEYS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=8,
)
VALUES: dict[AttributeType, st.SearchStrategy[Any]] = {
    AttributeType.STRING: TEXTS,
    AttributeType.INT: st.integers(-(2**31), 2**31 - 1),
    AttributeType.LONG: LONGS,
    AttributeType.FLOAT: st.floats(width=32, allow_nan=False),
    AttributeType.DOUBLE: DOUBLES,
    AttributeType.BOOL: st.booleans(),
    AttributeType.OBJECT: OBJECTS,
}


@st.composite
def typed_records(draw: st.DrawFn) -> tuple[StreamSchema, EventsRecord]:
    """A schema and a record that fits it."""
    kinds = draw(st.lists(st.sampled_from(list(AttributeType)), min_size=1, max_size=5))
    attributes = tuple(Attribute(f"a{i}", kind) for i, kind in enumerate(kinds))
    rows = st.tuples(*(st.none() | VALUES[kind] for kind in kinds))
    events = st.builds(InputEvent, LONGS, rows, st.none() | TEXTS)
    chunks = draw(st.lists(st.lists(events, max_size=4).map(tuple), max_size=4).map(tuple))
    record = EventsRecord(draw(TEXTS), draw(LONGS), chunks, draw(st.booleans()))
    return StreamSchema(record.stream, attributes), record


@given(typed_records())
def test_input_records(case: tuple[StreamSchema, EventsRecord]) -> None:
    """With their schema or without."""
    schema, record = case
    assert exact(decode_input(encode_record(record, {record.stream: schema}))) == exact(record)
    assert exact(decode_input(encode_record(record))) == exact(record)


@given(
    st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 99)), unique=True, max_size=12),
    st.data(),
)
def test_output_records(ids: list[tuple[int, int]], data: st.DataObject) -> None:
    """Rows of several streams, interleaved as they come."""
    rows = []
    for position, ordinal in sorted(ids):
        stream = data.draw(st.sampled_from(["A", "B"]))
        value = data.draw(OBJECTS if stream == "A" else DOUBLES)
        operation = data.draw(st.sampled_from(Operation))
        rows.append(OutputRow(OutputId(position, ordinal), stream, 5, (value,), operation))
    record = OutputRecord(3, tuple(rows))
    assert exact(decode_output(encode_record(record))) == exact(record)


@given(OBJECTS)
def test_objects(value: Any) -> None:
    """With the kinds they had, all the way down; equal values give equal bytes."""
    assert exact(decode_object(encode_object(value))) == exact(value)
    assert encode_object(value) == encode_object(decode_object(encode_object(value)))


def test_not_a_number_survives() -> None:
    """The one value that does not equal itself."""
    record = EventsRecord("S", 1, ((InputEvent(1, (math.nan,)),),))
    found = decode_input(encode_record(record))
    assert isinstance(found, EventsRecord)
    assert math.isnan(found.chunks[0][0].data[0])


def exact(value: Any) -> str:
    """Text that tells True from 1, 1 from 1.0 and 0.0 from -0.0; sets in some fixed order."""
    if isinstance(value, set | frozenset):
        return f"{type(value).__name__}{sorted(exact(item) for item in value)}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}{[exact(item) for item in value]}"
    if isinstance(value, dict):
        return f"{[(exact(key), exact(item)) for key, item in value.items()]}"
    if isinstance(value, EventsRecord):
        head = (value.stream, value.clock_ms, value.has_timestamps)
        events = [[(e.timestamp_ms, e.data, e.event_id) for e in chunk] for chunk in value.chunks]
        return f"{head}{exact(events)}"
    if isinstance(value, OutputRecord):
        rows = [(r.id, r.stream, r.timestamp_ms, r.data, r.operation) for r in value.rows]
        return f"{value.epoch}{exact(rows)}"
    return repr(value)
