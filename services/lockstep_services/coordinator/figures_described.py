"""The routes about how apps were doing, for the OpenAPI document."""

from __future__ import annotations

from typing import Final, TypedDict

from lockstep.frame.openapi import Described


class SinkSeries(TypedDict):
    """Of one sink: `lag` in records that it has not delivered."""

    sink: str
    mean: dict[str, list[float | None]]
    max: dict[str, list[float | None]]


class FigureSeries(TypedDict):
    """How an app was doing. Each array has a place for each step of `step_ms`, which begins at its
    `at_ms`; null where nobody sampled, or nothing came. `units` says in what each number is.
    `grain`: fine or coarse samples. `leaders`: the nodes that led something of it."""

    app: str
    from_ms: int
    to_ms: int
    step_ms: int
    grain: str
    units: dict[str, str]
    at_ms: list[int]
    mean: dict[str, list[float | None]]
    max: dict[str, list[float | None]]
    leaders: list[list[str]]
    sinks: list[SinkSeries]


class FailoverLine(TypedDict):
    """Another node leads a unit, or the same one a further term. `planned`: handed over, or stopped
    on purpose; null: nobody knows. `gap_ms`: how long nobody led, as far as heartbeats tell."""

    app: str
    unit: str
    group: str
    partition: int
    layout: int
    at_ms: int
    from_node: str
    to_node: str
    epoch: int
    planned: bool | None
    why: str
    gap_ms: int | None


class FailoverLines(TypedDict):
    """The newest first; `more`: there are others behind them."""

    failovers: list[FailoverLine]
    more: bool


_SPAN: Final = ("from", "to")
FIGURES: Final = (
    Described(
        "GET", "/v1/apps/{app}/figures", "How it was doing over a time.", FigureSeries,
        query=(*_SPAN, "points"),
    ),
    Described(
        "GET", "/v1/apps/{app}/failovers", "Who took its lead from whom.", FailoverLines,
        query=(*_SPAN, "limit"),
    ),
    Described(
        "GET", "/v1/failovers", "The same, of all apps that the caller may view.", FailoverLines,
        query=("app", *_SPAN, "limit"),
    ),
)  # fmt: skip
