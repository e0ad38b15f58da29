"""Stream functions in front of columns: their meaning takes each chunk, and what comes of it goes
on in columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Unfit, from_values
from lockstep.columns.rule import NotLowerable
from lockstep.events import StreamSchema, describe
from lockstep.expressions.compiler import compile_condition, compile_expression
from lockstep.functions.columns import Probe
from lockstep.operators.contract import CURRENT, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler
from lockstep.siddhiql.scope import Scope
from lockstep.stream_functions.call import Buffering, StreamLink
from lockstep.stream_functions.registry import build_stream_function

_STATE = "stream_function"


class _Site(Probe):
    """What a stream function may ask of its surroundings."""

    def __init__(self, *, is_siddhi_5_1: bool) -> None:
        self.is_siddhi_5_1 = is_siddhi_5_1
        self.now = 0
        self.registered = False

    def now_ms(self) -> int:
        return self.now

    def register(self, name: str, operator: Any) -> None:
        """State of its own, but not of functions among its arguments."""
        if name != _STATE:
            super().register(name, operator)
        self.registered = True

    def model(self, name: str, make: Callable[[], Any]) -> Any:
        """What queries share is asked in their order, event by event."""
        raise NotLowerable(f"a stream function that shares the model {name}")

    def schedule(self, target: Any, due_ms: int, *, wall: bool = False) -> None:
        """Timers are asked for when events come."""
        raise Unfit("a stream function that asks for a timer")

    def compile(self, expression: ast.Expression, scope: Scope) -> Callable[[Any], Any]:
        return compile_expression(expression, scope, self)

    def compile_condition(self, expression: ast.Expression, scope: Scope) -> Callable[[Any], bool]:
        return compile_condition(expression, scope, self)


class HostedFunction:
    """A handler of a query; it has a link per partition instance if the links have state.

    Raises NotLowerable for stream functions with timers, and those that take rows back.
    """

    def __init__(
        self, checked: CheckedHandler, before: StreamSchema, index: int, *, is_siddhi_5_1: bool
    ) -> None:
        assert isinstance(checked.handler, ast.StreamFunction)
        call = checked.handler.call
        self._site: Any = _Site(is_siddhi_5_1=is_siddhi_5_1)
        self._make: Callable[[], StreamLink] = lambda: build_stream_function(
            call, checked.scope, before, self._site
        )
        self._types = checked.schema.types
        self._path = f"handler_{index}/{_STATE}"
        self._links: dict[int, Any] = {}
        self._emitted: list[list[StreamEvent]] = []
        kind: Any = type(self._link(0))
        if getattr(kind, "on_timer", Buffering.on_timer) is not Buffering.on_timer:
            raise NotLowerable("a stream function with timers")
        if getattr(kind, "brings_expired", False):
            raise NotLowerable("a stream function that takes rows back")
        self.has_state: bool = self._site.registered

    def _link(self, realm: int) -> Any:
        link = self._links.get(realm)
        if link is None:
            link = self._links[realm] = self._make()
            link.emit = self._emitted.append
        return link

    def run(self, chunks: Chunks) -> Chunks:
        """What comes of a slice's chunks; one that brings nothing is gone."""
        rows = zip(*(column.to_pylist() for column in chunks.columns), strict=True)
        events = list(map(StreamEvent, chunks.times.tolist(), rows))
        starts, now = chunks.starts.tolist(), chunks.now.tolist()
        realms = None if chunks.keys is None or not self.has_state else chunks.keys.tolist()
        out: list[StreamEvent] = []
        kept: list[int] = []
        ends = [0]
        for number in range(chunks.count):
            link = self._link(realms[number] if realms else 0)
            self._site.now = now[number]
            brought = self._brought(link, events[starts[number] : starts[number + 1]])
            if brought:
                kept.append(number)
                out += brought
                ends.append(len(out))
        index = np.array(kept, np.int64)
        return Chunks(
            tuple(from_values(t, [e.data[i] for e in out]) for i, t in enumerate(self._types)),
            np.array([event.timestamp_ms for event in out], np.int64),
            np.array(ends, np.int64),
            chunks.order.take(index),
            chunks.now[index],
            None if chunks.keys is None else chunks.keys[index],
        )

    def _brought(self, link: StreamLink, chunk: list[StreamEvent]) -> list[StreamEvent]:
        try:
            link.process(chunk)
        except PROCESSING_ERRORS as error:
            raise Unfit(f"a stream function refuses an event: {describe(error)}") from error
        emitted = self._emitted[:]
        self._emitted.clear()
        if len(emitted) > 1 or any(event.kind != CURRENT for part in emitted for event in part):
            raise Unfit("a stream function that brings more than one chunk of current events")
        return emitted[0] if emitted else []

    def store(self, paths: Iterator[tuple[int, str]]) -> Iterator[tuple[str, Any]]:
        """(path, state as the reference has it) of each partition instance."""
        for realm, path in paths if self.has_state else ():
            yield f"{path}/{self._path}", self._link(realm).snapshot()

    def load(self, paths: Iterator[tuple[int, str]], states: dict[str, Any]) -> None:
        for realm, path in paths if self.has_state else ():
            self._link(realm).restore(states[f"{path}/{self._path}"])
