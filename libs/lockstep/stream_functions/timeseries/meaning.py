"""`#timeseries:`: a line through the last events, appended to each, or to each n-th."""

from __future__ import annotations

import math
from collections import deque

from lockstep.operators.contract import CURRENT, EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory
from lockstep.stream_functions.timeseries import ROWS_MAX
from lockstep.stream_functions.timeseries.fitting import Fit, Points, Row


class Regress(Buffering):
    """The standard error and the coefficients. Events between two calculations are dropped.

    What leaves a window in front has no part in it, and brings nothing.
    """

    before = 0
    """How many arguments stand between the settings and y."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        has_settings = call.arguments[self.before].is_constant  # then it is none of y
        self._interval = int(call.constant(0)) if has_settings else 1
        self._confidence = float(call.constant(2)) if has_settings else 0.95
        self._values = call.values[3 if has_settings else 0 :]
        self._most = int(call.constant(1)) if has_settings else ROWS_MAX
        self._rows: deque[Row] = deque()
        self._points = Points(len(self._values) - self.before)
        self._count = 0

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                out.append(event)
            elif event.kind == CURRENT:
                out += self._fitted(event)
        if out:
            self.emit(out)

    def _fitted(self, event: StreamEvent) -> list[StreamEvent]:
        values = [value_of(event) for value_of in self._values]
        if not all(value is not None and math.isfinite(value) for value in values):
            raise EventError("timeseries: a value is null, or not finite")
        numbers = tuple(map(float, values))
        seen = self.looked_at(numbers)
        self._count += 1
        self._add(numbers[self.before :])
        if self._count % self._interval:
            return []
        try:
            found = self._points.fit(self._confidence)
        except OverflowError as error:
            raise EventError("timeseries: the values are too large for a line") from error
        data = (*event.data, found.error, *found.betas, *self.told(found, numbers, seen))
        return [StreamEvent(event.timestamp_ms, data)]

    def _add(self, row: Row) -> None:
        self._rows.append(row)
        self._points.change(row, 1)
        if len(self._rows) > self._most:
            self._points.change(self._rows.popleft(), -1)

    def looked_at(self, numbers: Row) -> bool:
        """What an event is before it takes part."""
        return False

    def told(self, found: Fit, numbers: Row, seen: bool) -> tuple[float | bool, ...]:
        """What stands behind the coefficients."""
        return ()

    def snapshot(self) -> PlainState:
        """The points, and how many events came."""
        return (list(self._rows), self._count)

    def restore(self, state: PlainState) -> None:
        rows, self._count = state
        self._rows.clear()
        self._points = Points(len(self._values) - self.before)
        for row in rows:
            self._add(tuple(row))


class Forecast(Regress):
    """And y at another x."""

    before = 1

    def told(self, found: Fit, numbers: Row, seen: bool) -> tuple[float | bool, ...]:
        """The y on the line."""
        return (found.betas[0] + found.betas[1] * numbers[0],)


class Outlier(Regress):
    """And whether y is further than `range` standard errors off the line that was told last."""

    before = 1

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._last: Fit | None = None

    def looked_at(self, numbers: Row) -> bool:
        """Whether it is an outlier."""
        if self._last is None:
            return False
        allowed, y, x = numbers
        expected = self._last.betas[0] + self._last.betas[1] * x
        return abs(y - expected) > allowed * self._last.error

    def told(self, found: Fit, numbers: Row, seen: bool) -> tuple[float | bool, ...]:
        """The answer; the line is kept for the next one."""
        self._last = found
        return (seen,)

    def snapshot(self) -> PlainState:
        """The same, and the line that was told last."""
        last = None if self._last is None else (self._last.error, self._last.betas)
        return (super().snapshot(), last)

    def restore(self, state: PlainState) -> None:
        points, last = state
        super().restore(points)
        self._last = None if last is None else Fit(last[0], tuple(last[1]))


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("timeseries", "regress"): Regress,
    ("timeseries", "forecast"): Forecast,
    ("timeseries", "outlier"): Outlier,
}
