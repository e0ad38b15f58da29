"""Inputs, handlers, selectors and actions (grammar 7-10, 15): what is accepted, what is refused."""

from __future__ import annotations

import pytest

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql import SiddhiQLError, ast, check, check_on_demand
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.scope import OUTPUT_SLOT, Shape
from tests.unit.siddhiql.refusals import STREAMS, error_of_app, error_of_query, says


def _query(text: str) -> CheckedQuery:
    query = check(STREAMS + text).execution[0]
    assert isinstance(query, CheckedQuery)
    return query


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from X insert into O;", ("'X' is not defined",)),
        ("from Tik select triggered_time insert into O;", ("did you mean 'Tick'",)),
        ("from T insert into O;", ("cannot read the table 'T' alone",)),
        ("from A insert into O;", ("cannot read the aggregation 'A' alone",)),
        ("from #S insert into O;", ("outside of a partition",)),
        ("from !S insert into O;", ("has no fault stream", "@OnError")),
        ("from W#window.length(1) insert into O;", ("takes no further window",)),
        ("from S#window.lenght(1) insert into O;", ("no extension", "did you mean 'length'")),
        ("from S#length(1) insert into O;", ("is a window", "#window.length")),
        ("from S#nope(1) insert into O;", ("no extension exists for the stream function",)),
        ("from S#window.length() insert into O;", ("at least 1 argument",)),
        ("from S#window.length(i) insert into O;", ("must be a constant",)),
        ("from S#window.length('5') insert into O;", ("must be int", "is string")),
        ("from S#window.length(5, 6) insert into O;", ("at most 1 argument",)),
        ("from S#window.length(-1) insert into O;", ("negative",)),
        ("from S#window.time(1.5) insert into O;", ("must be int|long",)),
        ("from S#window.externalTime(i, 1 sec) insert into O;", ("must be long",)),
        ("from S#window.externalTime(l + 1L, 1 sec) insert into O;", ("must be an attribute",)),
        ("from S#window.session(1 sec, s, 2 sec) insert into O;", ("longer than the gap",)),
        ("from S#window.session(1 sec, s, 5) insert into O;", ("session", "long")),
        ("from S#window.sort(3) insert into O;", ("sort",)),
        ("from S#window.sort(3, i, 'up') insert into O;", ("'up' is no order",)),
        ("from S#window.timeBatch(1 sec, 'x') insert into O;", ("timeBatch",)),
        ("from S#window.cron('x') insert into O;", ("cron",)),
        ("from S#window.expression('sum(') insert into O;", ("in the window's condition",)),
        ("from S#window.expression('x > 1') insert into O;", ("'x' is not an attribute",)),
        ("from S#window.expression('count()') insert into O;", ("must be a condition",)),
        ("from S#pol2Cart(i, i) insert into O;", ("pol2Cart",)),
        ("from S#log('LOUD', 'x') insert into O;", ("log",)),
        ("from (from S select i return) insert into O;", ("inside 'from'", "on its own")),
        ("from S return;", ("'return' cannot end a query",)),
    ],
)
def test_refused_inputs(query: str, parts: tuple[str, ...]) -> None:
    """Sources, windows and stream functions."""
    says(error_of_query(query), *parts)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from S select i, l as i insert into O;", ("two output attributes", "'i'")),
        ("from S select i having l > 1L insert into O;", ("'l' is not", "selects")),
        ("from S select i order by l insert into O;", ("'l' is not",)),
        ("from S select sum(i) as t group by x insert into O;", ("'x' is not",)),
        ("from S select i limit -1 insert into O;", ("cannot be negative",)),
        ("from S select i limit 'x' insert into O;", ("int or a long",)),
        ("from S select i offset 1.5 insert into O;", ("int or a long",)),
        ("from S as a join R as b select * insert into O;", ("two output attributes",)),
        ("from S select i output snapshot every 1 sec insert current events into O;", ("all",)),
        ("from S select i output snapshot every 1 sec insert expired events into O;", ("all",)),
        ("from S select i output every 0 events insert into O;", ("more than 0",)),
        ("from S select i output first every 0 sec insert into O;", ("more than 0",)),
    ],
)
def test_refused_selectors(query: str, parts: tuple[str, ...]) -> None:
    """Output names, clauses, limits and rates."""
    says(error_of_query(query), *parts)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from S select i as s, s as i insert into R;", ("does not fit 'R'", "convert")),
        ("from S select s, l as i insert into R;", ("convert",)),
        ("from S select i, s insert into R;", ("in this order",)),
        ("from S select s, i as j insert into R;", ("does not fit",)),
        ("from S select s insert into T;", ("does not fit 'T'",)),
        ("from S select s, i, l insert into W;", ("does not fit 'W'",)),
        ("from S select s, i insert into A;", ("cannot be written to",)),
        ("from S select s insert into #x;", ("outside of a partition",)),
        ("from S select s delete T;", ("needs a condition",)),
        ("from S select s delete R on R.s == s;", ("is a stream, not a table",)),
        ("from S select s delete X on X.s == s;", ("there is no table 'X'",)),
        ("from S select s, l update T on T.s == s;", ("no attribute 'l'",)),
        ("from S select s, l as i update T on T.s == s;", ("T.i is int", "convert(i, 'int')")),
        ("from S select s, i update T set T.x = i on T.s == s;", ("no attribute 'x'",)),
        ("from S select s, i update T set S.i = i on T.s == s;", ("attributes of 'T' only",)),
        ("from S select s, i update T set T.i = s on T.s == s;", ("cannot be set to string",)),
        ("from S select s, i update T set T.i = l on T.s == s;", ("'l' is not",)),
        ("from S select s, i update T on T.s == i;", ("cannot compare string with int",)),
        ("from S select s update or insert into T on T.s == s;", ("lacks i",)),
        ("from S select s insert into O; from S select i insert into O;", ("does not fit 'O'",)),
    ],
)
def test_refused_actions(query: str, parts: tuple[str, ...]) -> None:
    """Targets, their schemas, conditions and assignments (grammar 15)."""
    says(error_of_query(query), *parts)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from T join T as u on T.s == u.s select T.s insert into O;", ("nothing would trigger",)),
        ("from T join A within 1L,2L per 'sec' select T.s insert into O;", ("nothing would",)),
        ("from S join S on S.i == S.i select S.i insert into O;", ("both sides", "as a join")),
        ("from S join T unidirectional on S.s == T.s select S.s insert into O;", ("never trig",)),
        ("from S join T#log() select S.s insert into O;", ("takes no stream functions",)),
        ("from S join T#window.length(1) select S.s insert into O;", ("takes no window",)),
        ("from S join W#window.length(1) select S.s insert into O;", ("no further window",)),
        ("from S join R on s == 'x' select S.s insert into O;", ("ambiguous", "S.s")),
        ("from S as a join R on S.i == R.i select a.s insert into O;", ("reference 'S'",)),
        ("from S join A on S.s == A.s select S.s insert into O;", ("needs 'within' and 'per'",)),
        ("from S join R within 1L per 'sec' select S.s insert into O;", ("with an aggregation",)),
        (
            "from S join A within 5L per 'sec' select S.s insert into O;",
            ("a pattern as a string, not long",),
        ),
        (
            "from S join A within '2020-**-05 **:**:**' per 'sec' select S.s insert into O;",
            ("is no time",),
        ),
        (
            "from S join A within 1L, 2L per 'weeks' select S.s insert into O;",
            ("is no granularity", "'hours'"),
        ),
        ("from S join A within 1L, 2L per 5 select S.s insert into O;", ("'per' takes a string",)),
        (
            "from S#extrema:topKLengthBatch(s, 2, 1) join R#window.length(1)"
            " select S.s insert into O;",
            ("extrema:topKLengthBatch are not found", "window.length(1)"),
        ),
        (
            "from R join S#extrema:bottomKTimeBatch(s, 1, 1) select R.s insert into O;",
            ("extrema:bottomKTimeBatch are not found", "'unidirectional'"),
        ),
        (
            "from R unidirectional join S#extrema:topKTimeBatch(s, 1, 1) select R.s insert into O;",
            ("extrema:topKTimeBatch are not found",),
        ),
    ],
)
def test_refused_joins(query: str, parts: tuple[str, ...]) -> None:
    """Sides that cannot trigger, names, aggregations (grammar 8.2)."""
    says(error_of_query(query), *parts)


