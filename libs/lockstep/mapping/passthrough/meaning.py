"""passThrough: event objects as they are, between in-process transports (the default)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import Event, StreamSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.reading import PayloadReader
from lockstep.siddhiql import ast


class PassThroughSource(PayloadReader):
    """Takes an Event, a row of values, or a list of either (one chunk)."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._schema = schema

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        items = payload if self._is_group(payload) else [payload]
        reading = Reading()
        chunk = []
        for item in items:
            if isinstance(item, Event):
                chunk.append(item)
            elif isinstance(item, (list, tuple)):
                chunk.append(Event(now_ms, tuple(item)))
            else:
                kind = type(item).__name__
                reading.refused.append(MappingError(f"{kind} is no event", where=self._schema.name))
        if chunk:
            reading.chunks.append(chunk)
        return reading

    @staticmethod
    def _is_group(payload: Any) -> bool:
        if not isinstance(payload, (list, tuple)) or not payload:
            return False
        return all(isinstance(item, (Event, list, tuple)) for item in payload)


class PassThroughSink:
    """Gives one Event as it is, several as a list."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._schema = schema

    def write(self, events: Sequence[Event]) -> list[Any]:
        return [events[0]] if len(events) == 1 else [list(events)]
