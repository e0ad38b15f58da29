"""What runs each query, and why."""

from __future__ import annotations

from lockstep.execute.explain import Cost, Engine, Explained, explain_execution
from lockstep.plan import build
from lockstep.siddhiql import check

STREAMS = "define stream S (s string, i int, d double); define stream R (s string, i int);\n"


def explained(text: str) -> Explained:
    """An app over STREAMS."""
    return explain_execution(build(check(STREAMS + text)))


def engines(found: Explained) -> dict[str, Engine]:
    """What runs each query."""
    return {query.name: query.engine for query in found.queries}


def test_all_in_columns() -> None:
    """Rules have names."""
    found = explained("@info(name='q') from S#window.time(1 sec) select sum(i) as n insert into O;")
    (query,) = found.queries
    assert (query.engine, query.rule, query.reason) == (Engine.COLUMNS, "sliding window", None)
    assert found.text().endswith("on Spark: one job per slice, all in columns")


def test_in_how_many_tasks_is_told() -> None:
    """Where the app asks for a number."""
    text = f"{STREAMS} from S select s insert into O;"
    assert explain_execution(build(check(text))).as_json()["tasks_max"] is None
    asked = explain_execution(build(check(f"@app:tasks('2') {text}")))
    assert asked.text().endswith("all in columns; on each processor in at most 2 tasks at a time")
    assert asked.as_json()["tasks_max"] == 2


def test_one_query_without_a_rule_keeps_to_itself() -> None:
    """Those in front of it and behind it run in columns."""
    found = explained(
        "@info(name='a') from S[i > 1] select s, i insert into A;"
        "@info(name='b') from A[math:rand() > 0.5] select s, i insert into B;"
        "@info(name='c') from B select s, sum(i) as n group by s insert into C;"
    )
    assert engines(found) == {"a": "columns", "b": "reference", "c": "columns"}


def test_who_shares_a_table_stays_in_columns() -> None:
    """One query on the reference makes all writes there; the others' columns follow."""
    found = explained(
        "@PrimaryKey('s') define table T (s string, i int);"
        "@info(name='a') from R select s, i insert into T;"
        "@info(name='b') from S[math:rand() > 0.5 and T.i > i in T] select s insert into O;"
        "@info(name='c') from S select s insert into P;"
    )
    assert engines(found) == {"a": "columns", "b": "reference", "c": "columns"}


def test_a_circle_is_one_place() -> None:
    """With who joins its streams; who only reads them stays in columns, and so do others."""
    found = explained(
        "define stream C (s string, i int);"
        "@info(name='a') from C[i > 0] select s, i - 1 as i insert into C;"
        "@info(name='b') from C select count() as n insert into O;"
        "@info(name='c') from S select s, i insert into C;"
        "@info(name='d') from C#window.length(2) as x join S#window.length(2) as y on x.s == y.s"
        " select x.s as s insert into J;"
    )
    wanted = {"a": "reference", "b": "columns", "c": "columns", "d": "reference"}
    assert engines(found) == wanted
    assert found.queries[0].reason == "stands in a circle of streams that feed each other"


def test_clocks_behind_clocks() -> None:
    """The second of two batches by time takes the reference's window, where that can be; not one
    that only counts, nor an output rate."""
    found = explained(
        "@info(name='a') from S#window.timeBatch(1 sec) select s, i insert into A;"
        "@info(name='b') from A#window.timeBatch(2 sec) select s insert into B;"
        "@info(name='c') from A#window.lengthBatch(2) select s insert into C;"
        "@info(name='d') from S#window.timeBatch(1 sec) select s insert into D;"
        "@info(name='e') from A select s output last every 1 sec insert into E;"
    )
    rules = [query.rule for query in found.queries]
    assert rules[0] == rules[2] == rules[3] == "tumbling window"
    assert rules[1] == "window of the reference, the rest in columns"
    assert rules[4] == "filter, project, running aggregates"