@pytest.mark.parametrize(
    ("within", "wrong", "part"),
    [
        ("'2020-02-30 00:00:00', '2020-03-01 00:00:00'", "'2020-02-30", "is no time: day is out"),
        ("'2020-01-01 00:00:00', '2020-13-01 00:00:00'", "'2020-13-01", "is no time: month must"),
        ("'2020-01-01 00:00:00', '2020-01-01 24:00:00'", "'2020-01-01 24", "is no time: hour must"),
        ("'2020-01-01 00:00:00 +25:00', l", "'2020-01-01", "is no time: offset must"),
        ("l, '2021-02-29 00:00:00'", "'2021-02-29", "is no time: day is out"),
        ("'2021-02-29 **:**:**'", "'2021-02-29", "is no time: day is out"),
        ("'9999-**-** **:**:**'", "'9999-**", "after the last year"),
        ("'2020-03-01 00:00:00', '2020-02-01 00:00:00'", "'2020-02-01", "which is not later"),
        ("5L, 5L", "5L per", "which is not later"),
        ("1600000000000L, '2020-01-01 00:00:00'", "'2020-01-01", "which is not later"),
    ],
)
def test_a_constant_span_that_no_calendar_has(within: str, wrong: str, part: str) -> None:
    """It is refused where it stands, in a join and in a question."""
    query = f"from S join A within {within} per 'sec' select S.s insert into O;"
    error = error_of_query(query)
    says(error, part)
    assert error.column == query.index(wrong) + 1
    if "l" not in within:
        with pytest.raises(SiddhiQLError, match=part):
            check_on_demand(f"from A within {within} per 'sec' select total", check(STREAMS))


