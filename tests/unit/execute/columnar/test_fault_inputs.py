"""Rows that a sink refused come in on a fault stream, whose `_error` is an object: the reference
folds such a slice."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.columnar import Unfit
from lockstep.execute.local import open_local
from lockstep.plan import plan_of
from lockstep.siddhiql import check

TEXT = (
    "@OnError(action='STREAM') define stream S (a int);"
    " from S select a insert into Out; from !S select a insert into Bad;"
)


def test_events_of_a_fault_stream_are_left_to_the_reference() -> None:
    """Not read as if they were texts."""
    schema = check(TEXT).schemas["!S"]
    record = EventsRecord("!S", 5, ((InputEvent(5, (1, "gone")),),), has_timestamps=True)
    entry = EncodedEntry(1, encode_record(record, {"!S": schema}))
    with pytest.raises(Unfit, match="hold objects"):
        open_local(plan_of(TEXT)).run_encoded([entry])
