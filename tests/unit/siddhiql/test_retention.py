"""@purge of aggregations: defaults, periods, what is too short (semantics 17.5)."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import SiddhiQLError, ast
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.checked import Retention
from lockstep.siddhiql.checking.retention import retention_of

GRANULARITIES = [
    Granularity.SECONDS,
    Granularity.MINUTES,
    Granularity.HOURS,
    Granularity.DAYS,
    Granularity.MONTHS,
    Granularity.YEARS,
]


def purge(periods: tuple[ast.Element, ...] = (), *elements: ast.Element) -> Retention:
    """The retention of @purge(elements, @retentionPeriod(periods)) over seconds to years."""
    nested = (ast.Annotation("retentionPeriod", periods),) if periods else ()
    return retention_of((ast.Annotation("purge", elements, nested),), GRANULARITIES)


def test_default_retention() -> None:
    """Seconds two minutes, minutes a day, hours thirty days, days a year, the rest for ever."""
    retention = retention_of((), GRANULARITIES)
    assert retention.interval_ms == 900_000
    assert [retention.kept_ms.get(g) for g in GRANULARITIES] == [
        120_000,
        86_400_000,
        2_592_000_000,
        31_536_000_000,
        None,
        None,
    ]


def test_purging_can_be_set_and_switched_off() -> None:
    """Interval, periods, `all`, enable."""
    kept = purge(
        (ast.Element("sec", "200 sec"), ast.Element("days", "all")),
        ast.Element("interval", "10 sec"),
    )
    assert kept.interval_ms == 10_000
    assert kept.kept_ms[Granularity.SECONDS] == 200_000
    assert Granularity.DAYS not in kept.kept_ms
    assert purge((), ast.Element("enable", "false")).interval_ms is None


@pytest.mark.parametrize(
    "element",
    [
        ast.Element("sec", "119 sec"),
        ast.Element("min", "1 hour"),
        ast.Element("hours", "1 day"),
        ast.Element("days", "31 days"),
        ast.Element("months", "1 year"),
        ast.Element("weeks", "1 year"),
        ast.Element("sec", "soon"),
    ],
)
def test_too_short_or_unknown_periods_are_refused(element: ast.Element) -> None:
    """Minimum per granularity; names and durations must be right."""
    with pytest.raises(SiddhiQLError):
        purge((element,))
