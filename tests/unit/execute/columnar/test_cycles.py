"""What a slice leaves behind."""

from __future__ import annotations

import gc

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar.executor import ColumnarExecutor
from lockstep.plan import plan_of

STREAMS = (
    "define stream S (k string, i int); define stream R (k string, i int);"
    "@PrimaryKey('k') define table T (k string, i int);"
    "define window W (k string, i int) length(2);"
)
QUERIES = (
    "from S[i > 0] select k, i + 1 as j having j > 2 insert into Out;",
    "from S#window.length(2) select k, sum(i) as n group by k insert all events into Out;",
    "from S#window.timeBatch(10) select k, avg(i) as n order by n limit 1 insert into Out;",
    "from S#window.length(2) as a join R#window.length(2) as b on a.k == b.k"
    " select a.k as k, max(b.i) as i insert into Out;",
    "from every a=S -> b=R[i > a.i] select a.k as k, b.i as i insert into Out;",
    "from S select k, i update or insert into T on T.k == k;"
    " from R left outer join T on R.k == T.k select R.k as k, T.i as i insert into Out;",
    "from S insert into W; from W select k, count() as n insert into Out;",
    "partition with (k of S) begin from S#window.length(2) select k, sum(i) as n"
    " output last every 2 events insert into Out; end;",
    "from S#window.cron('*/1 * * * * ?') select k, i insert into Out;",
)


def log(first: int) -> list[LogEntry]:
    """Ten records of two events."""
    return [
        LogEntry(
            n,
            EventsRecord(
                "SR"[n % 2],
                10 * n,
                ((InputEvent(10 * n, ("a", n)),), (InputEvent(10 * n, ("b", n)),)),
            ),
        )
        for n in range(first, first + 10)
    ]


@pytest.mark.parametrize("query", QUERIES)
def test_nothing_of_a_slice_waits_for_a_collection_of_garbage(query: str) -> None:
    """Its columns go with the last who uses them. In cycles they would stay, tens of megabytes for
    each slice, until Python happens to look for cycles."""
    executor = ColumnarExecutor(plan_of(f"{STREAMS} {query}"))
    executor.run_slice(log(1))
    gc.collect()
    gc.disable()
    try:
        executor.run_slice(log(11))
        assert gc.collect() == 0
    finally:
        gc.enable()
