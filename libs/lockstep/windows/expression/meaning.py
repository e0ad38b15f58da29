"""expression('condition'): the youngest events for which a condition holds (semantics 7.14)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.windows.registry import WindowCall
from lockstep.windows.running_condition import ConditionedWindow
from lockstep.windows.taking import Taking


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
        taking = Taking(self.emit)
        for event in chunk:
            with taking:
                if self._text_of is not None and self._changes(self._text_of(event)):
                    self._judge_anew(taking, now, out)
                self._take(event, taking, now, out)
                out.append(event)
        taking.end(out)

    def _judge_anew(self, taking: Taking, now: int, out: list[StreamEvent]) -> None:
        held, self._held = self._held, deque()
        for event in held:
            with taking:
                try:
                    self._take(event, taking, now, out)
                except PROCESSING_ERRORS:
                    out.append(StreamEvent(now, event.data, EXPIRED))
                    raise

    def _take(self, event: StreamEvent, taking: Taking, now: int, out: list[StreamEvent]) -> None:
        """Where the condition fails, the event was never here; what left for it has left."""
        assert self._condition is not None
        self._held.append(event)
        try:
            self._condition.enter(event)
            self._shrink(taking, now, out)
        except PROCESSING_ERRORS:
            self._held.pop()
            self._condition.undo(event)
            raise

    def _shrink(self, taking: Taking, now: int, out: list[StreamEvent]) -> None:
        held, condition = self._held, self._condition
        assert condition is not None
        newest = held[-1]
        while held and not self._holds(held[0], newest, taking):
            oldest = held[0]
            condition.leave(oldest)
            held.popleft()
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
