"""@purge of an aggregation: how long each granularity is kept (semantics 17.5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import Retention
from lockstep.siddhiql.checking.annotations import single, switch
from lockstep.siddhiql.checking.ranges import PER_NAMES
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.typing import positioned

_G = ast.Granularity
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000
INTERVAL_MS: Final = 15 * _MINUTE_MS
_DEFAULT_MS: Final = {
    _G.SECONDS: 120_000,
    _G.MINUTES: 24 * _HOUR_MS,
    _G.HOURS: 30 * _DAY_MS,
    _G.DAYS: 365 * _DAY_MS,
}
_LEAST_MS: Final = {
    _G.SECONDS: 120_000,
    _G.MINUTES: 120 * _MINUTE_MS,
    _G.HOURS: 25 * _HOUR_MS,
    _G.DAYS: 32 * _DAY_MS,
    _G.MONTHS: 13 * 30 * _DAY_MS,
    _G.YEARS: 0,
}


def retention_of(
    annotations: Iterable[ast.Annotation], kept: Sequence[ast.Granularity]
) -> Retention:
    """What the annotations say, or the defaults; a positioned error for what makes no sense."""
    kept_ms = {g: _DEFAULT_MS[g] for g in kept if g in _DEFAULT_MS}
    purge = single(annotations, "purge")
    if purge is None:
        return Retention(INTERVAL_MS, kept_ms)
    if switch(purge, "enable") is False:
        return Retention(None, {})
    for periods in purge.nested("retentionPeriod"):
        for element in periods.elements:
            granularity = _granularity(periods, element, kept)
            period_ms = _period_ms(periods, element, granularity)
            if period_ms is None:
                kept_ms.pop(granularity, None)
            else:
                kept_ms[granularity] = period_ms
    return Retention(annotation_ms(purge, "interval", INTERVAL_MS), kept_ms)


def _granularity(
    periods: ast.Annotation, element: ast.Element, kept: Sequence[ast.Granularity]
) -> ast.Granularity:
    found = PER_NAMES.get((element.key or "").lower())
    if found is None or found not in kept:
        raise positioned(
            periods.at,
            f"the aggregation does not keep {element.key!r}",
            f"it keeps {', '.join(g.value for g in kept)}",
        )
    return found


def _period_ms(
    periods: ast.Annotation, element: ast.Element, granularity: ast.Granularity
) -> int | None:
    """None: for ever."""
    if element.value.strip().lower() == "all":
        return None
    period_ms = annotation_ms(periods, element.key or "")
    assert period_ms is not None
    if period_ms < _LEAST_MS[granularity]:
        raise positioned(
            periods.at,
            f"{element.value!r} is too short to keep {granularity.value}",
            f"keep at least {_LEAST_MS[granularity] // _MINUTE_MS} minutes",
        )
    return period_ms
