"""`within … per …` of aggregations (semantics 17.3): types, and what constants say."""

from __future__ import annotations

import re
from dataclasses import replace

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.expressions import normalise
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.spans import SpanError, pattern_span, span, time_ms
from lockstep.siddhiql.typing import infer, positioned

_LONG, _STRING = AttributeType.LONG, AttributeType.STRING

PER_NAMES: dict[str, ast.Granularity] = {
    spelling: granularity
    for granularity, spellings in {
        ast.Granularity.SECONDS: ("sec", "second", "seconds"),
        ast.Granularity.MINUTES: ("min", "minute", "minutes"),
        ast.Granularity.HOURS: ("hour", "hours"),
        ast.Granularity.DAYS: ("day", "days"),
        ast.Granularity.MONTHS: ("month", "months"),
        ast.Granularity.YEARS: ("year", "years"),
    }.items()
    for spelling in spellings
}
"""Granularity by what may stand behind `per`."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def check_range(range_: ast.Range, scope: Scope) -> ast.Range:
    """The range made ready; `per` a granularity, `within` two times or one pattern."""
    start = normalise(range_.start, scope)
    end = None if range_.end is None else normalise(range_.end, scope)
    if range_.per is None:
        raise positioned(range_.at, "'within' needs 'per' here", "add: per 'hours'")
    per = normalise(range_.per, scope)
    for bound in (start, end):
        if bound is not None:
            _check_bound(bound, scope, is_pattern=end is None)
    _check_order(start, end)
    _check_per(per, scope)
    return replace(range_, start=start, end=end, per=per)


def check_span(range_: ast.Range, scope: Scope) -> ast.Range:
    """A range without `per` made ready: two times or one pattern, which do not depend on what is
    found."""
    start = _day_as_time(normalise(range_.start, scope), is_pattern=range_.end is None)
    end = None
    if range_.end is not None:
        end = _day_as_time(normalise(range_.end, scope), is_pattern=False)
    for bound in (start, end):
        if bound is None:
            continue
        if not isinstance(bound, ast.Constant):
            raise positioned(bound.at, "'within' of a stream takes constants", _HINT)
        _check_bound(bound, scope, is_pattern=end is None)
    _check_order(start, end)
    return replace(range_, start=start, end=end)


def _day_as_time(bound: ast.Expression, *, is_pattern: bool) -> ast.Expression:
    """`'2020-06-01'` is where that day begins, or as a pattern all of it."""
    if not isinstance(bound, ast.Constant) or not isinstance(bound.value, str):
        return bound
    text = bound.value.strip()
    if not _DAY.fullmatch(text):
        return bound
    return replace(bound, value=f"{text} **:**:**" if is_pattern else f"{text} 00:00:00")


def _check_bound(bound: ast.Expression, scope: Scope, *, is_pattern: bool) -> None:
    type_ = infer(bound, scope, aggregators_allowed=False)
    wanted = (_STRING,) if is_pattern else (_LONG, _STRING)
    if type_ not in wanted:
        what = "a pattern as a string" if is_pattern else "a long or a string"
        raise positioned(bound.at, f"'within' takes {what}, not {type_.value}", _HINT)
    if isinstance(bound, ast.Constant) and type_ is _STRING:
        read = pattern_span if is_pattern else time_ms
        try:
            read(str(bound.value))
        except SpanError as error:
            raise positioned(bound.at, str(error), error.hint or _HINT) from error


def _check_order(start: ast.Expression, end: ast.Expression | None) -> None:
    """A span of two constants does not end before it begins."""
    if isinstance(start, ast.Constant) and isinstance(end, ast.Constant):
        try:
            span(start.value, end.value, is_pattern=False)
        except SpanError as error:
            raise positioned(end.at, str(error), error.hint or _HINT) from error


_HINT = "write within '2020-06-** **:**:**' or within '2020-06-01 00:00:00', '2020-07-01 00:00:00'"


def _check_per(per: ast.Expression, scope: Scope) -> None:
    type_ = infer(per, scope, aggregators_allowed=False)
    hint = f"write one of {', '.join(repr(name) for name in PER_NAMES if name.endswith('s'))}"
    if type_ is not _STRING:
        raise positioned(per.at, f"'per' takes a string, not {type_.value}", hint)
    if isinstance(per, ast.Constant) and str(per.value).strip().lower() not in PER_NAMES:
        raise positioned(per.at, f"{per.value!r} is no granularity", hint)
