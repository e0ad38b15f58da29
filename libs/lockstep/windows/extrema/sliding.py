"""extrema:maxByLength, minByLength, maxByTime, minByTime (extensions 18)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.chunks import HoldingWindow, WindowBase
from lockstep.windows.extrema.extreme import MAX, MIN, Beats, Candidates, values_of
from lockstep.windows.registry import WindowCall


class ExtremeByLength(WindowBase):
    """Each event brings the one that counts most among the last n: also the same one again.
    It leaves when another takes its place."""

    def __init__(self, call: WindowCall, beats: Beats) -> None:
        super().__init__(call)
        self._values = values_of(call)
        self._length = int(call.constant(1))
        self._count = 0
        self._candidates = Candidates(beats)

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event, value in zip(chunk, self._values(chunk), strict=True):
            before = self._candidates.best()
            self._count += 1
            self._candidates.leave(self._count)
            self._candidates.add(value, self._count + self._length, event)
            best = self._candidates.best()
            assert best is not None
            if before is not None and before.number != best.number:
                out.append(before.event.as_kind(EXPIRED, now))
            out.append(best.event)
        self.emit(out)

    def content(self) -> Iterable[StreamEvent]:
        """The one that counts most."""
        best = self._candidates.best()
        return () if best is None else (best.event,)

    def snapshot(self) -> PlainState:
        """How many events came, and the candidates."""
        return (self._count, self._candidates.snapshot())

    def restore(self, state: PlainState) -> None:
        self._count, candidates = state
        self._candidates.restore(candidates)


class ExtremeByTime(HoldingWindow):
    """A chunk brings the one that counts most in the last t, unless it was brought last.
    What was brought leaves when it is t old. `_held` has what was brought and did not leave."""

    def __init__(self, call: WindowCall, beats: Beats) -> None:
        super().__init__(call)
        self._values = values_of(call)
        self._length_ms = int(call.constant(1))
        self._candidates = Candidates(beats)
        self._brought = 0

    def process(self, chunk: list[StreamEvent]) -> None:
        values = self._values(chunk)
        out = self._left()
        for event, value in zip(chunk, values, strict=True):
            self._candidates.add(value, event.timestamp_ms + self._length_ms, event)
        best = self._candidates.best()
        if best is not None and best.number != self._brought:
            self._brought = best.number
            self._held.append(best.event)
            self.context.schedule(self, best.until)
            out.append(best.event)
        if out:
            self.emit(out)

    def _left(self) -> list[StreamEvent]:
        """What is t old, in the order in which it was brought."""
        now = self.context.now_ms()
        self._candidates.leave(now)
        limit = now - self._length_ms
        gone = [event for event in self._held if event.timestamp_ms <= limit]
        for event in gone:
            self._held.remove(event)
        return [event.as_kind(EXPIRED, now) for event in gone]

    def on_timer(self, due_ms: int) -> None:
        """What is t old leaves; the next event tells which one counts most then."""
        out = self._left()
        if out:
            self.emit(out)

    def snapshot(self) -> PlainState:
        """What was brought and did not leave, the number of the last one, the candidates."""
        return (super().snapshot(), self._brought, self._candidates.snapshot())

    def restore(self, state: PlainState) -> None:
        held, self._brought, candidates = state
        super().restore(held)
        self._candidates.restore(candidates)


by_length_of_max = partial(ExtremeByLength, beats=MAX)
by_length_of_min = partial(ExtremeByLength, beats=MIN)
by_time_of_max = partial(ExtremeByTime, beats=MAX)
by_time_of_min = partial(ExtremeByTime, beats=MIN)
