"""Output rates on columns, behind the selector (semantics 14)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lockstep.columns.rule import NotLowerable, check_period
from lockstep.rates.by_number.columns import AllByNumber, FirstByNumber, LastByNumber
from lockstep.rates.by_time.columns import AllByTime, FirstByTime, LastByTime
from lockstep.rates.contract import Limiter, Rated
from lockstep.rates.instances import AllOfInstances, LastOfInstances
from lockstep.rates.snapshot.columns import GroupsInWindow, LastRows, NewestRow, WindowContent
from lockstep.rates.snapshot.kind import Shows, kind_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery, CheckedStream

_BY_NUMBER: dict[ast.RateKind, Callable[[Rated, int], Limiter]] = {
    ast.RateKind.ALL: AllByNumber,
    ast.RateKind.FIRST: FirstByNumber,
    ast.RateKind.LAST: LastByNumber,
}
_BY_TIME: dict[ast.RateKind, Callable[[Rated, int], Limiter]] = {
    ast.RateKind.ALL: AllByTime,
    ast.RateKind.FIRST: FirstByTime,
    ast.RateKind.LAST: LastByTime,
}


_IN_PARTITIONS: dict[ast.RateKind, Callable[[Rated, int], Limiter]] = {
    ast.RateKind.ALL: AllOfInstances,
    ast.RateKind.FIRST: partial(FirstByNumber, by_realm=True),
    ast.RateKind.LAST: LastOfInstances,
}


def limiter_of(
    query: CheckedQuery, place: int, *, is_siddhi_5_1: bool, by_realm: bool = False
) -> Limiter | None:
    """The limiter of a query on one stream, if it has a rate; NotLowerable without exact form.
    `by_realm`: the query is in a partition."""
    rate = query.query.rate
    if rate is None:
        return None
    check_period(rate.every_ms)
    rated = Rated(query.name, place, query.output.types)
    by_time = rate.every_events is None
    if by_realm and by_time and rate.kind is not ast.RateKind.FIRST:
        raise NotLowerable("an output rate by time in a partition")
    if rate.kind is ast.RateKind.SNAPSHOT:
        assert rate.every_ms is not None
        return _snapshot(query, rated, rate.every_ms)
    if rate.every_events is not None:
        if rate.kind is ast.RateKind.FIRST and rate.every_events == 1 and is_siddhi_5_1:
            raise NotLowerable("first every 1 events, as Siddhi 5.1 has it")
        made = _IN_PARTITIONS if by_realm else _BY_NUMBER
        return made[rate.kind](rated, rate.every_events)
    assert rate.every_ms is not None
    if by_realm:
        return FirstByTime(rated, rate.every_ms, by_realm=True)
    return _BY_TIME[rate.kind](rated, rate.every_ms)


def _snapshot(query: CheckedQuery, rated: Rated, every_ms: int) -> Limiter:
    kind = kind_of(query)
    if kind.shows is Shows.LAST:
        return LastRows(rated, every_ms)
    if kind.shows is Shows.NEWEST:
        return NewestRow(rated, every_ms)
    stream = query.input
    assert isinstance(stream, CheckedStream)
    schema = stream.handlers[-1].schema if stream.handlers else stream.source_schema
    made = GroupsInWindow if kind.shows is Shows.GROUPS else WindowContent
    return made(rated, every_ms, kind.aggregated, schema.types, kind.inside)


__all__ = ["Limiter", "limiter_of"]