def test_a_span_of_attributes_is_judged_when_they_come() -> None:
    """Also where one of its bounds is a constant that a calendar has."""
    for within in ("l, 5L", "'2020-02-29 00:00:00', l", "l, i * 5L", "S.s, S.s"):
        check(f"{STREAMS}from S join A within {within} per 'sec' select S.s insert into O;")


@pytest.mark.parametrize(
    "sides",
    [
        "S#extrema:topKLengthBatch(s, 2, 1) unidirectional join R#window.length(1)",
        "R join S#extrema:topKLengthBatch(s, 2, 1) unidirectional",
        "S#extrema:bottomKTimeBatch(s, 1, 1) join T",
        "S#extrema:topKLengthBatch(s, 2, 1)#window.length(1) join R",
        "S#extrema:topK(s, 1) join R#window.length(1)",
    ],
)
def test_lists_that_nothing_looks_for_may_be_joined(sides: str) -> None:
    """A side that alone triggers, one of a table, one with a window, and one Siddhi finds not."""
    assert isinstance(_query(f"from {sides} select S.s as s insert into O;").input, CheckedJoin)


def test_outputs_come_into_being() -> None:
    """`insert into` an unknown name makes a stream with the output's attributes."""
    app = check(STREAMS + "from S select s as name, sum(i) as t insert into O;")
    assert app.schemas["O"].attributes == (
        Attribute("name", AttributeType.STRING),
        Attribute("t", AttributeType.LONG),
    )
    assert app.inferred == {"O"}
    query = app.execution[0]
    assert isinstance(query, CheckedQuery)
    assert query.name == "query_1"
    assert query.target_kind is SourceKind.STREAM
    assert query.uses_aggregators
    assert query.action_scope is None


def test_later_queries_may_feed_earlier_ones() -> None:
    """The order of queries is theirs; what a stream holds may be known from a later one."""
    app = check(
        "define stream S (a int);"
        "from Middle select a insert into Out; from S select a insert into Middle;"
    )
    assert [query.name for query in app.execution] == ["query_1", "query_2"]
    assert app.inferred == {"Middle", "Out"}
    error = error_of_app("define stream S (a int); from A insert into B; from B insert into A;")
    says(error, "'A' is not defined")


def test_query_names() -> None:
    """Given names once each; the others by position."""
    app = check(
        "define stream S (a int); from S insert into A; @info(name='x') from S insert into B;"
        "@info(name='query_3') from S insert into C; from S insert into D;"
    )
    assert [query.name for query in app.execution] == ["query_1", "x", "query_3", "query_4"]
    twice = "@info(name='x') from S insert into A; @info(name='x') from S insert into B;"
    says(error_of_app(f"define stream S (a int); {twice}"), "two queries are called 'x'")


