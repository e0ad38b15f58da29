"""expression('condition'): the youngest events for which a condition holds (semantics 7.14)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from lockstep.operators.contract import EXPIRED, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall
from lockstep.windows.running_condition import RunningCondition


class ExpressionWindow(WindowBase):
    """After each event the oldest leave until the condition is true; even the new one may.

    A text attribute as argument is the condition of the moment: when it changes all events are
    judged
    anew by the new one.
    """

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._scope = call.scope
        self._held: deque[StreamEvent] = deque()
        self._text_of: Callable[[Any], Any] | None = None
        self._condition: RunningCondition | None = None
        if call.is_constant(0):
            self._condition = self._compiled(str(call.constant(0)))
        else:
            self._text_of = call.value(0)

    def _compiled(self, text: str) -> RunningCondition:
        return RunningCondition(text, self._scope, self.context)

    def process(self, chunk: list[StreamEvent]) -> None:
        """See the class."""
        now = self.context.now_ms()
        out: list[StreamEvent] = []
        for event in chunk:
            if self._text_of is not None:
                self._follow(self._text_of(event), now, out)
            self._held.append(event)
            assert self._condition is not None
            self._condition.enter(event)
            self._shrink(now, out)
            out.append(event)
        self.emit(out)

    def _follow(self, text: Any, now: int, out: list[StreamEvent]) -> None:
        if not isinstance(text, str):
            raise EventError("the condition of an expression window is null")
        if self._condition is not None and self._condition.text == text:
            return
        self._condition = self._compiled(text)
        held, self._held = self._held, deque()
        for event in held:
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
        condition = None if self._condition is None else self._condition.snapshot()
        return (list(self._held), condition)

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        held, condition = state
        self._held = deque(held)
        if condition is not None:
            text, states = condition
            if self._condition is None or self._condition.text != text:
                self._condition = self._compiled(text)
            self._condition.restore(states)
