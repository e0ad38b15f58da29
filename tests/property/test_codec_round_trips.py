"""Whatever can stand in a log comes back from the codec as it was."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
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
from lockstep.events.bundles import STAYS, Bundle, Delivery
from lockstep.events.codec import (
    CodecError,
    EncodedEntry,
    EventColumns,
    decode_columns,
    decode_input,
    decode_output,
    encode_bundle,
    encode_record,
)
from lockstep.events.objects import decode_object, encode_object
from lockstep.events.outputs import OutputColumns, Places, RowsOfColumns, in_columns

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


@given(st.lists(typed_records(), max_size=3), LONGS, st.data())
def test_bundles(
    cases: list[tuple[StreamSchema, EventsRecord]], at: int, data: st.DataObject
) -> None:
    """Deliveries of several streams in any order, with clocks and without."""
    parts = []
    for schema, record in cases:
        part = decode_columns(encode_record(record, {record.stream: schema}))
        assert isinstance(part, EventColumns)
        parts.append(part)
    whose = [i for i, part in enumerate(parts) for _ in part.chunk_lengths]
    order = data.draw(st.permutations(whose))
    clock = LONGS | st.just(STAYS)
    clocks = data.draw(st.none() | st.lists(clock, min_size=len(order), max_size=len(order)))
    given_clocks = None if clocks is None else np.array(clocks, np.int64)
    bundle = Bundle(at, np.array(order, np.uint16), tuple(parts), given_clocks)
    payload = encode_bundle(bundle)
    entry = EncodedEntry(7, payload)
    found = entry.record()
    assert isinstance(found, Bundle)
    assert found.clock_ms == entry.header.clock_ms == at
    assert exact(list(found.deliveries())) == exact(list(bundle.deliveries()))
    chunks = [iter(record.chunks) for _, record in cases]
    for delivery, whose_it_is, moves in zip(
        found.deliveries(), order, clocks or order, strict=True
    ):
        record = cases[whose_it_is][1]
        assert exact([delivery.events]) == exact([next(chunks[whose_it_is])])
        assert (delivery.stream, delivery.has_timestamps) == (record.stream, record.has_timestamps)
        assert delivery.clock_ms == (None if clocks is None else moves)
    assert found.lengths.tolist() == [len(delivery.events) for delivery in found.deliveries()]
    with pytest.raises(CodecError, match="found bundle"):
        decode_input(payload)


@given(st.lists(st.tuples(LONGS, LONGS, LONGS), min_size=1, max_size=9), st.integers(0, 9))
def test_places_of_channel_rows(places: list[tuple[int, int, int]], cut: int) -> None:
    """They travel with their rows, and stay with them when rows are cut."""
    ids = [OutputId(position, 0) for position in range(len(places))]
    rows = in_columns([OutputRow(each, "C", 5, (each.position,)) for each in ids])
    (plain,) = rows.columns
    written = Places(*np.array(places, np.int64).T)
    columns = OutputColumns(
        "C", plain.positions, plain.ordinals, plain.timestamps_ms, plain.batch, None, written
    )
    record = decode_output(encode_record(OutputRecord(3, RowsOfColumns([columns]))))
    assert isinstance(record, OutputRecord)
    assert isinstance(record.rows, RowsOfColumns)
    behind = record.rows[cut:]
    found = [row for each in behind.columns for row in zip(*each.places or (), strict=True)]
    assert found == places[cut:]
    assert list(behind) == list(rows)[cut:]


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
    if isinstance(value, Delivery | InputEvent):
        return exact([getattr(value, name) for name in value.__annotations__])
    return repr(value)
