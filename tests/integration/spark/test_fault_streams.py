"""Rows that a sink refused come in on a fault stream, between others, in an app that runs in
columns."""

from __future__ import annotations

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import plan_of
from lockstep.siddhiql import check
from tests.integration.spark.conftest import Make

TEXT = (
    "@app:name('Faulty') @OnError(action='STREAM') define stream S (a int);"
    " from S[a > 0] select a, count() as n insert into Out;"
    " from !S select a, convert(_error, 'string') as why insert into Bad;"
)


def _entry(position: int, stream: str, *values: object) -> EncodedEntry:
    event = InputEvent(position, values)
    record = EventsRecord(stream, position, ((event,),), has_timestamps=True)
    return EncodedEntry(position, encode_record(record, check(TEXT).schemas))


def test_the_rows_of_the_reference_also_behind_it(make: Make) -> None:
    """The slice that holds one is folded by the reference, and columns go on from there."""
    slices = [
        [_entry(1, "S", 1), _entry(2, "S", 2)],
        [_entry(3, "S", 3), _entry(4, "!S", 2, "sink: gone"), _entry(5, "S", 4)],
        [_entry(6, "S", 5)],
    ]
    expected = (
        ReferenceExecutor(plan_of(TEXT)).run_encoded([one for each in slices for one in each]).rows
    )
    executor = make(TEXT)
    rows = [row for each in slices for row in executor.run_encoded(each).rows]
    assert rows == list(expected)
    assert ("Bad", (2, "sink: gone")) in [(row.stream, row.data) for row in rows]
    assert [row.data for row in rows if row.stream == "Out"][-1] == (5, 5)
