"""On-demand queries of tables that are cut: whom they concern, what one node would answer, and what
is refused."""

from __future__ import annotations

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry, WriteRecord
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import FleetExecutor
from lockstep.fleet.asking import Asked, Asking, asking_of
from lockstep.plan import plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.siddhiql import SiddhiQLError

TEXT = """
define stream S (k string, i int, v double);
define table T (k string, i int, v double);
@PrimaryKey('i') define table N (i int, k string);
define table U (x string);
define window W (k string) length(3);
define function twice[python] return double { return data[0] * 2 };
from S insert into T;
from S join T on S.k == T.k select S.k as k, T.v as v insert into Out;
from S select i, k update or insert into N on N.i == i;
from S select k insert into W;
"""
PARTITIONS = 3
KEYS = ("a", "b", "c", "d", None, "null")
READS = (
    "from T select k, i, v",
    "from T select count() as n, max(currentTimeMillis()) as t",
    "from T on k == 'b' select sum(v) as s",
    "from T on T.k == 'b' and i > 1 select count() as n",
    "from T on 'b' == k select i order by i desc limit 1",
    "from T on i > 2 select k, sum(v) as s group by k",
    "from T select count() as n, avg(v) as a, max(eventTimestamp()) as t",
    "from T select k, i, v order by i desc, v desc, k limit 3 offset 1",
    "from T select k, twice(v) as w order by w desc, k limit 2",
    "from T on v > 100.0 select count() as n",
    "from T on (U.x == T.k) in U select k, i",
    "from T on (N.i == T.i) in N select count() as n",
    "from N select max(i) as m",
    "from N on i == 2 select k",
    "from N on i == 2.0 select k",
    "from U select x",
    "from W select k",
)
WRITES = (
    "select 'b' as k, 7 as i, 1.5 as v insert into T",
    "update T set T.v = T.v + 1.0 on T.i == 2",
    "update T set T.v = 0.0 on T.k == 'c'",
    "delete T on T.i == 1",
    "delete T on T.k == 'd'",
    "select 'c' as k, 9 as i, 9.5 as v update or insert into T on T.k == k and T.i == i",
    "select 'zz' as k, 9 as i, 9.5 as v update or insert into T on T.k == 'zz'",
    "select 'a' as k, 4.5 as v update T on T.k == k",
    "select 2 as i, 'new' as k update or insert into N on N.i == i",
    "select 'b' as x insert into U",
)


def made() -> tuple[ReferenceExecutor, FleetExecutor]:
    """One node and a fleet, behind the same events."""
    plan = plan_of(TEXT)
    one, many = (
        ReferenceExecutor(plan),
        FleetExecutor(fleet_of(plan, PARTITIONS), ReferenceExecutor),
    )
    chunks = tuple(
        tuple(InputEvent(5, (key, number, 0.5 * number)) for key in KEYS) for number in range(4)
    )
    for executor in (one, many):
        executor.run_slice([LogEntry(1, EventsRecord("S", 5, chunks))])
    return one, many


def asking() -> Asking:
    """Of the fleet."""
    return asking_of(made()[1].units)


def test_answers_are_those_of_one_node() -> None:
    """Before and behind each write; how many rows it changed is the same, too."""
    one, many = made()
    for position, write in enumerate(WRITES, start=2):
        for query in READS:
            found, wanted = (sorted(map(repr, each.on_demand(query))) for each in (many, one))
            assert found == wanted, (query, write)
        entry = LogEntry(position, WriteRecord(write, f"id {position}", 6))
        assert many.run_slice([entry]).writes == one.run_slice([entry]).writes, write


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("from T on k == 'b' select sum(v) as s", 1),
        ("from T on v > 1.0 select k", PARTITIONS),
        ("select 'b' as k, 7 as i, 1.5 as v insert into T", 1),
        ("delete T on T.k == 'd' and T.i == 1", 1),
        ("delete T on T.i == 1", PARTITIONS),
        ("update T set T.v = 1.0 on T.k == 'd'", 1),
        ("from U select x", 1),
        ("from Nothing select x", 1),
    ],
)
def test_a_key_is_asked_for_where_it_is(text: str, places: int) -> None:
    """All others in each partition; what is wrong is told by one unit."""
    found = asking().of(text)
    assert (len(found.places), found.gathered) == (places, ())


def test_what_is_needed_together_is_fetched_with_its_condition() -> None:
    """So that few rows travel."""
    found = asking().of("from T on v > 1.0 select count() as n")
    assert isinstance(found, Asked)
    (one,) = found.gathered
    assert one.query == (
        "from T on v > 1.0 select k, i, v,"
        " eventTimestamp() as eventTimestamp, currentTimeMillis() as currentTimeMillis"
    )
    assert len(one.places) == PARTITIONS


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("select str:upper('b') as k, 7 as i, 1.5 as v insert into T", "plain value"),
        ("select 'b' as k, 7 as i, 1.5 as v update or insert into T on T.i == i", "another 'k'"),
        (
            "select 'b' as k, 7 as i, 1.5 as v update or insert into T set T.v = v on T.i == i",
            "does not say which row's 'k' is meant",
        ),
        ("update T set T.k = 'z' on T.i == 1", "cannot get another 'k'"),
        ("select 'z' as k, 1 as i update T on T.i == i", "cannot get another 'k'"),
        ("from T select k as x insert into U", "as values"),
        ("delete T on T.i == 1 and ((U.x == T.k) in U)", "as values"),
        ("from W on (T.k == W.k) in T select k", "compare them outside"),
    ],
)
def test_what_cannot_be_asked_of_a_cut_table(text: str, why: str) -> None:
    """It is refused with a hint, and no unit carries it out."""
    with pytest.raises(SiddhiQLError) as refused:
        asking().of(text)
    assert why in f"{refused.value.message} {refused.value.hint}"
    many = made()[1]
    assert not any(asking_of(many.units).concerns(text, unit) for unit in many.units)
    if not text.startswith("from W"):
        (outcome,) = many.run_slice([LogEntry(2, WriteRecord(text, "id", 6))]).writes
        assert outcome.problem is not None
        assert outcome.problem.message == refused.value.message
