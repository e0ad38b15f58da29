"""A query in motion: input → selector → rate limiter → output, on one context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import CURRENT, Emit, InputRuntime, StreamEvent
from lockstep.operators.runtime.context import EngineContext
from lockstep.rates.meaning import build_rate
from lockstep.selection.meaning import Selector
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    SourceKind,
)
from lockstep.streams.meaning import StreamInput

QueryListener = Callable[[list[StreamEvent]], None]


def build_input(query: CheckedQuery, context: EngineContext) -> InputRuntime:
    """The runtime of the query's input: one stream, a join, or a pattern."""
    if isinstance(query.input, CheckedJoin):
        from lockstep.joins.meaning import build_join

        joined: InputRuntime = build_join(query, context)
        return joined
    if isinstance(query.input, CheckedPattern):
        from lockstep.patterns.meaning import build_pattern

        matched: InputRuntime = build_pattern(query, context)
        return matched
    return StreamInput(query.input, context)


def as_current(chunk: list[StreamEvent]) -> list[StreamEvent]:
    """The rows as they arrive in a stream: all current (semantics 1)."""
    for row in chunk:
        if row.kind != CURRENT:
            return [
                row if row.kind == CURRENT else StreamEvent(row.timestamp_ms, row.data)
                for row in chunk
            ]
    return chunk


def build_action(query: CheckedQuery, context: EngineContext) -> Emit:
    """What takes the query's rows: a stream, a named window, or a table action."""
    action = query.query.action
    if isinstance(action, ast.InsertInto) and query.target_kind is not SourceKind.TABLE:
        if query.target_kind is SourceKind.WINDOW:
            target: Emit = context.window(action.target).process
        else:
            target = context.junction(action.target).send
        return lambda chunk: target(as_current(chunk))
    from lockstep.tables.meaning import build_action as build_table_action

    take: Emit = build_table_action(query, context).process
    return take


class QueryRuntime:
    """A query's links, connected. Listeners see the rows in front of the action."""

    def __init__(self, query: CheckedQuery, context: EngineContext) -> None:
        self.name = query.name
        self.listeners: list[QueryListener] = []
        self.input = build_input(query, context)
        selector = Selector(query, context)
        self.input.emit = selector.process
        stepped: Any = self.input
        if hasattr(stepped, "emit_each"):
            stepped.emit_each = selector.process_each
        self._act = build_action(query, context)
        rate = query.query.rate
        self._rate: Any = None if rate is None else build_rate(query, context)
        if self._rate is None:
            selector.emit = self._deliver
        else:
            selector.emit = self._rate.process
            self._rate.emit = self._deliver_rated
        self.receivers = list(self.input.receivers())

    def _deliver(self, chunk: list[StreamEvent]) -> None:
        for listen in self.listeners:
            listen(chunk)
        if chunk:
            self._act(chunk)

    def _deliver_rated(self, chunk: list[StreamEvent]) -> None:
        # Rows that went through a limiter know their origin; what flows on must not keep it.
        self._deliver([StreamEvent(row.timestamp_ms, row.data, row.kind) for row in chunk])

    def start(self) -> None:
        """Called once when the app or the partition instance starts (and nothing was restored)."""
        self.input.start()
        if self._rate is not None:
            self._rate.start()
