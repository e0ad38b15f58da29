"""The handlers of one input stream as a chain: filters, stream functions, at most one window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.aggregators.rows import compile_output_condition
from lockstep.operators.contract import Context, Emit, PlainState, StreamEvent, nowhere
from lockstep.plan.fleet.keys import is_pure
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedStream, SourceKind
from lockstep.siddhiql.scope import Scope
from lockstep.stream_functions.registry import build_stream_function
from lockstep.streams.behind import FilterBehind, function_behind
from lockstep.windows.registry import build_window


class FilterLink:
    """Keeps the events whose condition is exactly true; RESET marks pass (semantics 3)."""

    __slots__ = ("_condition", "emit")

    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        condition = self._condition
        kept = [event for event in chunk if event.kind > 1 or condition(event)]
        if kept:
            self.emit(kept)


class _FilterAggregates:
    """The running aggregators of a filter, as state."""

    def __init__(self, aggregators: list[Any]) -> None:
        self.aggregators = aggregators

    def snapshot(self) -> PlainState:
        """The aggregators' states in order."""
        return [aggregator.snapshot() for aggregator in self.aggregators]

    def restore(self, state: PlainState) -> None:
        for aggregator, saved in zip(self.aggregators, state, strict=True):
            aggregator.restore(saved)


def _filter(
    expression: ast.Expression, scope: Scope, context: Context
) -> tuple[Callable[[Any], bool], bool]:
    """A filter's condition; aggregators in it keep running values (grammar 8.1). And whether there
    are any."""
    condition, makers = compile_output_condition(expression, scope, context)
    if not makers:
        return context.compile_condition(expression, scope), False
    aggregates = _FilterAggregates([make() for make in makers])
    context.register("filter", aggregates)
    return (lambda event: condition(event, (), aggregates.aggregators)), True


class Chain:
    """A CheckedStream's handlers. `receive` takes the source's chunks, `emit` gets what is left."""

    def __init__(self, stream: CheckedStream, context: Context) -> None:
        self.window: Any = None
        self._is_named_window = stream.kind is SourceKind.WINDOW
        self._links: list[Any] = []
        for index, handler in enumerate(stream.handlers):
            before = stream.handlers[index - 1].schema if index else stream.source_schema
            self._links.append(self._link(handler, before, context.child(f"handler_{index}")))
        for link, following in zip(self._links, self._links[1:], strict=False):
            link.emit = following.process

    def _link(self, handler: CheckedHandler, before: Any, context: Context) -> Any:
        is_behind = self.window is not None or self._is_named_window
        match handler.handler:
            case ast.Filter(condition=expression):
                condition, runs = _filter(expression, handler.scope, context)
                if not is_behind:
                    return FilterLink(condition)
                return FilterBehind(condition, tells_leaving=runs or not is_pure(expression))
            case ast.WindowHandler(call=call):
                self.window = build_window(call, handler.scope, before, context)
                return self.window
            case ast.StreamFunction(call=call):
                link = build_stream_function(call, handler.scope, before, context)
                if is_behind:
                    return function_behind(link, tells_leaving=not is_pure(call))
                return link

    def connect(self, emit: Emit) -> Emit:
        """Ends the chain in `emit` and gives the function that takes the source's chunks."""
        if not self._links:
            return emit
        self._links[-1].emit = emit
        receive: Emit = self._links[0].process
        return receive


class StreamInput:
    """A query's single input stream (InputRuntime)."""

    def __init__(self, stream: CheckedStream, context: Context) -> None:
        self._source = stream.input.source
        self._chain = Chain(stream, context)
        self.emit: Emit = nowhere

    @property
    def window(self) -> Any:
        """The window of the chain, or None."""
        return self._chain.window

    def receivers(self) -> list[tuple[str, Emit]]:
        return [(self._source, self._chain.connect(self.emit))]

    def start(self) -> None:
        """Windows that run by the clock from the start get it going."""
        start = getattr(self._chain.window, "start", None)
        if start is not None:
            start()
