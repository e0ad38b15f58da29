"""Whether an event fits a state for a token: the state's filters and stream functions, in order.

Filters see what the token has bound, with the candidate in the state's own slot; in a counted state
the candidate stands last in the list while its filters run (semantics 12.1 rule 2, 12.3).

An event on which one of them fails for a token does not fit that token, and is tried for the others
(semantics 18). The machine keeps the first error, and raises it when the chunk is played.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lockstep.operators.contract import Context, Slot, StreamEvent
from lockstep.operators.errors import EVENT_ERRORS
from lockstep.patterns.meaning.node import Machine
from lockstep.patterns.meaning.token import Token
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedState
from lockstep.stream_functions.registry import build_stream_function


class Candidate(StreamEvent):
    """The arriving event as stream functions see it: its data beside what the token has bound."""

    slots: list[Slot] = msgspec.field(default_factory=list)


class FunctionStep:
    """A stream function inside a state: gives the event with its added attributes, or None."""

    __slots__ = ("_link", "_out")

    def __init__(self, link: Any) -> None:
        self._link = link
        self._out: list[StreamEvent] = []
        link.emit = self._out.extend

    def __call__(self, event: StreamEvent, slots: list[Slot]) -> StreamEvent | None:
        self._out.clear()
        self._link.process([Candidate(event.timestamp_ms, event.data, event.kind, slots)])
        if not self._out:
            return None
        return StreamEvent(event.timestamp_ms, self._out[0].data, event.kind)


Step = FunctionStep | Callable[[Any], bool]


class Admission:
    """The door of one state. Built once per state and pattern instance."""

    __slots__ = ("_is_list", "_machine", "_steps", "slot")

    def __init__(self, state: CheckedState, machine: Machine, context: Context) -> None:
        self.slot = state.slot
        self._machine = machine
        self._is_list = state.is_list
        self._steps: list[Step] = []
        before = state.stream.source_schema
        for index, handler in enumerate(state.stream.handlers):
            place = context.child(f"handler_{index}")
            self._steps.append(_step(handler, before, place))
            before = handler.schema

    def fits(self, token: Token, event: StreamEvent) -> StreamEvent | None:
        """The event as it would be bound (functions may have added attributes), or None.

        None also where a filter or function fails. The token is left as it was: binding is the
        caller's.
        """
        if not self._steps:
            return event
        if self._is_list:
            return self._fits_behind(token, event)
        slots, slot = token.slots, self.slot
        slots[slot] = event
        try:
            for step in self._steps:
                if isinstance(step, FunctionStep):
                    changed = step(event, slots)
                    if changed is None:
                        return None
                    slots[slot] = event = changed
                elif not step(token):
                    return None
            return event
        except EVENT_ERRORS as error:
            self._remember(error)
            return None
        finally:
            slots[slot] = None

    def _fits_behind(self, token: Token, event: StreamEvent) -> StreamEvent | None:
        collected = token.collected(self.slot)
        collected.append(event)
        try:
            for step in self._steps:
                if isinstance(step, FunctionStep):
                    changed = step(event, token.slots)
                    if changed is None:
                        return None
                    collected[-1] = event = changed
                elif not step(token):
                    return None
            return event
        except EVENT_ERRORS as error:
            self._remember(error)
            return None
        finally:
            collected.pop()

    def _remember(self, error: BaseException) -> None:
        if self._machine.failure is None:
            self._machine.failure = error


def _step(handler: CheckedHandler, before: Any, context: Context) -> Step:
    match handler.handler:
        case ast.Filter(condition=condition):
            return context.compile_condition(condition, handler.scope)
        case ast.StreamFunction(call=call):
            return FunctionStep(build_stream_function(call, handler.scope, before, context))
        case ast.WindowHandler():
            raise ValueError("a window in a pattern (the checker refuses it)")