def test_queries_between_what_shares_state_go_along() -> None:
    """Columns cannot run in the middle of hosted queries."""
    found = explained(
        "define table T (s string, i int);"
        "@info(name='a') from S select s, i insert into T;"
        "@info(name='b') from S join T on S.s == T.s select S.s as s, T.i as i insert into B;"
        "@info(name='c') from B[i > 1] select s, i insert into C;"
        "@info(name='d') from C select s, i insert into T;"
        "@info(name='e') from S select s insert into E;"
    )
    assert [name for name, engine in engines(found).items() if engine == "columns"] == ["a", "e"]
    assert found.queries[2].alone == "filter, project, running aggregates"


def test_who_shares_a_named_window_goes_along() -> None:
    """It has one place; the query alone would have run in columns."""
    found = explained(
        "define window W (s string, i int) length(5);"
        "@info(name='a') from R select s, i insert into W;"
        "@info(name='b') from S[math:rand() > 0.5] join W on S.s == W.s select S.s as s"
        " insert into O;"
        "@info(name='c') from S select s insert into P;"
    )
    assert engines(found) == {"a": "reference", "b": "reference", "c": "columns"}
    a = found.queries[0]
    assert a.alone == "filter, project, running aggregates"
    assert a.reason == "shares state with query/b"
    assert "alone it would run in columns" in found.text()


def test_reasons_of_the_whole_app() -> None:
    """They are told once, and each query says what it alone would be."""
    text = "@info(name='a') from S select s insert into O;"
    head = "@app:playback(idle.time='1 sec', increment='1 sec')\n"
    found = explain_execution(build(check(head + STREAMS + text)))
    assert found.whole_app_reasons == ("playback with idle time",)
    assert engines(found) == {"a": "reference"}
    assert found.queries[0].alone == "filter, project, running aggregates"
    assert "all on the reference: playback with idle time" in found.text()


def test_aggregations_are_told_of() -> None:
    """One is kept in columns with the query that reads it, one goes to a store event by event."""
    found = explained(
        "define aggregation A from S select s, sum(i) as n group by s aggregate every sec ... hour;"
        "@store(type='rdbms') define aggregation B from S select sum(i) as n aggregate every min;"
        "@info(name='a') from R join A as y on R.s == y.s within 0L, 9L per 'hours'"
        " select y.n as n insert into O;"
    )
    kept, stored = found.aggregations
    assert (kept.engine, kept.rule) == (Engine.COLUMNS, "incremental aggregation")
    assert stored.engine is Engine.REFERENCE
    assert stored.reason == "aggregation B: its buckets go to a store, chunk by chunk"
    assert found.queries[0].rule == "join with an aggregation"
    assert "aggregation A: S -> seconds, minutes, hours; in columns" in found.text()
    assert found.text().endswith(
        "2 of 3 queries and aggregations in columns, the others on the reference"
    )
    assert found.as_json()["aggregations"][1]["engine"] == "reference"


def test_an_aggregation_goes_where_its_reader_goes() -> None:
    """Who reads the buckets on the reference takes them along."""
    found = explained(
        "define aggregation A from S select s, sum(i) as n group by s aggregate every sec ... hour;"
        "@info(name='a') from R#window.length(2) join A as y on R.s == y.s within 0L, 9L"
        " per 'hours' select sum(y.n) as n insert into O;"
        "@info(name='b') from S select s insert into P;"
    )
    assert engines(found) == {"a": "reference", "b": "columns"}
    assert found.aggregations[0].reason == "shares state with query/a"


def test_what_stays_on_the_reference_says_what_that_takes() -> None:
    """By what the query touches; what runs in columns says nothing."""
    found = explained(
        "@PrimaryKey('s') define table T (s string, i int);"
        "@info(name='a') from R select s, i insert into T;"
        "@info(name='b') from S[math:rand() > 0.5 and T.i > i in T] select s insert into O;"
        "@info(name='c') from S[math:rand() > 0.5] select s insert into P;"
        "@info(name='d') from S select s insert into Q;"
    )
    costs = {query.name: query.cost for query in found.queries}
    assert costs == {"a": None, "b": Cost(10, 20), "c": Cost(5, 30), "d": None}
    assert "; 10 to 20 times the time in columns" in found.text()
    told = {one["query"]: one["cost_times"] for one in found.as_json()["queries"]}
    assert told["b"] == {"low": 10, "high": 20}
    assert told["d"] is None
