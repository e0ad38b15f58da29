"""A tick is asked for once: an idle app comes to rest."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, TickRecord
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.plan import build
from lockstep.siddhiql import check

TICKS_MAX = 10
DEFINITIONS = "define stream S (s string, v int); define stream R (s string, v int); "
QUERY = "from S#window.time(300) select s, sum(v) as t {} insert into O;"


@pytest.mark.parametrize(
    "query",
    [
        f"partition with (s of S) begin {QUERY.format('')} end;",
        QUERY.format("group by s"),
        QUERY.format("").replace("insert", "insert all events"),
        "from S#window.time(300) as x join R#window.time(200) as y on x.s == y.s"
        " select x.s as s insert into O;",
    ],
    ids=["partition", "groups", "all events", "join"],
)
def test_an_idle_app_rests(query: str) -> None:
    """Events of several keys at several times; then nothing but ticks when they are due."""
    executor = ColumnarExecutor(build(check(DEFINITIONS + query)))
    due_ms: int | None = None
    for n in range(1, 8):
        clock_ms = 1000 + 60 * n
        chunk = (InputEvent(clock_ms, ("abc"[n % 3], n)),)
        record = EventsRecord("SR"[n % 5 == 4], clock_ms, (chunk,))
        due_ms = executor.run_slice([LogEntry(n, record)]).next_due_ms
    for _ in range(TICKS_MAX):
        if due_ms is None:
            break
        clock_ms = max(clock_ms, due_ms)
        due_ms = executor.run_slice(
            [LogEntry(executor.position + 1, TickRecord(clock_ms))]
        ).next_due_ms
    assert due_ms is None
