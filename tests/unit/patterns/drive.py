"""Drives a pattern machine without an engine: elements from Python, a script in, matches out.

Conditions are functions of what the token has bound (`m.slots`), the candidate in its own slot.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.operators.contract import CURRENT, MatchedEvent, StreamEvent
from lockstep.patterns.meaning.machine import PatternMachine
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedHandler,
    CheckedPattern,
    CheckedState,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.scope import Scope, Shape

Condition = Callable[[Any], bool]
SCOPE = Scope(Shape.MATCHED, ())


def on(source: str, when: Condition | None = None) -> ast.StreamState:
    """One event of a stream."""
    handlers = () if when is None else (ast.Filter(when),)  # type: ignore[arg-type]
    return ast.StreamState(ast.StreamInput(source, handlers))


def count(state: ast.StreamState, minimum: int, maximum: int | None) -> ast.CountState:
    """A counted state."""
    return ast.CountState(state, minimum, maximum)


def absent(
    source: str, for_ms: int | None = None, when: Condition | None = None
) -> ast.AbsentState:
    """An absence."""
    return ast.AbsentState(on(source, when).stream, for_ms)


def both(left: Any, right: Any) -> ast.LogicalState:
    """left and right."""
    return ast.LogicalState(left, right, is_and=True)


def either(left: Any, right: Any) -> ast.LogicalState:
    """left or right."""
    return ast.LogicalState(left, right, is_and=False)


def every(*elements: Any) -> ast.EveryState:
    """every element, or every (chain)."""
    return ast.EveryState(elements[0] if len(elements) == 1 else ast.ChainState(elements))


def _leaves(element: Any) -> list[tuple[ast.StreamInput, bool]]:
    match element:
        case ast.ChainState(elements=elements):
            return [leaf for part in elements for leaf in _leaves(part)]
        case ast.EveryState(state=state):
            return _leaves(state)
        case ast.CountState(state=state):
            return [(state.stream, True)]
        case ast.LogicalState(left=left, right=right):
            return [(left.stream, False), (right.stream, False)]
        case _:
            return [(element.stream, False)]


def checked(
    *elements: Any, within_ms: int | None = None, is_sequence: bool = False
) -> CheckedPattern:
    """A pattern as the checker would hand it over, over streams with one int attribute."""
    chain = ast.ChainState(elements)
    states = []
    for slot, (stream, is_list) in enumerate(_leaves(chain)):
        schema = StreamSchema(stream.source, (Attribute("v", AttributeType.INT),))
        handlers = tuple(CheckedHandler(handler, SCOPE, schema) for handler in stream.handlers)
        source = CheckedStream(stream, SourceKind.STREAM, schema, handlers, schema)
        states.append(CheckedState(slot, source, None, is_list, SCOPE))
    state_input = ast.StateInput(chain, is_sequence, within_ms)
    return CheckedPattern(state_input, tuple(states), SCOPE)


@dataclass
class Clock:
    """A context whose time the test moves; timers are kept outside of the machine."""

    now: int = 0
    timers: list[int] = field(default_factory=list)
    is_siddhi_5_1: bool = False

    def now_ms(self) -> int:
        """The clock."""
        return self.now

    def schedule(self, target: Any, due_ms: int, *, wall: bool = False) -> None:
        """Remembers the time; there is one target."""
        if due_ms not in self.timers:
            heapq.heappush(self.timers, due_ms)

    def register(self, name: str, operator: Any) -> None:
        """Nothing to do."""

    def child(self, name: str) -> Clock:
        """The same clock."""
        return self

    def compile_condition(self, expression: Any, scope: Scope) -> Condition:
        """Conditions are functions already."""
        condition: Condition = expression
        return condition


def plain(slot: Any) -> Any:
    """What a slot holds, as values."""
    if isinstance(slot, list):
        return [event.data[0] for event in slot]
    return None if slot is None else slot.data[0]


class Driver:
    """A machine on a clock. `cut` snapshots and restores it in front of every event."""

    def __init__(self, pattern: CheckedPattern, *, cut: bool = False, start_ms: int = 0) -> None:
        self.pattern = pattern
        self.clock = Clock(start_ms)
        self.cut = cut
        self.chunks: list[list[tuple[Any, ...]]] = []
        self._connect()
        self.machine.start()

    def _connect(self) -> None:
        self.machine = PatternMachine(self.pattern, self.clock)  # type: ignore[arg-type]
        self.machine.emit = self._emit
        self._receivers = dict(self.machine.receivers())

    def _emit(self, chunk: list[MatchedEvent]) -> None:
        assert all(match.kind == CURRENT for match in chunk)
        self.chunks.append([(m.timestamp_ms, *map(plain, m.slots)) for m in chunk])

    def again(self) -> None:
        """Cuts: a new machine takes over the state of the old one."""
        state = self.machine.snapshot()
        self._connect()
        self.machine.restore(state)

    def advance(self, clock_ms: int) -> None:
        """Moves the clock; each timer fires at its own time."""
        while self.clock.timers and self.clock.timers[0] <= clock_ms:
            due_ms = heapq.heappop(self.clock.timers)
            self.clock.now = max(self.clock.now, due_ms)
            self.machine.on_timer(due_ms)
        self.clock.now = max(self.clock.now, clock_ms)

    def send(self, source: str, *events: tuple[int, int]) -> None:
        """A chunk of (timestamp, value); the clock moves first."""
        if self.cut:
            self.again()
        self.advance(events[-1][0])
        self._receivers[source]([StreamEvent(ts, (v,)) for ts, v in events])

    def play(self, script: str) -> list[tuple[Any, ...]]:
        """`A 1000 1; B 2000 2; T 3000`: events, and T for time alone. Gives all rows so far."""
        for step in script.split(";"):
            words = step.split()
            if words[0] == "T":
                self.advance(int(words[1]))
            else:
                self.send(words[0], (int(words[1]), int(words[2])))
        return [row for chunk in self.chunks for row in chunk]
