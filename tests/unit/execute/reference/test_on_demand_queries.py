"""On-demand queries through a whole app: what they refuse, and that reading changes nothing."""

from __future__ import annotations

import pytest

from lockstep.operators.errors import EventError
from lockstep.siddhiql import SiddhiQLError
from lockstep.testing import VirtualApp

APP = """
define stream S (k string, v int);
define table T (k string, v int);
define window W (k string, v int) length(2);
define aggregation A from S select k, sum(v) as t group by k aggregate every sec, min;
from S insert into T;
from S insert into W;
"""


@pytest.fixture
def app() -> VirtualApp:
    """The app with three events in it."""
    made = VirtualApp(APP)
    made.send_many("S", [("a", 1), ("b", 2), ("a", 3)])
    return made


@pytest.mark.parametrize(
    "query",
    [
        "from T select k, sum(v) as t group by k having t > 1 order by t desc limit 1",
        "from W on v > 1 select *",
        "from A on k == 'a' within 0L, 5000L per 'sec' select t",
        "from T on v > 100",
    ],
)
def test_reading_leaves_no_trace(app: VirtualApp, query: str) -> None:
    """A find twice gives the same, and the state is byte for byte as before."""
    before = app.snapshot()
    first = app.on_demand(query)
    assert app.on_demand(query) == first
    assert app.snapshot() == before


def test_aggregates_start_from_nothing_each_time(app: VirtualApp) -> None:
    """Running totals of an earlier call are not seen."""
    assert app.on_demand("from T select sum(v) as t") == [(6,)]
    assert app.on_demand("from T select sum(v) as t") == [(6,)]


@pytest.mark.parametrize(
    "query",
    [
        "from Nowhere select k",
        "from S select k",
        "from T select nothing",
        "from T within 0L, 5L per 'sec' select k",
        "from A select t",
        "select 1 as v insert into T",
        "select 'a' as k, 1 as v insert into S",
        "delete T",
        "update T set T.v = 'x' on T.k == 'a'",
    ],
)
def test_what_means_nothing_is_refused(app: VirtualApp, query: str) -> None:
    """With a positioned error, and nothing is written."""
    with pytest.raises(SiddhiQLError):
        app.on_demand(query)
    assert len(app.on_demand("from T")) == 3


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("from A within 0L, 5L per 'hours' select t", EventError),
        ("from A within 5L, 5L per 'sec' select t", SiddhiQLError),
    ],
)
def test_ranges_that_cannot_be_read_are_told(
    app: VirtualApp, query: str, error: type[Exception]
) -> None:
    """A granularity that is not kept; an end that is not later, with its place."""
    with pytest.raises(error):
        app.on_demand(query)


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("from T select str:repeat(k, 9000000) as x", "limits.value_size"),
        ("from T on str:length(str:repeat(k, 9000000)) > 1 select k", "limits.value_size"),
        ("from T select str:charAt(k, 5) as x", "no character 5"),
        ("from T select work(v) as x", "bad value 1"),
    ],
)
def test_what_a_question_cannot_process_is_told(executor: str, query: str, why: str) -> None:
    """Whatever error it is, also of a limit: nobody else in the process is harmed."""
    work = "define function work[python] return long { raise ValueError(f'bad value {data[0]}') };"
    app = VirtualApp(work + APP, executor=executor)
    app.send("S", ("a", 1))
    with pytest.raises(EventError, match=why):
        app.on_demand(query)
    assert app.on_demand("from T select k") == [("a",)]


def test_writes_are_seen_by_queries_and_survive(app: VirtualApp) -> None:
    """What an on-demand query wrote is part of the state."""
    assert app.on_demand("select 'z' as k, 9 as v insert into T") == []
    again = VirtualApp.restore(APP, app.snapshot())
    assert again.on_demand("from T on k == 'z' select v") == [(9,)]
