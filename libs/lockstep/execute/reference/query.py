"""A query in motion: input → selector → rate limiter → output, on one context; and the inner
queries of one key of a partition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from lockstep.execute.reference.context import EngineContext
from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.junction import (
    Junction,
    deliver_in_order,
    deliver_to_all,
)
from lockstep.joins.meaning import build_join
from lockstep.operators.contract import CURRENT, Emit, InputRuntime, StreamEvent
from lockstep.operators.placing import placed
from lockstep.patterns.meaning import build_pattern
from lockstep.plan import PartitionNode
from lockstep.rates.meaning import build_rate
from lockstep.selection.meaning import Selector, wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedPattern, CheckedQuery, SourceKind
from lockstep.streams.meaning import StreamInput
from lockstep.tables.meaning import build_action as build_table_action

QueryListener = Callable[[list[StreamEvent]], None]


def build_input(query: CheckedQuery, context: EngineContext) -> InputRuntime:
    """The runtime of the query's input: one stream, a join, or a pattern."""
    match query.input:
        case CheckedJoin():
            return build_join(query, context)
        case CheckedPattern():
            return build_pattern(query, context)
        case stream:
            return StreamInput(stream, context)


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
        if query.query.rate is None and wanted_kind(action, is_snapshot=False) == CURRENT:
            return target  # the selector lets no other go
        return lambda chunk: target(as_current(chunk))
    return build_table_action(query, context).process


class QueryRuntime:
    """A query's links, connected. Listeners see the rows in front of the action."""

    def __init__(self, query: CheckedQuery, context: EngineContext) -> None:
        self.name = query.name
        self._rows = context.query_rows
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
            self._rows[self.name] += len(chunk)
            self._act(chunk)

    def _deliver_rated(self, chunk: list[StreamEvent]) -> None:
        # Rows that went through a limiter know their origin; what flows on must not keep it.
        self._deliver([StreamEvent(row.timestamp_ms, row.data, row.kind) for row in chunk])

    def start(self) -> None:
        """Called once when the app or the partition instance starts (and nothing was restored)."""
        self.input.start()
        if self._rate is not None:
            self._rate.start()


class Instance:
    """The inner queries of one key of a partition, and what each outer source delivers to."""

    __slots__ = ("_engine", "_paths", "_queries", "_sources")

    def __init__(self, engine: Engine, node: PartitionNode, path: str) -> None:
        before = len(engine.operators)
        inner = {name: Junction(name, engine.failed, engine.meter) for name in node.partition.inner}
        self._engine = engine
        self._sources: dict[str, list[Emit]] = {}
        self._queries: list[QueryRuntime] = []
        for query in node.queries:
            with placed(query.query.query.at):
                context = EngineContext(engine, f"{path}/{query.path}", inner)
                runtime = QueryRuntime(query.query, context)
            self._queries.append(runtime)
            if engine.on_inner_query is not None:
                engine.on_inner_query(runtime, query.name)
            for source, receive in runtime.receivers:
                if source.startswith("#"):
                    inner[source].subscribe(receive)
                else:
                    self._sources.setdefault(source, []).append(receive)
        # From behind: the app may hold the operators of a million other instances.
        own = len(engine.operators) - before
        self._paths = list(islice(reversed(engine.operators), own))

    def start(self) -> None:
        for query in self._queries:
            query.start()

    def deliver(self, source: str, chunk: list[StreamEvent]) -> None:
        receivers = self._sources.get(source, ())
        if source in self._engine.windows:
            deliver_to_all(receivers, chunk)
        else:
            deliver_in_order(receivers, chunk)

    def close(self) -> None:
        self._engine.forget(self._paths)
