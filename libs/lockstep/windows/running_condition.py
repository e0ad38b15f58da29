"""The condition of expression windows: tested on the oldest and newest event and running
aggregates.
"""

from __future__ import annotations

from typing import Any

from lockstep.operators.contract import (
    CURRENT,
    EXPIRED,
    Context,
    MatchedEvent,
    PlainState,
    StreamEvent,
)
from lockstep.operators.expressions import compile_running_condition
from lockstep.siddhiql import parse
from lockstep.siddhiql.checking.expressions import condition
from lockstep.siddhiql.checking.window_expressions import window_scope
from lockstep.siddhiql.scope import Scope


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


def _seen(newest: StreamEvent, first: StreamEvent, last: StreamEvent, kind: int) -> MatchedEvent:
    return MatchedEvent(newest.timestamp_ms, [newest, first, last], kind)
