"""Types, comparisons, calls and references (grammar 13, 14), each in a filter or a select."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import check
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.siddhiql.typing import promote
from tests.unit.siddhiql.refusals import STREAMS, error_of_query, says

_T = AttributeType


def _type_of(expression: str) -> AttributeType:
    app = check(f"{STREAMS}from S select {expression} as x insert into O;")
    query = app.execution[0]
    assert isinstance(query, CheckedQuery)
    return query.output.types[0]


@pytest.mark.parametrize("left", ["int", "long", "float", "double"])
@pytest.mark.parametrize("right", ["int", "long", "float", "double"])
def test_promotion(left: str, right: str) -> None:
    """Double before float before long before int (grammar 13.2)."""
    order = ["int", "long", "float", "double"]
    wider = _T(max(left, right, key=order.index))
    assert promote(_T(left), _T(right)) is wider
    assert _type_of(f"{left[0]} + {right[0]}") is wider


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("i", _T.INT),
        ("1 sec", _T.LONG),
        ("i * 1 sec", _T.LONG),
        ("i / 2", _T.INT),
        ("i > l and b or not b", _T.BOOL),
        ("s == 'x'", _T.BOOL),
        ("o is null", _T.BOOL),
        ("i == d", _T.BOOL),
        ("b != true", _T.BOOL),
        ("(T.s == s) in T", _T.BOOL),
        ("T.i > i in T", _T.BOOL),
        ("sum(i)", _T.LONG),
        ("sum(f)", _T.DOUBLE),
        ("avg(i)", _T.DOUBLE),
        ("count()", _T.LONG),
        ("max(f)", _T.FLOAT),
        ("sum(i) / count()", _T.LONG),
        ("ifThenElse(b, f, 1.0f)", _T.FLOAT),
        ("convert(i, 'string')", _T.STRING),
        ("coalesce(s, 'none')", _T.STRING),
        ("eventTimestamp()", _T.LONG),
        ("math:abs(i)", _T.DOUBLE),
        ("str:length(s)", _T.INT),
        ("S.d", _T.DOUBLE),
    ],
)
def test_types(expression: str, type_: AttributeType) -> None:
    """The type of a selected expression is that of the output attribute."""
    assert _type_of(expression) is type_


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("s + 'x'", ("'+' takes numbers, not string", "str:concat")),
        ("b * 2", ("'*' takes numbers, not bool",)),
        ("o - 1", ("not object", "cast")),
        ("s == 1", ("cannot compare string with int", "in quotes")),
        ("b == 1", ("cannot compare bool with int",)),
        ("o == o", ("cannot compare object with object", "cast")),
        ("s < 'x'", ("cannot compare string with string", "str:strcmp")),
        ("b > b", ("only numbers have an order",)),
        ("not i == 1", ("a condition is needed here, not int", "binds tighter")),
        ("b and i", ("'and' joins conditions, not int",)),
        ("s or b", ("'or' joins conditions, not string",)),
        ("s in T", ("a condition is needed here, not string", "(T.s == x) in T")),
        ("(T.s == s) in X", ("there is no table 'X'",)),
        ("(T.x == s) in T", ("no attribute 'x'",)),
        ("x", ("'x' is not an attribute of S",)),
        ("price", ("is not an attribute of S", "there is s, i, l")),
        ("S.x", ("'S' has no attribute 'x'",)),
        ("R.i", ("there is no stream or reference 'R'",)),
        ("v == null", ("is not an attribute",)),
        ("i == null", ("no null to compare with", "x is null")),
        ("nope(i)", ("no extension exists", "'nope'")),
        ("str:lenght(s)", ("no extension exists", "did you mean 'str:length'")),
        ("string:concat(s, s)", ("no extension exists", "did you mean 'str:concat'")),
        ("maths:round(i)", ("did you mean 'math:round'",)),
        ("str:abs(i)", ("did you mean 'math:abs'",)),
        ("time:now()", ("there is time:currentDate", "and others")),
        ("ner:words(s)", ("no pack 'ner' is installed", "coordination, geo, json", "Python")),
        ("coordination:isLeader(s)", ("coordination:isLeader", "takes at most no argument")),
        ("nlp:words(s)", ("nlp:words", "no models of languages", "in front")),
        ("sentiment:getRate(s)", ("sentiment:getRate", "licence", "a table of words")),
        ("file:size(s)", ("file:size", "touches no files", "action.after.process")),
        ("sum(sum(i))", ("cannot stand here", "not inside each other")),
        ("sum(s)", ("sum does not take (string)", "sum(value: int|long)")),
        ("count(i, i)", ("count",)),
        ("eventTimestamp(e1)", ("there is no event 'e1'",)),
        ("S", ("'S' is not an attribute",)),
    ],
)
def test_refused_expressions(expression: str, parts: tuple[str, ...]) -> None:
    """What is wrong is said in the language's words, with a way out."""
    says(error_of_query(f"from S select {expression} as y insert into O;"), *parts)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("from S[i] insert into O;", ("a filter must be a condition", "int")),
        ("from S[s] insert into O;", ("string",)),
        ("from S select i having i insert into O;", ("'having' must be a condition",)),
        ("from S as a join R as b on a.i insert into O;", ("'on' must be a condition",)),
        ("from S[i > 1]#window.length(2)[x > 1] insert into O;", ("'x' is not",)),
    ],
)
def test_conditions_are_bool(query: str, parts: tuple[str, ...]) -> None:
    """Filters, having and on pass only conditions."""
    says(error_of_query(query), *parts)


def test_aggregators_in_filters() -> None:
    """A filter may keep a running aggregate (grammar 8.1); `on` may not."""
    check(f"{STREAMS}from S[sum(i) > 10L] select i insert into O;")
    says(
        error_of_query("from S join R on sum(S.i) > 1L select S.i as x insert into O;"),
        "'sum' cannot stand here",
    )


def test_own_functions_come_first() -> None:
    """A `define function` has the type it returns, and wins over a built-in of its name."""
    app = check(
        """define stream S (a int);
        define function maximum[python] return string { return "x" };
        from S select maximum(a) as m insert into O;"""
    )
    assert app.execution[0].output.types == (_T.STRING,)  # type: ignore[union-attr]


def test_stars_are_spelled_out() -> None:
    """`f(*)` takes all attributes of the stream."""
    app = check(
        "define stream S (a string, b int); from S select str:concat(*) as c insert into O;"
    )
    call = app.execution[0].selection[0].expression  # type: ignore[union-attr]
    assert [argument.name for argument in call.arguments] == ["a", "b"]  # type: ignore[union-attr]
    assert not call.star  # type: ignore[union-attr]
