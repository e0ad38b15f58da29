"""Output rates on columns, behind the selector (semantics 14)."""

from __future__ import annotations

from collections.abc import Callable

from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.rates.by_number import AllByNumber, FirstByNumber, LastByNumber
from lockstep.execute.columnar.rates.by_time import AllByTime, FirstByTime, LastByTime
from lockstep.execute.columnar.rates.contract import Limiter, Rated
from lockstep.execute.columnar.rates.snapshot import LastRows
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


def limiter_of(query: CheckedQuery, place: int, *, is_siddhi_5_1: bool) -> Limiter | None:
    """The limiter of a query on one stream, if it has a rate; NotLowerable without exact form."""
    rate = query.query.rate
    if rate is None:
        return None
    rated = Rated(query.name, place, query.output.types)
    if rate.kind is ast.RateKind.SNAPSHOT:
        assert rate.every_ms is not None
        stream = query.input
        assert isinstance(stream, CheckedStream)
        if any(isinstance(checked.handler, ast.WindowHandler) for checked in stream.handlers):
            raise NotLowerable("output snapshot of a window")
        return LastRows(rated, rate.every_ms)
    if rate.every_events is not None:
        if rate.kind is ast.RateKind.FIRST and rate.every_events == 1 and is_siddhi_5_1:
            raise NotLowerable("first every 1 events, as Siddhi 5.1 has it")
        return _BY_NUMBER[rate.kind](rated, rate.every_events)
    assert rate.every_ms is not None
    return _BY_TIME[rate.kind](rated, rate.every_ms)


__all__ = ["Limiter", "limiter_of"]
