"""figures, failovers: how apps were doing, and who took a lead from whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.output import console, print_json, show
from lockstep.cli.times import TimeError, shown_ms, since_ms
from lockstep.clock import SystemClock
from lockstep.events.paths import app_path

POINTS: Final = 60
"""A character each."""

BARS: Final = "▁▂▃▄▅▆▇█"
GAP: Final = " "
FIGURE_COLUMNS: Final = ("figure", "over time", "last", "mean", "max", "in")
FAILOVER_COLUMNS: Final = ("when", "unit", "from", "to", "epoch", "planned", "nobody led", "why")
LABELS: Final[Mapping[str, str]] = {
    "events_per_s": "events in",
    "rows_per_s": "rows out",
    "lag": "lag",
    "latency_p50_ms": "latency, half",
    "latency_p99_ms": "latency, 99 %",
    "behind_ms": "standby behind",
    "busy_permille": "busy",
    "state_rows": "state",
}
SINK_LABELS: Final[Mapping[str, str]] = {
    "lag": "lag",
    "rows_per_s": "rows",
    "latency_p99_ms": "latency, 99 %",
}
Since = Annotated[
    str, typer.Option(help="From when on: 15m, 1h, 7d ago, or a time as 2026-03-01T14:05.")
]
Until = Annotated[str | None, typer.Option(help="Up to when, likewise; now without it.")]


def figures(
    context: typer.Context,
    app: AppName,
    since: Since = "1h",
    until: Until = None,
    points: Annotated[int, typer.Option(min=1, help="Over time, at most.")] = POINTS,
    as_json: AsJson = False,
) -> None:
    """Show how an app was doing: rates, lag and latency over time, and who took its lead from
    whom."""
    with asking(context) as suite:
        span = _span(since, until)
        base = f"{suite.addresses.coordinator}{app_path(app)}"
        found = suite.request("GET", f"{base}/figures", params={**span, "points": str(points)})
        taken = suite.request("GET", f"{base}/failovers", params=span)
    if as_json:
        print_json({**found, "failovers": taken["failovers"]})
        return
    show(lines(found), FIGURE_COLUMNS, as_json=False, title=heading(found), folded=("over time",))
    if taken["failovers"]:
        _show_failovers(taken, "failovers")


def failovers(
    context: typer.Context,
    app: Annotated[str | None, typer.Argument(help="Of one app; of all without it.")] = None,
    since: Since = "7d",
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000)] = 100,
    as_json: AsJson = False,
) -> None:
    """List who took a lead from whom, when, why, and for how long nobody led; the newest first."""
    with asking(context) as suite:
        params = {**_span(since, until), "limit": str(limit)} | ({"app": app} if app else {})
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/failovers", params=params)
    if as_json:
        print_json(found["failovers"])
    else:
        _show_failovers(found, "failovers")


def _span(since: str, until: str | None) -> dict[str, str]:
    now_ms = SystemClock().now_ms()
    from_ms = since_ms(since, now_ms)
    to_ms = now_ms if until is None else since_ms(until, now_ms)
    if from_ms >= to_ms:
        raise TimeError(f"--since {since} is not before {until or 'now'}")
    return {"from": str(from_ms), "to": str(to_ms)}


def heading(found: Mapping[str, Any]) -> str:
    """Whose figures, when, and how long a character stands for."""
    step_s = found["step_ms"] / 1_000
    step = f"{step_s:g} s" if step_s < 120 else f"{step_s / 60:g} min"
    times = f"{shown_ms(found['from_ms'])} to {shown_ms(found['to_ms'])}"
    return f"{found['app']}: {times}, {step} a character"


def lines(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A line for each figure that was there, those of sinks below."""
    told = [
        _line(label, found, name, found["units"][name])
        for name, label in LABELS.items()
        if name in found["mean"]
    ]
    for sink in found["sinks"]:
        told += [
            _line(f"{sink['sink']}: {label}", sink, name, found["units"][name])
            for name, label in SINK_LABELS.items()
        ]
    return [one for one in told if one is not None]


def _line(label: str, found: Mapping[str, Any], name: str, unit: str) -> dict[str, Any] | None:
    means, most = found["mean"][name], found["max"][name]
    known = [one for one in means if one is not None]
    if not known:
        return None
    return {
        "figure": label,
        "over time": sparkline(means),
        "last": "" if means[-1] is None else _number(means[-1]),
        "mean": _number(sum(known) / len(known)),
        "max": _number(max(one for one in most if one is not None)),
        "in": unit,
    }


def sparkline(values: Sequence[float | None]) -> str:
    """A bar for each, the greatest full; gaps where there is none."""
    top = max((one for one in values if one is not None), default=0) or 1
    last = len(BARS) - 1
    return "".join(GAP if one is None else BARS[round(max(0, one) / top * last)] for one in values)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or float(value).is_integer() else f"{value:,.1f}"


def _show_failovers(found: Mapping[str, Any], title: str) -> None:
    rows = [failover_line(one) for one in found["failovers"]]
    show(rows, FAILOVER_COLUMNS, as_json=False, title=title, folded=("why",))
    if found["more"]:
        console.print("there are more: --limit, or --until with the last time shown")


def failover_line(one: Mapping[str, Any]) -> dict[str, Any]:
    """One failover, for people."""
    planned = {True: "yes", False: "no", None: "unknown"}[one["planned"]]
    gap_ms = one["gap_ms"]
    return {
        "when": shown_ms(one["at_ms"]),
        "unit": one["unit"],
        "from": one["from_node"],
        "to": one["to_node"],
        "epoch": one["epoch"],
        "planned": planned,
        "nobody led": "unknown" if gap_ms is None else f"{gap_ms:,} ms",
        "why": one["why"],
    }
