"""What a state hangs on beside its own query: functions of the app, and names given later."""

from __future__ import annotations

import pytest

from lockstep.plan import build
from lockstep.plan.succession import Succession, succession
from lockstep.siddhiql import check

S = "define stream S (k string, v int); "
F = "define function f[javascript] return int { return data[0] * %d; }; "
UNUSED = "define function g[javascript] return int { return data[0] * %d; }; "
ONE, OTHER = "query/query_1", "query/query_2"


def _changed(old: str, new: str) -> Succession:
    """From one text to another."""
    return succession(build(check(S + old)), build(check(S + new)))


@pytest.mark.parametrize(
    "query",
    [
        "@info(name='q') from S#window.length(2) select sum(f(v)) as n insert into O;",
        "@info(name='q') from S#window.length(2)[f(v) > 3] select sum(v) as n insert into O;",
        "@info(name='q') from S#window.length(2)"
        " select f(v) as n output last every 2 events insert into O;",
        "partition with (f(v) of S) begin @info(name='q')"
        " from S#window.length(2) select sum(v) as n insert into O; end;",
        "partition with (k of S) begin @info(name='q')"
        " from S#window.length(2) select sum(f(v)) as n insert into O; end;",
        "@info(name='q') from S#window.expression('sum(f(v)) <= 4') select v insert into O;",
        "@info(name='q') from S#window.expressionBatch('count() < f(last.v)', true)"
        " select v insert into O;",
        "partition with (k of S) begin @info(name='q')"
        " from S#window.expression('sum(f(v)) <= 4') select v insert into O; end;",
        "define window W (k string, v int) expression('sum(f(v)) <= 4'); @info(name='q')"
        " from W select sum(v) as n output snapshot every 1 sec insert into O;",
    ],
)
def test_a_function_with_another_body_is_another_one(query: str) -> None:
    """Rows would be added by the one and taken off by the other. A function that nobody calls
    changes nothing."""
    found = _changed(F % 1 + query, F % 10 + query)
    assert not found.carried
    assert "the functions that it calls" in str(found.lost) or "its queries" in str(found.lost)
    assert _changed(UNUSED % 1 + F % 1 + query, UNUSED % 10 + F % 1 + query).is_whole


@pytest.mark.parametrize(
    ("window", "is_other"), [("expression(k)", True), ("expressionBatch('v < 3')", False)]
)
def test_a_text_that_may_call_every_function(window: str, is_other: bool) -> None:
    """Nobody knows which those will be."""
    query = f"@info(name='q') from S#window.{window} select count() as n insert into O;"
    assert _changed(F % 1 + query, F % 10 + query).is_whole is not is_other


QUERY = "from S#window.time(1 sec) select sum(v) as n insert all events into A; "
NAMED = "@info(name='query_1') from S#window.time(1 sec) select sum(v) as n insert into B; "


def test_a_name_that_another_query_had_by_its_place() -> None:
    """The query that has moved goes on; the one that took its place begins empty."""
    found = _changed(QUERY, NAMED + QUERY)
    assert found.carried == {OTHER: ONE}
    assert found.others.keys() == {ONE}


def test_a_query_that_gets_the_name_that_it_had_by_its_place() -> None:
    """It is the same query, as no other one is written so."""
    assert _changed(QUERY, "@info(name='query_1') " + QUERY).carried == {ONE: ONE}


@pytest.mark.parametrize("info", ["name='n'", "'n'"])
def test_a_name_may_stand_alone_in_its_annotation(info: str) -> None:
    """A query or partition goes on by it, wherever it stands and whatever it writes."""
    others = "@info('o') from S select k insert into P; "
    for query in (QUERY, f"partition with (k of S) begin @info({info}) {QUERY}end; "):
        moved = f"{others}@info({info}) {query.replace('into A', 'into C')}"
        kind = "partition" if "partition" in query else "query"
        assert _changed(f"@info({info}) {query}", moved).carried == {f"{kind}/n": f"{kind}/n"}


def test_a_table_that_is_looked_up_from_now_on_begins_empty() -> None:
    """Its rows are in the database alone; those of before may not be there."""
    table = "@primaryKey('k') define table T (k string, v int); "
    lookup = "@store(type='rdbms', mode='lookup', jdbc.url='jdbc:postgresql://db/x') " + table
    join = "from S join T on S.k == T.k select T.v as v insert into O;"
    found = _changed(table + join, lookup + join)
    assert found.lost["table/T"] == "changed: whether its rows are looked up in a database"
    assert "table/T" in _changed(lookup + join, lookup + join).carried
