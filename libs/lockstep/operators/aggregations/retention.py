"""@purge of an aggregation: how long each granularity is kept (semantics 17.5)."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.operators.aggregations.ranges import granularity_named
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.durations import duration_ms
from lockstep.siddhiql.errors import SiddhiQLError

INTERVAL_MS = 900_000
_MINUTE_MS, _HOUR_MS, _DAY_MS = 60_000, 3_600_000, 86_400_000

_DEFAULT_MS = {
    Granularity.SECONDS: 120_000,
    Granularity.MINUTES: 24 * _HOUR_MS,
    Granularity.HOURS: 30 * _DAY_MS,
    Granularity.DAYS: 365 * _DAY_MS,
}
_LEAST_MS = {
    Granularity.SECONDS: 120_000,
    Granularity.MINUTES: 120 * _MINUTE_MS,
    Granularity.HOURS: 25 * _HOUR_MS,
    Granularity.DAYS: 32 * _DAY_MS,
    Granularity.MONTHS: 13 * 30 * _DAY_MS,
    Granularity.YEARS: 0,
}


class Retention:
    """`kept_ms` by granularity (others are kept for ever); `interval_ms` None: no purging."""

    def __init__(self, annotations: Sequence[ast.Annotation], known: Sequence[Granularity]) -> None:
        self.interval_ms: int | None = INTERVAL_MS
        self.kept_ms = {g: _DEFAULT_MS[g] for g in known if g in _DEFAULT_MS}
        for annotation in annotations:
            if annotation.name.lower() == "purge":
                try:
                    self._read(annotation, known)
                except (EventError, ValueError) as error:
                    at = annotation.at
                    raise SiddhiQLError(str(error), line=at.line, column=at.column) from error

    def _read(self, annotation: ast.Annotation, known: Sequence[Granularity]) -> None:
        enable = (annotation.get("enable") or "true").strip().lower()
        if enable not in ("true", "false"):
            raise ValueError(f"enable of @purge is {enable!r}, not true or false")
        if enable == "false":
            self.interval_ms = None
            return
        interval = annotation.get("interval")
        if interval is not None:
            self.interval_ms = duration_ms(interval)
        for periods in annotation.nested("retentionPeriod"):
            for element in periods.elements:
                self._keep(element, known)

    def _keep(self, element: ast.Element, known: Sequence[Granularity]) -> None:
        granularity = granularity_named(element.key or "")
        if granularity not in known:
            raise ValueError(f"the aggregation does not keep {granularity.value}")
        if element.value.strip().lower() == "all":
            self.kept_ms.pop(granularity, None)
            return
        kept_ms = duration_ms(element.value)
        if kept_ms < _LEAST_MS[granularity]:
            least = _LEAST_MS[granularity]
            raise ValueError(
                f"{element.value!r} is too short for {granularity.value}: at least {least} ms"
            )
        self.kept_ms[granularity] = kept_ms
