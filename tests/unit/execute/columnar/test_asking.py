"""On-demand reads of apps in columns: the reference's answers, without what queries hold."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.columnar.convert import to_be_asked
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.plan import build, plan_of
from lockstep.siddhiql import check

TEXT = """
@app:name('Asked')
define stream S (k string, v long);
@PrimaryKey('k') define table T (k string, v long);
define window W (k string, v long) length(5);
define aggregation A from S select k, sum(v) as total group by k aggregate every sec ... min;
from S select k, v update or insert into T on T.k == k;
from S select k, v insert into W;
from S#window.time(1 hour) select k, max(v) as most group by k insert into Held;
from S#window.timeBatch(1 sec) select k, avg(v) as mean group by k insert into Batches;
partition with (k of S) begin
from S#window.length(3) select k, sum(v) as total insert into Keyed;
end;
"""


def entries(count: int) -> list[LogEntry]:
    """One event each."""
    return [
        LogEntry(n, EventsRecord("S", 100 * n, ((InputEvent(100 * n, (f"k{n % 7}", n)),),)))
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from T select k, v order by k",
        "from T on k == 'k3' select v",
        "from W select k, v",
        "from W select k, sum(v) as total group by k order by k",
        "from A within 0L, 100000L per 'sec' select k, total order by k, total",
    ],
)
def test_answers_are_the_references(text: str) -> None:
    """Also with a state behind the first slice, and the next slice does not see the question."""
    columns, reference = ColumnarExecutor(build(check(TEXT))), ReferenceExecutor(plan_of(TEXT))
    log = entries(60)
    for each in (log[:37], log[37:50], log[50:]):
        got, expected = columns.run_slice(each), reference.run_slice(each)
        assert [row.data for row in got.rows] == [row.data for row in expected.rows]
        assert columns.on_demand(text) == reference.on_demand(text)


def test_what_queries_hold_is_left_out() -> None:
    """Their windows are as at the start, however full they are."""
    columns = ColumnarExecutor(build(check(TEXT)))
    columns.run_slice(entries(60))
    fresh = ColumnarExecutor(build(check(TEXT)))
    asked = [
        dict(to_be_asked(each.lowering.units, each._clock, each._defaults)["operators"])
        for each in (columns, fresh)
    ]
    queries = [path for path in asked[0] if path.startswith(("query/", "partition/"))]
    assert queries
    assert [asked[0][path] for path in queries] == [asked[1][path] for path in queries]
    assert asked[0]["table/T/rows"] != asked[1]["table/T/rows"]
