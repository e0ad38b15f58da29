"""`#throughput:throughput`: passes events, and writes a line of figures after every so many."""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory
from lockstep.stream_functions.throughput import WINDOW_ROWS
from lockstep.telemetry.logs import Logger, get_logger


class Throughput(Buffering):
    """Times are those of the app's clock, so that a replay writes the same figures.

    Lines go to the process's log: every replica writes its own, and a replay writes them again.
    """

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._sent_of = call.values[0]
        self._kind = str(call.constant(1)).lower()
        self._rows = int(call.constant(2, WINDOW_ROWS))
        self._logger: Logger = get_logger(stream=call.schema.name, id=call.constant(3, "1"))
        self._first_ms: int | None = None
        self._begun_ms = 0
        self._latencies_ms: list[int] = []
        self._events = self._latency_ms = 0

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        for event in chunk:
            if event.kind <= EXPIRED:
                self._take(event, now)
        self.emit(chunk)

    def _take(self, event: StreamEvent, now: int) -> None:
        sent = self._sent_of(event)
        if sent is None:
            raise EventError("throughput:throughput takes no null time")
        if self._first_ms is None:
            self._first_ms = self._begun_ms = now
        self._events += 1
        self._latency_ms += now - sent
        self._latencies_ms.append(now - sent)
        if len(self._latencies_ms) == self._rows:
            write: Any = self._logger.info
            write("throughput", **self._figures(now))
            self._latencies_ms = []
            self._begun_ms = now

    def _figures(self, now: int) -> dict[str, Any]:
        assert self._first_ms is not None
        found: dict[str, Any] = {"events": self._events}
        if self._kind != "latency":
            found["events_per_s"] = _rate(self._rows, now - self._begun_ms)
            found["events_per_s_of_all"] = _rate(self._events, now - self._first_ms)
        if self._kind != "throughput":
            ordered = sorted(self._latencies_ms)
            found["mean_ms"] = sum(ordered) / self._rows
            found["mean_ms_of_all"] = self._latency_ms / self._events
            for percent in (90, 95, 99):
                found[f"p{percent}_ms"] = ordered[-(-self._rows * percent // 100) - 1]
        return found

    def snapshot(self) -> PlainState:
        """What was counted since the last line, and in all."""
        window = (self._begun_ms, list(self._latencies_ms))
        return (self._first_ms, window, self._events, self._latency_ms)

    def restore(self, state: PlainState) -> None:
        """Takes it over."""
        self._first_ms, window, self._events, self._latency_ms = state
        self._begun_ms, latencies = window
        self._latencies_ms = list(latencies)


def _rate(events: int, span_ms: int) -> float | None:
    """None where no time passed."""
    return events * 1000 / span_ms if span_ms else None


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("throughput", "throughput"): Throughput
}
