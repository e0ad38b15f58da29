"""expression('condition'): the youngest events for which a condition holds (semantics 7.14)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.windows.registry import WindowCall
from lockstep.windows.running_condition import ConditionedWindow


class ExpressionWindow(ConditionedWindow):
    """After each event the oldest leave until the condition is true; even the new one may.

    A text attribute as argument is the condition of the moment: when it changes all events are
    judged anew by the new one.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._held: deque[StreamEvent] = deque()

    def process(self, chunk: list[StreamEvent]) -> None:
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            if self._text_of is not None and self._changes(self._text_of(event)):
                self._judge_anew(now, out)
            self._take(event, now, out)
            out.append(event)
        self.emit(out)

    def _judge_anew(self, now: int, out: list[StreamEvent]) -> None:
        held, self._held = self._held, deque()
        for event in held:
            self._take(event, now, out)

    def _take(self, event: StreamEvent, now: int, out: list[StreamEvent]) -> None:
        assert self._condition is not None
        self._held.append(event)
        self._condition.enter(event)
        self._shrink(now, out)

    def _shrink(self, now: int, out: list[StreamEvent]) -> None:
        held, condition = self._held, self._condition
        assert condition is not None
        newest = held[-1]
        while held and not condition.holds(held[0], newest):
            oldest = held.popleft()
            condition.leave(oldest)
            out.append(StreamEvent(now, oldest.data, EXPIRED))

    def content(self) -> Iterable[StreamEvent]:
        """The events inside."""
        return self._held

    def snapshot(self) -> PlainState:
        """The events inside, and the condition with its aggregators."""
        return (list(self._held), self._saved_condition())

    def restore(self, state: PlainState) -> None:
        held, condition = state
        self._held = deque(held)
        self._load_condition(condition)
