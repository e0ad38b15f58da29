"""Lexical rules (grammar 1-3): comments, letter case, names, numbers, strings, times."""

from __future__ import annotations

import pytest

from lockstep.events import AttributeType
from lockstep.siddhiql import ast, parse
from tests.unit.siddhiql.refusals import error_of_text, says

_T = AttributeType


@pytest.mark.parametrize(
    ("text", "value", "type_"),
    [
        ("12", 12, _T.INT),
        ("-5", -5, _T.INT),
        ("+5", 5, _T.INT),
        ("-2147483648", -(2**31), _T.INT),
        ("12L", 12, _T.LONG),
        ("12l", 12, _T.LONG),
        ("-9223372036854775808L", -(2**63), _T.LONG),
        ("1.5F", 1.5, _T.FLOAT),
        ("2f", 2.0, _T.FLOAT),
        (".5f", 0.5, _T.FLOAT),
        ("1e3f", 1000.0, _T.FLOAT),
        ("5.f", 5.0, _T.FLOAT),
        ("0.1f", 0.10000000149011612, _T.FLOAT),
        ("1.5", 1.5, _T.DOUBLE),
        (".5", 0.5, _T.DOUBLE),
        ("1e3", 1000.0, _T.DOUBLE),
        ("1.5E-3", 0.0015, _T.DOUBLE),
        ("2D", 2.0, _T.DOUBLE),
        ("2.0d", 2.0, _T.DOUBLE),
        ("-1.5", -1.5, _T.DOUBLE),
        ("TRUE", True, _T.BOOL),
        ("False", False, _T.BOOL),
        ("'it is'", "it is", _T.STRING),
        ("''", "", _T.STRING),
        ('"it\'s"', "it's", _T.STRING),
        (r"'\n'", "\\n", _T.STRING),
        ('"""a "b" \'c\'\nd"""', "a \"b\" 'c'\nd", _T.STRING),
        ("'--no comment'", "--no comment", _T.STRING),
    ],
)
def test_literals(text: str, value: object, type_: AttributeType) -> None:
    """Each form has its type; the sign belongs to the number."""
    constant = parse(text, "expression")
    assert constant == ast.Constant(value, type_)  # type: ignore[arg-type]
    assert type(constant.value) is type(value)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1 year", 31_536_000_000),
        ("1 month", 2_592_000_000),
        ("2 weeks", 1_209_600_000),
        ("1 hour 5 millisec", 3_600_005),
        ("1 min 30 sec", 90_000),
        ("1 MINUTE 1 Second 1 millisecond", 61_001),
        ("5sec", 5_000),
        ("10 days 1 hours", 867_600_000),
    ],
)
def test_times(text: str, milliseconds: int) -> None:
    """Units from the largest to the smallest make one long constant."""
    assert parse(text, "expression") == ast.Constant(milliseconds, _T.LONG, is_time=True)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("5.", 2, "found '.'"),
        ("5 sec 1 min", 9, "not larger"),
        ("5 sec 5 sec", 9, "not larger"),
        ("5 ms", 3, "found 'ms'"),
        ("5 secs", 3, "found 'secs'"),
        ("2147483648", 1, "does not fit into an int"),
        ("9223372036854775808L", 1, "does not fit into a long"),
        ("1e999", 1, "does not fit into a double"),
        ("1e39f", 1, "does not fit into a float"),
        ("2147483647 years", 1, "too long"),
        ("-v", 2, "found 'v'"),
        ("0x1F", 2, "found 'x1F'"),
        ("1_000", 2, "found '_000'"),
        ("'a\tb'", 1, "not closed"),
        ("'say \"hi\"'", 1, "double quote"),
        ('"a', 1, "not closed"),
        ("`a", 1, "not closed"),
        ("a & b", 3, "unexpected character '&'"),
        ("a # b", 3, "found '#'"),
        ("naïve", 3, "unexpected character"),
    ],
)
def test_what_is_no_literal(text: str, column: int, part: str) -> None:
    """Each mistake is found at its place."""
    error = error_of_text(text, "expression")
    says(error, part)
    assert (error.line, error.column) == (1, column)


def test_two_minus_signs_begin_a_comment() -> None:
    """`a--1` is `a`: the rest of the line is a comment."""
    assert parse("a--1\n+ 2", "expression") == parse("a + 2", "expression")


@pytest.mark.parametrize(
    "text", ["a /* x */ + 1", "a + 1 /* to the end", "a -- x\n + 1", "a\v+\t1"]
)
def test_comments_and_blanks_separate(text: str) -> None:
    """Comments and white space mean nothing; an unclosed comment runs to the end."""
    assert parse(text, "expression") == parse("a+1", "expression")


def test_slashes_are_no_comment() -> None:
    """`//` is understood inside script bodies only."""
    says(error_of_text("a // b", "expression"), "expected")


@pytest.mark.parametrize("word", ["FROM S SELECT a INSERT INTO O", "From S Select a Insert Into O"])
def test_keywords_in_any_case(word: str) -> None:
    """Keywords have no letter case; names have."""
    assert parse(word, "query") == parse("from S select a insert into O", "query")
    assert parse("from s select a insert into O", "query") != parse(word, "query")


def test_keywords_are_names_where_they_can_be() -> None:
    """Most keywords need no back-quotes as names of streams, attributes, functions and aliases."""
    text = "define stream window (time long, group string, all bool, select int, not bool)"
    names = [a.name for a in parse(text, "stream definition").attributes]
    assert names == ["time", "group", "all", "select", "not"]
    query = parse(
        "from window[min(select) > last.group] select select, every, order as limit insert into by",
        "query",
    )
    assert query.selector.attributes[2].name == "limit"
    assert query.action.target == "by"


def test_back_quotes_are_removed() -> None:
    """A quoted name is the same name, and may hold anything."""
    assert parse("`a`.`b`", "expression") == parse("a.b", "expression")
    assert parse("`not`", "expression") == ast.Variable("not")
    assert parse("`a b-ü`", "expression") == ast.Variable("a b-ü")


@pytest.mark.parametrize(
    "text",
    [
        "define trigger select at 'start'",
        "define function min[python] return int { }",
        "define aggregation last from S select a aggregate every sec",
    ],
)
def test_some_names_may_be_no_keyword(text: str) -> None:
    """Names of triggers, functions and aggregations are quoted when they are keywords."""
    error = error_of_text(text, text.split()[1] + " definition")
    says(error, "is a keyword", "back-quotes")


def test_scripts_keep_their_braces() -> None:
    """Braces nest; those in double quotes and behind // do not count; nothing is cut."""
    body = ' if (a) { return "}"; } // }\n return 1}'.removesuffix("}")
    text = f"define function f[python] return int {{{body}}}"
    assert parse(text, "function definition").body == body
