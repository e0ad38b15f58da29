"""What was kept of an app, as series of at most so many points. Pure.

A point stands for a step, from its time on. Steps in which nobody sampled have no values, so that a
chart has a gap there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.store import FigureRow, Figures, Grain, SinkFigures, Span
from lockstep.store.figures import FIGURES, LATENCIES, SINK_FIGURES, UNITS, together, unpacked

STEPS_MS: Final = tuple(
    1_000 * each
    for each in (
        1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400,
    )
)  # fmt: skip
"""Steps that people find easy to read."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Steps:
    """From `first_ms` on, `count` of them."""

    first_ms: int
    step_ms: int
    count: int

    @property
    def times_ms(self) -> list[int]:
        """When each begins."""
        return [self.first_ms + number * self.step_ms for number in range(self.count)]


def steps_of(from_ms: int, to_ms: int, points: int, grain_ms: int) -> Steps:
    """The smallest step with which at most `points` fit, and no smaller one than what is kept."""
    days = (86_400_000 * number for number in range(2, 1 + (to_ms - from_ms) // 86_400_000 + 3))
    for step_ms in (grain_ms, *(each for each in STEPS_MS if each > grain_ms), *days):
        first = from_ms // step_ms
        count = (to_ms - 1) // step_ms - first + 1
        if count <= points:
            return Steps(first * step_ms, step_ms, count)
    return Steps(from_ms, to_ms - from_ms, 1)


def grain_of(from_ms: int, now_ms: int, step_ms: int, coarse_ms: int, keep_ms: int) -> Grain:
    """Coarse figures, where they are fine enough or nothing finer is kept."""
    return Grain.COARSE if step_ms >= coarse_ms or from_ms < now_ms - keep_ms else Grain.FINE


def spans_of(rows: Iterable[FigureRow], steps: Steps) -> list[Span | None]:
    """One for each step; rows come in the order of their times."""
    found: list[list[Span]] = [[] for _ in range(steps.count)]
    for row in rows:
        number = (row.at_ms - steps.first_ms) // steps.step_ms
        if 0 <= number < steps.count:
            found[number].append(unpacked(row.span))
    return [together(each) if each else None for each in found]


def told(spans: Sequence[Span | None], steps: Steps) -> dict[str, Any]:
    """As JSON has it: an array for each number, with a place for each step."""
    means = [None if one is None else one.mean for one in spans]
    most = [None if one is None else one.most for one in spans]
    names = (*FIGURES, *LATENCIES)
    return {
        "step_ms": steps.step_ms,
        "units": dict(UNITS),
        "at_ms": steps.times_ms,
        "mean": _numbers(means, names),
        "max": _numbers(most, names),
        "leaders": [[] if one is None else list(one.leaders) for one in means],
        "sinks": [_sink(name, means, most) for name in _sinks(means)],
    }


def _numbers(
    found: Sequence[Figures | SinkFigures | None], names: Iterable[str]
) -> Mapping[str, Values]:
    return {
        name: [None if one is None else _exact(getattr(one, name)) for one in found]
        for name in names
    }


def _exact(value: float | None) -> float | None:
    """Whole numbers without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sinks(found: Sequence[Figures | None]) -> list[str]:
    return sorted({sink.sink for one in found if one is not None for sink in one.sinks})


def _sink(
    name: str, means: Sequence[Figures | None], most: Sequence[Figures | None]
) -> dict[str, Any]:
    names, of = (*SINK_FIGURES, *LATENCIES), _finder(name)
    return {
        "sink": name,
        "mean": _numbers([of(one) for one in means], names),
        "max": _numbers([of(one) for one in most], names),
    }


def _finder(name: str) -> Callable[[Figures | None], SinkFigures | None]:
    def found(one: Figures | None) -> SinkFigures | None:
        sinks = () if one is None else one.sinks
        return next((sink for sink in sinks if sink.sink == name), None)

    return found
