"""Rows that a sink refused come in on a fault stream, whose `_error` is an object; what is none is
left to the reference."""

from __future__ import annotations

import pytest

from lockstep.events import Attribute, AttributeType, EventsRecord, InputEvent, StreamSchema
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.columnar import ColumnarExecutor, Unfit
from lockstep.plan import plan_of
from lockstep.siddhiql import check

TEXT = (
    "@OnError(action='STREAM') define stream S (a int);"
    " from S select a insert into Out; from !S select a, _error insert into Bad;"
)
RECORD = EventsRecord("!S", 5, ((InputEvent(5, (1, "gone")),),), has_timestamps=True)


def entry(schema: StreamSchema) -> EncodedEntry:
    """The record as the log has it."""
    return EncodedEntry(1, encode_record(RECORD, {"!S": schema}))


def test_events_of_a_fault_stream_go_through_columns() -> None:
    """What was refused comes out with its error."""
    executor = ColumnarExecutor(plan_of(TEXT))
    (row,) = executor.run_encoded([entry(check(TEXT).schemas["!S"])]).rows
    assert (row.stream, row.data) == ("Bad", (1, "gone"))


def test_texts_are_not_read_as_objects() -> None:
    """Bytes of a text would be some object, and a wrong one."""
    number = Attribute("a", AttributeType.INT)
    schema = StreamSchema("!S", (number, Attribute("_error", AttributeType.STRING)))
    with pytest.raises(Unfit, match="not of its type"):
        ColumnarExecutor(plan_of(TEXT)).run_encoded([entry(schema)])
