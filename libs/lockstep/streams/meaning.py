"""The handlers of one input stream as a chain: filters, stream functions, at most one window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.operators.contract import Emit, StreamEvent
from lockstep.operators.runtime.context import EngineContext
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedStream
from lockstep.windows.chunks import nowhere
from lockstep.windows.registry import build_window


class FilterLink:
    """Keeps the events whose condition is exactly true; RESET marks pass (semantics 3)."""

    __slots__ = ("_condition", "emit")

    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        """See operators.contract."""
        condition = self._condition
        kept = [event for event in chunk if event.kind > 1 or condition(event)]
        if kept:
            self.emit(kept)


class Chain:
    """A CheckedStream's handlers. `receive` takes the source's chunks, `emit` gets what is left."""

    def __init__(self, stream: CheckedStream, context: EngineContext) -> None:
        self.window: Any = None
        self._links: list[Any] = []
        for index, handler in enumerate(stream.handlers):
            before = stream.handlers[index - 1].schema if index else stream.source_schema
            self._links.append(self._link(handler, before, context.child(f"handler_{index}")))
        for link, following in zip(self._links, self._links[1:], strict=False):
            link.emit = following.process

    def _link(self, handler: CheckedHandler, before: Any, context: EngineContext) -> Any:
        match handler.handler:
            case ast.Filter(condition=condition):
                return FilterLink(context.expressions.filter(condition, handler.scope))
            case ast.WindowHandler(call=call):
                self.window = build_window(call, handler.scope, before, context)
                return self.window
            case ast.StreamFunction(call=call):
                from lockstep.stream_functions.build import build_stream_function

                return build_stream_function(call, handler, before, context)

    def connect(self, emit: Emit) -> Emit:
        """Ends the chain in `emit` and gives the function that takes the source's chunks."""
        if not self._links:
            return emit
        self._links[-1].emit = emit
        receive: Emit = self._links[0].process
        return receive


class StreamInput:
    """A query's single input stream (InputRuntime)."""

    def __init__(self, stream: CheckedStream, context: EngineContext) -> None:
        self._source = stream.input.source
        self._chain = Chain(stream, context)
        self.emit: Emit = nowhere

    @property
    def window(self) -> Any:
        """The window of the chain, or None."""
        return self._chain.window

    def receivers(self) -> list[tuple[str, Emit]]:
        """See operators.contract.InputRuntime."""
        return [(self._source, self._chain.connect(self.emit))]

    def start(self) -> None:
        """Windows that run by the clock from the start get it going."""
        start = getattr(self._chain.window, "start", None)
        if start is not None:
            start()
