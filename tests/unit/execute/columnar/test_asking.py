"""On-demand reads of apps in columns: the reference's answers, without what queries hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.events import EventsRecord, InputEvent, LockstepError, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.columnar.asking import what_is_asked
from lockstep.execute.columnar.convert import asked_by, to_be_asked
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.state import encode
from lockstep.plan import build, plan_of
from lockstep.plan.paths import owner_of
from lockstep.siddhiql import check, check_on_demand
from lockstep.tables.columns import PassiveTable, TableUnit

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


SHARED = """
@app:name('Shared')
define stream S (k string, v long, d double);
define stream R (k string, v long);
@PrimaryKey('k') define table T (k string, v long);
@PrimaryKey('k') define table Known (k string, v long);
define window W (k string, v long) length(5);
define window Odd (k string, v long) unique:length(k, 5);
define window Sorted (k string, v long) sort(5, v);
define table Idle (k string, what object);
define table Most (k string, most long);
define window Behind (k string, v long) length(5);
define aggregation A from S select k, d, sum(v) as total, distinctCount(v) as kinds
group by k, d aggregate every sec ... min;
define aggregation Whole from S select sum(v) as total, max(v) as most aggregate every sec ... day;
define aggregation Hidden from S select sum(v) as total group by k aggregate every sec ... min;
from S[not (k is null)] select k, v update or insert into T on T.k == k;
from S[v > 30 and not (k is null)] select k, v update or insert into Known on Known.k == k;
from S select k, v insert into W;
from S select k, v insert into Odd;
from S select k, v insert into Sorted;
from S#window.length(50) as s join R#window.length(50) as r on s.k == r.k
select s.k as k, r.v as v insert into Joined;
from every e1=S -> e2=S[v > 100] select e1.k as k insert into Seen;
partition with (k of S) begin
from every e1=S<2:3> -> e2=S[v < 0] select e2.k as k insert into Low;
from S#window.length(3) select k, sum(v) as total insert into Keyed;
end;
@purge(enable='true', interval='1 hour', idle.period='1 hour')
partition with (k of S) begin
from S#window.length(3) select k, max(v) as most update or insert into Most on Most.k == k;
from S select k, v insert into Behind;
from S as s join Hidden as h within 0L, 9000L per 'sec' select s.k as k, h.total as t
insert into Shown;
end;
"""
QUESTIONS = {
    "from W select k, v": "window/W",
    "from W on k == 'k3' select count() as n": "window/W",
    "from Odd select k, v order by k": "window/Odd",
    "from Sorted select v": "window/Sorted",
    "from Behind select k, v": "window/Behind",
    "from T on k == 'k3' select v": "table/T",
    "from T select k, v order by k": "table/T",
    "from Most select k, most order by k": "table/Most",
    "from Idle select k": "table/Idle",
    "from A within 0L, 100000L per 'sec' select k, d, total, kinds": "aggregation/A",
    "from A within 2000L, 4000L per 'sec' select AGG_TIMESTAMP as at, k, total": "aggregation/A",
    "from A on k == 'k3' within 0L, 9000L per 'min' select d, total order by d": "aggregation/A",
    "from A on k == 'k3' and d == 3 within 0L, 9000L per 'sec' select total": "aggregation/A",
    "from A on 'k3' == k and d == 0.0 within 0L, 9000L per 'sec' select total": "aggregation/A",
    "from A on k == 'no' and d == 3.0 within 0L, 9000L per 'sec' select total": "aggregation/A",
    "from A on k == 'null' and d == 5.0 within 0L, 9000L per 'min' select total": "aggregation/A",
    "from A on k == str:lower('K3') and d == 3.0 within 0L, 9000L per 'min' select total":
        "aggregation/A",
    "from A within '1970-01-01 00:00:0* **' per 'sec' select k": "aggregation/A",
    "from A within '1970-01-** **:**:**' per 'min' select k, total order by total":
        "aggregation/A",
    "from Whole within 0L, 9000L per str:lower('SEC') select total, most": "aggregation/Whole",
    "from Whole within 0L, 9000L per 'day' select total, most": "aggregation/Whole",
    "from Whole within 9000L, 0L per 'day' select total, most": "aggregation/Whole",
    "from Whole within 0L, 9000L per 'year' select total, most": "aggregation/Whole",
    "from Hidden within 0L, 9000L per 'sec' select total order by total": "aggregation/Hidden",
}  # fmt: skip
"""With what each one looks at."""
BESIDE = {
    "from W on (Known.k == W.k and Known.v > 3) in Known select k, v": {"window/W"},
    "from T on k == 'k3' and (Known.k == T.k) in Known select v": {"table/T"},
    "from A on (Known.k == A.k) in Known within 0L, 9000L per 'sec' select k, total":
        {"aggregation/A"},
}  # fmt: skip


def shared_log(count: int) -> list[LogEntry]:
    """One event each; some keys are null, and some numbers are negative zeros."""
    return [
        LogEntry(
            n,
            EventsRecord(
                "S", 100 * n, ((InputEvent(100 * n, (key_of(n), n, n % 7 * (-1.0) ** n)),),)
            ),
        )
        for n in range(1, count + 1)
    ]


def key_of(number: int) -> str | None:
    """A null for some."""
    return f"k{number % 7}" if number % 7 != 5 else None


def answer(executor: ColumnarExecutor | ReferenceExecutor, text: str) -> object:
    """The rows, or what is wrong with the question."""
    try:
        return executor.on_demand(text)
    except LockstepError as error:
        return type(error), str(error)


@pytest.mark.parametrize("text", [*QUESTIONS, *BESIDE])
def test_answers_are_the_references_whoever_holds_the_store(text: str) -> None:
    """Stores in columns and such as the reference's operators hold, and tables beside them."""
    columns, reference = ColumnarExecutor(build(check(SHARED))), ReferenceExecutor(plan_of(SHARED))
    log = shared_log(60)
    assert answer(columns, text) == answer(reference, text)
    for each in (log[:37], log[37:]):
        columns.run_slice(each)
        reference.run_slice(each)
        assert answer(columns, text) == answer(reference, text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        *((text, {item}) for text, item in QUESTIONS.items()),
        *((text, items | {"table/Known"}) for text, items in BESIDE.items()),
    ],
)
def test_a_question_copies_nothing_but_what_it_reads(
    text: str, read: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither patterns, joins, partitions and windows nor other stores: folding waits for it."""
    columns = ColumnarExecutor(build(check(SHARED)))
    columns.run_slice(shared_log(60))
    asked: list[object] = []

    def watched(owner: object, of: object) -> None:
        store = owner.store  # type: ignore[attr-defined]

        def spy(*given: object) -> object:
            asked.append(of)
            return store(*given)

        monkeypatch.setattr(owner, "store", spy)

    for unit in columns.lowering.units:
        watched(unit, unit.name)
        if isinstance(unit, TableUnit) and not isinstance(unit, PassiveTable):
            watched(unit.state, unit.name)
        if isinstance(unit, AggregationUnit):
            for level in unit.levels.values():
                watched(level, unit.name)
        if isinstance(unit, HostedQueries):
            for path, operator in unit._engine.operators.items():
                take = operator.snapshot

                def spy(path: str = path, take: Callable[[], object] = take) -> object:
                    asked.append(path)
                    return take()

                monkeypatch.setattr(operator, "snapshot", spy)
    answer(columns, text)
    names = {item.replace("/", " ") for item in read}
    assert [each for each in asked if each not in names and owner_of(str(each)) not in read] == []


def test_nothing_is_told_of_a_store_that_nobody_here_holds() -> None:
    """Then all that can be asked is stored, as before."""
    columns = ColumnarExecutor(build(check(SHARED)))
    question = check_on_demand("from W select k", columns.plan.checked)
    assert what_is_asked(question, []) is None
    units = [unit for unit in columns.lowering.units if unit.name != "window W"]
    asked = asked_by(question)(units, columns._clock, columns._defaults)
    assert encode(asked) == encode(to_be_asked(units, columns._clock, columns._defaults))
