"""`#reorder:akslack`: kslack whose K follows a quality target instead of the worst lateness.

After every batch of events K's factor alpha is moved by a proportional-derivative controller: from
the share of events that had arrived in time towards the share that an average over the correlation
field needs to stay within `error.threshold` at `confidence.level`.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import NormalDist

from lockstep.functions.convert import to_long
from lockstep.operators.contract import PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan.java import LONG_MAX
from lockstep.stream_functions.call import StreamCall
from lockstep.stream_functions.reorder.fixed import KSlack, TimeBuffer

_PROPORTIONAL, _DERIVATIVE = 0.5, 0.8
_WINDOW_MS = 10_000_000_000
_TIMESTAMPS_MAX = 1_000_000
"""How many timestamps are kept for the share that arrived in time."""


def wanted_coverage(values: list[float], critical: float, threshold: float) -> float:
    """The share of events that the target needs: the smallest root of two quadratic equations."""
    count = len(values)
    mean = sum(values) / count
    variance = sum((mean - value) ** 2 for value in values) / count
    if mean == 0:
        return 0.0
    spread = critical**2 * (mean**2 + variance**2) / (count * mean**2)
    roots: list[float] = []
    for error in (threshold, -threshold):
        roots += _roots(1 + spread, 2 * error - 2 - spread, (1 - error) ** 2)
    return min(roots, default=0.0)


def _roots(a: float, b: float, c: float) -> list[float]:
    under = b * b - 4 * a * c
    if under < 0:
        return []
    root = math.sqrt(under)
    return [(-b - root) / (2 * a), (-b + root) / (2 * a)]


def arrived_in_time(timestamps: deque[int], low: int, high: int) -> float:
    """The share of the events in [low, high] that came before the first one at or behind high."""
    covered = total = 0
    has_begun = is_over = False
    for timestamp in timestamps:
        has_begun = has_begun or timestamp >= low
        is_over = is_over or timestamp >= high
        if has_begun and low <= timestamp <= high:
            covered += not is_over
            total += 1
    return covered / total if total else 1.0


class AdaptiveKSlack(KSlack):
    """akslack(timestamp, field [, batch.size, timeout, max.k, discard, threshold, level])."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._field_of = call.values[1]
        self._batch_size = int(call.constant(2, 10_000))
        self.timeout_ms = int(call.constant(3, -1))
        self.max_k = int(call.constant(4, -1))
        if self.max_k == -1:
            self.max_k = LONG_MAX
        self.discards_late = bool(call.constant(5, False))
        self._threshold = float(call.constant(6, 0.03))
        level = float(call.constant(7, 0.95))
        if not 0 < level < 1:
            raise EventError(f"confidence.level is {level}, it must lie between 0 and 1")
        self._critical = abs(NormalDist().inv_cdf((1 - level) / 2))
        self._fields: list[float] = []
        self._timestamps: deque[int] = deque(maxlen=_TIMESTAMPS_MAX)
        self._counter = 0
        self._allowance = 0
        self._alpha = 1.0
        self._previous_alpha = self._previous_error = 0.0

    def read(self, event: StreamEvent) -> tuple[int, float]:
        """See KSlack."""
        time_ms, _ = super().read(event)
        field = self._field_of(event)
        if field is None:
            raise EventError("reorder:akslack: the correlation field is null")
        return time_ms, float(field)

    def seen(self, time_ms: int, field: float) -> None:
        """Keeps the field and the timestamp for the controller."""
        self._timestamps.append(time_ms)
        self._fields.append(field)

    def taken(self, time_ms: int) -> None:
        """Runs the controller after each batch."""
        self._counter += 1
        if self._counter <= self._batch_size:
            return
        coverage = 1.0
        if self._allowance:
            high = time_ms - self._allowance
            coverage = arrived_in_time(self._timestamps, high - _WINDOW_MS, high)
            while self._timestamps and self._timestamps[0] <= high - _WINDOW_MS:
                self._timestamps.popleft()
        error = wanted_coverage(self._fields, self._critical, self._threshold) - coverage
        change = _PROPORTIONAL * error + _DERIVATIVE * (error - self._previous_error)
        self._alpha = abs(self._previous_alpha + change)
        self._previous_error, self._previous_alpha = error, self._alpha
        self._allowance = min(self._rounded(self._alpha * self.k), self.k)
        self._counter = 0
        self._fields.clear()

    def slack_of(self, lateness: int) -> int:
        """The lateness times alpha."""
        return self._rounded(lateness * self._alpha)

    @staticmethod
    def _rounded(value: float) -> int:
        return to_long(math.floor(value + 0.5)) if math.isfinite(value) else LONG_MAX

    def flushed(self) -> list[TimeBuffer]:
        """Both buffers."""
        return self.both()

    def snapshot(self) -> PlainState:
        """The buffers and the controller."""
        controller = (
            self._counter,
            self._allowance,
            self._alpha,
            self._previous_alpha,
            self._previous_error,
        )
        return (super().snapshot(), controller, list(self._fields), list(self._timestamps))

    def restore(self, state: PlainState) -> None:
        buffers, controller, fields, timestamps = state
        super().restore(buffers)
        self._counter, self._allowance, self._alpha, *previous = controller
        self._previous_alpha, self._previous_error = previous
        self._fields = list(fields)
        self._timestamps = deque(timestamps, maxlen=_TIMESTAMPS_MAX)
