"""Expressions in PromQL over declared metrics: a wrong name is a type error, a wrong kind or label
a ValueError."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from lockstep.telemetry.names import METRICS, MetricKind, MetricName

WINDOW: Final = "$__rate_interval"
"""Grafana's: several times what Prometheus' scrapes are apart."""
INSTANCE: Final = "instance"
"""The label that Prometheus gives each target."""
UNIT: Final = ("app", "group", "partition")
"""What a processor carries."""


def rate(name: MetricName, *by: str, window: str = WINDOW, **where: str) -> str:
    """A counter's growth per second, summed by labels."""
    return _sum(f"rate({_series(name, MetricKind.COUNTER, by, where)}[{window}])", by)


def increase(name: MetricName, *by: str, minutes: int, **where: str) -> str:
    """A counter's growth within the last minutes, summed by labels.

    A series begins with its first value, of which `increase` sees no growth. One that was not there
    before that time has grown by its value, if its process was watched by then, or began since. Of
    a process that Prometheus did not reach then, nobody knows when its first value came."""
    series = _series(name, MetricKind.COUNTER, by, where)
    start = _series("lockstep_process_start_time_seconds", MetricKind.GAUGE, (), {})
    known = f"({start} offset {minutes}m or {start} > time() - {minutes * 60})"
    born = f"(({series} unless {series} offset {minutes}m) and on ({INSTANCE}) {known})"
    return _sum(f"{born} or increase({series}[{minutes}m])", by)


def gauge(name: MetricName, *by: str, how: str = "max", **where: str) -> str:
    """A gauge, put together by labels: max, sum, min or count."""
    series = _series(name, MetricKind.GAUGE, by, where)
    return f"{how} by ({', '.join(by)}) ({series})" if by else f"{how}({series})"


def leaders(name: MetricName, *by: str, **where: str) -> str:
    """The largest value of a gauge of units, of those that lead them."""
    series = _series(name, MetricKind.GAUGE, by, where)
    return f"max by ({', '.join(by)}) ({_led(series, where)})"


def leaders_rate(name: MetricName, *by: str, window: str = WINDOW, **where: str) -> str:
    """A counter's growth per second, summed by labels, of the processors that lead: their standbys
    do the same work, and count it as well."""
    grown = f"rate({_series(name, MetricKind.COUNTER, by, where)}[{window}])"
    return _sum(_led(grown, where), by)


def quantile(share: float, name: MetricName, *by: str, window: str = WINDOW, **where: str) -> str:
    """The value that a share of a histogram's observations stays below."""
    series = _series(name, MetricKind.HISTOGRAM, by, where, suffix="_bucket")
    return f"histogram_quantile({share}, {_sum(f'rate({series}[{window}])', ('le', *by))})"


def mean(name: MetricName, *by: str, window: str = WINDOW, **where: str) -> str:
    """The mean of a histogram's observations."""
    sums, counts = (
        _sum(f"rate({_series(name, MetricKind.HISTOGRAM, by, where, suffix=end)}[{window}])", by)
        for end in ("_sum", "_count")
    )
    return f"{sums} / {counts}"


def or_zero(expression: str) -> str:
    """For what seldom happens: 0 as long as there is no series."""
    return f"({expression}) or vector(0)"


def or_zero_each(expression: str, label: str, values: Sequence[str]) -> str:
    """0 for each of these values of a label of which there is no series."""
    zeros = (f'label_replace(vector(0), "{label}", "{value}", "", "")' for value in values)
    return " or ".join((expression, *zeros))


def _led(series: str, where: dict[str, str]) -> str:
    """Of series of units those of the processor that leads them."""
    role = _series("lockstep_processor_role", MetricKind.GAUGE, (), {**where, "role": "active"})
    return f"{series} and on ({', '.join((INSTANCE, *UNIT))}) {role}"


def _sum(inner: str, by: tuple[str, ...]) -> str:
    return f"sum by ({', '.join(by)}) ({inner})" if by else f"sum({inner})"


def _series(
    name: MetricName,
    kind: MetricKind,
    by: Iterable[str],
    where: dict[str, str],
    *,
    suffix: str = "",
) -> str:
    metric = METRICS[name]
    if metric.kind is not kind:
        raise ValueError(f"{name} is a {metric.kind}, not a {kind}")
    unknown = {*by, *where} - {*metric.labels, INSTANCE}
    if unknown:
        raise ValueError(f"{name} has no label {', '.join(sorted(unknown))}")
    if "app" in metric.labels and "app" not in where:
        where = {"app": "=~$app", **where}
    matchers = ", ".join(_matcher(label, value) for label, value in where.items())
    return f"{name}{suffix}{{{matchers}}}" if matchers else f"{name}{suffix}"


def _matcher(label: str, value: str) -> str:
    """`=~value` matches a pattern, anything else is the value."""
    sign, text = ("=~", value[2:]) if value.startswith("=~") else ("=", value)
    return f'{label}{sign}"{text}"'
