"""`kf:kalmanFilter`: an estimate of what is measured with noise. Its state is the estimate and how
sure it is; each place in an app has its own, and each partition instance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lockstep.functions.draws import register_once
from lockstep.functions.nulls import Factory
from lockstep.operators.contract import Context, PlainState
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument

_VARIANCE: Final = 1_000.0
"""How unsure the first estimate is."""
_NOISE: Final = 0.001
"""The noise where the call names none."""


class Resting:
    """What is measured stays as it is. The first event's noise holds for all."""

    def __init__(self) -> None:
        self._state: tuple[float, float, float] | None = None

    def estimate(self, measured: float, noise: float = _NOISE) -> float:
        """The estimate with one more measurement."""
        before, variance, noise = self._state or (measured, _VARIANCE, noise)
        total = variance + noise
        gain = variance / total if total else 0.0
        after = before + gain * (measured - before)
        self._state = (after, (1 - gain) * variance, noise)
        return after

    def snapshot(self) -> PlainState:
        """The estimate, its variance, the noise; None before the first event."""
        return self._state

    def restore(self, state: PlainState) -> None:
        self._state = None if state is None else tuple(state)


class Moving:
    """What is measured changes by a rate, which is measured, too. Time counts in milliseconds
    between the timestamps; the first event counts as one."""

    def __init__(self) -> None:
        self._mean: tuple[float, float] | None = None
        self._spread = (_VARIANCE, 0.0, _VARIANCE)
        self._last_ms = 0

    def estimate(self, measured: float, rate: float, noise: float, timestamp_ms: int) -> float:
        """The estimate with one more measurement.

        The spread is a symmetrical 2 x 2 matrix: of the value, of both, of the rate.
        """
        step = 1 if self._mean is None else timestamp_ms - self._last_ms
        value, change = self._mean or (measured, rate)
        value += step * change
        of_value, of_both, of_rate = self._spread
        of_value += step * (2 * of_both + step * of_rate)
        of_both += step * of_rate
        a, d = of_value + noise, of_rate + noise
        determinant = a * d - of_both * of_both
        if not determinant:
            raise EventError("kf:kalmanFilter: without noise the estimate is not determined")
        gain_value = (of_value * d - of_both * of_both) / determinant
        gain_both = noise * of_both / determinant
        gain_rate = (of_rate * a - of_both * of_both) / determinant
        off_value, off_rate = measured - value, rate - change
        self._mean = (
            value + gain_value * off_value + gain_both * off_rate,
            change + gain_both * off_value + gain_rate * off_rate,
        )
        self._spread = (
            of_value - gain_value * of_value - gain_both * of_both,
            of_both - gain_value * of_both - gain_both * of_rate,
            of_rate - gain_both * of_both - gain_rate * of_rate,
        )
        self._last_ms = timestamp_ms
        return self._mean[0]

    def snapshot(self) -> PlainState:
        """The estimate and its spread, and the last timestamp."""
        return (self._mean, self._spread, self._last_ms)

    def restore(self, state: PlainState) -> None:
        mean, spread, self._last_ms = state
        self._mean = None if mean is None else tuple(mean)
        self._spread = tuple(spread)


def _kalman_filter(arguments: Sequence[Argument], context: Context) -> Callable[..., Any]:
    model = Resting() if len(arguments) < 3 else Moving()
    register_once(context, "kalman", model)
    estimate: Callable[..., float] = model.estimate

    def checked(*values: Any) -> float:
        if None in values:
            at = values.index(None) + 1
            raise EventError(f"kf:kalmanFilter takes no null, but argument {at} is null")
        return estimate(*values)

    return checked


FUNCTIONS: dict[tuple[str, str], Factory] = {("kf", "kalmanFilter"): _kalman_filter}
