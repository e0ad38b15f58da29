"""Short ways to say that a text is refused, where and why."""

from __future__ import annotations

from lockstep.siddhiql import SiddhiQLError, check, parse

STREAMS = """define stream S (s string, i int, l long, f float, d double, b bool, o object);
define stream R (s string, i int);
define table T (s string, i int);
define window W (s string, i int) length(5);
define trigger Tick at every 1 sec;
define aggregation A from S select s, sum(i) as total aggregate every sec ... hours;
"""
"""Definitions that most rules can be shown on; they take seven lines with what follows."""

FIRST_LINE = STREAMS.count("\n") + 1


def error_of_app(text: str) -> SiddhiQLError:
    """The error of an app that must be refused."""
    try:
        check(text)
    except SiddhiQLError as error:
        return error
    raise AssertionError(f"accepted: {text}")


def error_of_query(query: str) -> SiddhiQLError:
    """The error of a query behind STREAMS, which must be in the query itself."""
    error = error_of_app(STREAMS + query)
    assert error.line >= FIRST_LINE, error
    return error


def error_of_text(text: str, kind: str | None = None) -> SiddhiQLError:
    """The error of a text that must not parse."""
    try:
        parse(text, kind)
    except SiddhiQLError as error:
        return error
    raise AssertionError(f"parsed: {text}")


def says(error: SiddhiQLError, *parts: str) -> None:
    """Each part stands in the error's text or hint; there is always a hint."""
    assert error.hint, error.message
    text = f"{error.message} {error.hint}"
    missing = [part for part in parts if part not in text]
    assert not missing, f"{text!r} lacks {missing}"
