"""Output rate limiters (semantics 14), between selector and action."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import Context
from lockstep.rates.by_number.meaning import AllByNumber, FirstByNumber, LastByNumber
from lockstep.rates.by_time.meaning import AllByTime, FirstByTime, LastByTime
from lockstep.rates.snapshot.meaning import build_snapshot_rate
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery

_BY_NUMBER = {
    ast.RateKind.ALL: AllByNumber,
    ast.RateKind.FIRST: FirstByNumber,
    ast.RateKind.LAST: LastByNumber,
}
_BY_TIME = {
    ast.RateKind.ALL: AllByTime,
    ast.RateKind.FIRST: FirstByTime,
    ast.RateKind.LAST: LastByTime,
}


def build_rate(query: CheckedQuery, context: Context) -> Any:
    """The limiter of a query that has one, registered for snapshots."""
    rate = query.query.rate
    assert rate is not None
    limiter: Any
    if rate.kind is ast.RateKind.SNAPSHOT:
        assert rate.every_ms is not None
        limiter = build_snapshot_rate(query, rate.every_ms, context)
    elif rate.every_events is not None:
        limiter = _BY_NUMBER[rate.kind](rate.every_events, context)
    else:
        assert rate.every_ms is not None
        limiter = _BY_TIME[rate.kind](rate.every_ms, context)
    context.register("rate", limiter)
    return limiter


__all__ = ["build_rate"]
