"""The condition of expression windows: tested on the oldest and newest event and running
aggregates.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lockstep.aggregators.rows import compile_running_condition
from lockstep.events import AttributeType
from lockstep.operators.contract import (
    CURRENT,
    EXPIRED,
    Context,
    MatchedEvent,
    PlainState,
    StreamEvent,
)
from lockstep.operators.errors import EVENT_ERRORS, PROCESSING_ERRORS, EventError
from lockstep.siddhiql import parse
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.checking.window_expressions import window_scope
from lockstep.siddhiql.scope import Scope
from lockstep.windows.chunks import WindowBase
from lockstep.windows.registry import WindowCall
from lockstep.windows.taking import Taking


class RunningCondition:
    """The condition with its aggregators, fed as events enter and leave.

    `scope` is what the window's arguments see. SiddhiQLError for a text that is no condition.
    """

    def __init__(self, text: str, scope: Scope, context: Context) -> None:
        self.text = text
        seen = window_scope(scope)
        checked = condition(
            parse(text, "expression"), seen, "the window's text", aggregators_allowed=True
        )
        feed, self._test = compile_running_condition(checked, seen, context)
        self._feed = feed.function
        self._makers = feed.makers
        self._aggregators: list[Any] = []
        self.clear()

    def clear(self) -> None:
        """Forgets all events."""
        self._aggregators = [make() for make in self._makers]

    def enter(self, event: StreamEvent) -> None:
        """An event came in."""
        self._feed(_seen(event, event, event, CURRENT), self._aggregators)

    def leave(self, event: StreamEvent) -> None:
        """An event went out."""
        self._feed(_seen(event, event, event, EXPIRED), self._aggregators)

    def undo(self, event: StreamEvent) -> None:
        """The newest event went out, whose coming in has failed, perhaps half way."""
        # What failed as it came fails again here, behind what had taken it.
        with suppress(*PROCESSING_ERRORS):
            self.leave(event)

    def holds(self, first: StreamEvent, last: StreamEvent) -> bool:
        """Whether the condition is true of the events inside."""
        return self._test(_seen(last, first, last, CURRENT), self._aggregators)

    def snapshot(self) -> PlainState:
        """The text and the aggregators' states."""
        return (self.text, [aggregator.snapshot() for aggregator in self._aggregators])

    def restore(self, states: list[Any]) -> None:
        """Takes over the aggregators' states."""
        self.clear()
        for aggregator, saved in zip(self._aggregators, states, strict=True):
            aggregator.restore(saved)


class ConditionedWindow(WindowBase):
    """A window with a condition: a constant, or what a text attribute says at the moment."""

    def __init__(self, call: WindowCall) -> None:
        super().__init__(call)
        self._name, self._scope = call.name, call.scope
        self._condition: RunningCondition | None = None
        self._text_of: Callable[[Any], Any] | None = None
        if call.is_constant(0):
            self._changes(str(call.constant(0)))
        elif call.schema.types[call.attribute(0)] is AttributeType.STRING:
            self._text_of = call.value(0)

    def _changes(self, text: Any) -> bool:
        """Whether the text is another condition than the last one; it holds from now on."""
        if not isinstance(text, str):
            raise EventError(f"the condition of an {self._name} window is null")
        if self._condition is not None and self._condition.text == text:
            return False
        self._condition = RunningCondition(text, self._scope, self.context)
        return True

    def _holds(self, first: StreamEvent, newest: StreamEvent, taking: Taking) -> bool:
        """Whether the condition is true of the events inside. Where it fails, this raises if it
        fails of the newest one; otherwise the first is to go, or it would block the window."""
        assert self._condition is not None
        try:
            return self._condition.holds(first, newest)
        except EVENT_ERRORS as error:
            self._condition.holds(newest, newest)
            taking.fail(error)
            return False

    def _saved_condition(self) -> PlainState:
        return None if self._condition is None else self._condition.snapshot()

    def _load_condition(self, state: PlainState) -> None:
        if state is not None:
            text, states = state
            self._changes(text)
            assert self._condition is not None
            self._condition.restore(states)


def _seen(newest: StreamEvent, first: StreamEvent, last: StreamEvent, kind: int) -> MatchedEvent:
    return MatchedEvent(newest.timestamp_ms, [newest, first, last], kind)
