"""Entries made in this process travel with the values that went in."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    InvalidEventError,
    LogEntry,
    StreamSchema,
    TickRecord,
    WriteRecord,
)
from lockstep.events.codec import decode_columns, decode_input
from lockstep.events.columns import ARROW_TYPES, EventColumns
from lockstep.execute.columnar import ColumnarExecutor, Unfit
from lockstep.execute.encoding import encoded
from lockstep.plan import build
from lockstep.siddhiql import check

KINDS = tuple(AttributeType)
SCHEMA = StreamSchema("S", tuple(Attribute(kind.value, kind) for kind in KINDS))
FITTING: dict[AttributeType, list[Any]] = {
    AttributeType.STRING: ["a", "", "ü"],
    AttributeType.INT: [0, -(2**31), 2**31 - 1],
    AttributeType.LONG: [0, -(2**63), 2**63 - 1],
    AttributeType.FLOAT: [0.5, 3, -(2**24), float("inf")],
    AttributeType.DOUBLE: [0.1, 3, 2**53, float("-inf")],
    AttributeType.BOOL: [True, False],
    AttributeType.OBJECT: ["a", 1, [1, "a"], {"a": 1.5}],
}
MISFITS: dict[AttributeType, list[Any]] = {
    AttributeType.STRING: [1, 1.5, True, b"a", ["a"]],
    AttributeType.INT: [2**31, 1.0, True, "1", -(2**31) - 1],
    AttributeType.LONG: [2**63, 1.0, False, "1"],
    AttributeType.FLOAT: ["1.5", True, [1.5], 2**40],
    AttributeType.DOUBLE: ["1.5", False, {}, -(2**70)],
    AttributeType.BOOL: [1, 0, "true", 1.0],
    AttributeType.OBJECT: [],
}


def record(kind: AttributeType, value: Any) -> EventsRecord:
    """Two events; all attributes but one are null."""
    rows = [tuple(each if k is kind else None for k in KINDS) for each in (value, None)]
    return EventsRecord("S", 7, (tuple(InputEvent(7, row) for row in rows),))


def columns(made: EventsRecord) -> EventColumns:
    """As they travel."""
    (one,) = encoded([LogEntry(3, made)], {"S": SCHEMA})
    assert one.position == 3
    found = decode_columns(one.payload)
    assert isinstance(found, EventColumns)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_values_of_their_type_are_typed(kind: AttributeType) -> None:
    """Every column has its attribute's type, also those of nulls alone."""
    for value in FITTING[kind]:
        found = columns(record(kind, value))
        assert [c.type for c in found.batch.columns] == [ARROW_TYPES[each] for each in KINDS]
        assert found.to_record() == record(kind, value)


@pytest.mark.parametrize("kind", KINDS)
def test_other_values_come_out_as_they_went_in(kind: AttributeType) -> None:
    """With their own type; the other columns stay typed."""
    for value in MISFITS[kind]:
        found = columns(record(kind, value))
        expected = [ARROW_TYPES[AttributeType.OBJECT if k is kind else k] for k in KINDS]
        assert [c.type for c in found.batch.columns] == expected
        brought = found.to_record().chunks[0][0].data[KINDS.index(kind)]
        assert (type(brought), brought) == (type(value), value)


def test_what_cannot_travel_is_refused() -> None:
    """Values of no known kind, and rows of another width."""
    with pytest.raises(InvalidEventError, match="cannot travel"):
        columns(record(AttributeType.INT, object()))
    narrow = EventsRecord("S", 7, ((InputEvent(7, (1,)),),))
    with pytest.raises(InvalidEventError, match="1 values for 7 attributes"):
        columns(narrow)


def test_other_records_are_the_logs() -> None:
    """Ticks, writes, and events of streams that nobody knows."""
    stranger = EventsRecord("Unknown", 7, ((InputEvent(7, (1, "a")),),))
    for made in (TickRecord(5), WriteRecord("select 1 as a insert into T;", "one", 5), stranger):
        (one,) = encoded([LogEntry(1, made)], {"S": SCHEMA})
        assert decode_input(one.payload) == made


@pytest.mark.parametrize(
    ("type_", "value"), [("double", "1.5"), ("string", b"a"), ("int", 1.0), ("bool", 1)]
)
def test_columns_do_not_convert_what_is_untyped(type_: str, value: Any) -> None:
    """Not even a text that is a number: the reference is to fold it."""
    plan = build(check(f"define stream S (v {type_}); from S select v insert into O;"))
    entry = LogEntry(1, EventsRecord("S", 1, ((InputEvent(1, (value,)),),)))
    with pytest.raises(Unfit, match=r"S\.v"):
        ColumnarExecutor(plan).run_slice([entry])