def test_handlers_see_what_stands_before_them() -> None:
    """A stream function's attributes are known behind it."""
    query = _query("from S[b]#pol2Cart(d, d)[x > 1.0]#window.length(2) select x, y insert into O;")
    assert isinstance(query.input, CheckedStream)
    names = [handler.schema.names[-2:] for handler in query.input.handlers]
    assert names == [("b", "o"), ("x", "y"), ("x", "y"), ("x", "y")]
    early = "from S[x > 1.0]#pol2Cart(d, d) select x insert into O;"
    says(error_of_query(early), "'x' is not an attribute of S")


def test_select_everything() -> None:
    """`*` becomes the attributes in order; in joins with their side."""
    query = _query("from R insert into O;")
    assert [item.expression for item in query.selection] == [ast.Variable("s"), ast.Variable("i")]
    joined = _query("from R join Tick select * insert into O;")
    assert [item.expression for item in joined.selection] == [
        ast.Variable("s", "R"),
        ast.Variable("i", "R"),
        ast.Variable("triggered_time", "Tick"),
    ]


def test_scopes_of_having() -> None:
    """Output names first; input attributes behind them in joins only."""
    single = _query("from S select i as x having x > 1 order by x insert into O;")
    assert single.having_scope.resolve(ast.Variable("x")).slot == OUTPUT_SLOT
    joined = _query("from S join Tick select i as x having l > 1L and x > 1 insert into O;")
    assert joined.having_scope.resolve(ast.Variable("l")).slot == 0
    assert joined.having_scope.resolve(ast.Variable("x")).slot == OUTPUT_SLOT


def test_scopes_of_joins_and_actions() -> None:
    """Slot 0 is the left side, or an action's output row; slot 1 the right side, or the row."""
    joined = _query("from S as a join R on a.i == R.i select a.s as s, R.i as i insert into O;")
    assert isinstance(joined.input, CheckedJoin)
    assert joined.scope.shape is Shape.JOINED
    assert joined.scope.resolve(ast.Variable("i", "R")).slot == 1
    update = _query("from S select s, i update T set i = i + T.i on T.s == s;")
    scope = update.action_scope
    assert scope is not None
    assert scope.resolve(ast.Variable("s")).slot == 0
    assert scope.resolve(ast.Variable("s", "T")).slot == 1
    assert update.target_kind is SourceKind.TABLE


def test_absence_of_a_side() -> None:
    """`T is null` and `eventTimestamp(a)` mean whole events."""
    query = _query(
        "from S as a left outer join T on a.s == T.s "
        "select T is null as none, a.s is null as empty, eventTimestamp(a) as at insert into O;"
    )
    none, empty, at = (item.expression for item in query.selection)
    assert none == ast.IsNull(ast.EventReference("T"))
    assert empty == ast.IsNull(ast.Variable("s", "a"))
    assert at == ast.FunctionCall("eventTimestamp", (ast.EventReference("a"),))


def test_numbers_set_keep_the_column_type() -> None:
    """`set` may give any number; the value is converted to the column's type."""
    query = _query("from S select s, i, l update T set T.i = l on T.s == s;")
    action = query.query.action
    assert isinstance(action, ast.UpdateTable)
    assert action.set is not None
    value = action.set[0].value
    assert isinstance(value, ast.FunctionCall)
    assert value.name == "convert"


def test_fault_streams() -> None:
    """`!S` has the attributes of S and the error; only with @OnError(action='STREAM')."""
    app = check(
        "@OnError(action='stream') define stream S (a int);"
        "from !S select a, convert(_error, 'string') as why insert into O;"
    )
    assert app.schemas["!S"].names == ("a", "_error")
    assert "!S" in app.streams


def test_windows_and_triggers_as_inputs() -> None:
    """Named windows and triggers are read like streams."""
    assert _query("from W[i > 1] select s insert into O;").input.kind is SourceKind.WINDOW  # type: ignore[union-attr]
    trigger = _query("from Tick select triggered_time as t insert into O;")
    assert trigger.output.types == (AttributeType.LONG,)
