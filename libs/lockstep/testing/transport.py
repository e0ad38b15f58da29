"""The app's in-memory sources and sinks on a bus that the test holds in its hand (semantics 22)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lockstep.connectors.in_memory import topic_of
from lockstep.events import Event, StreamSchema
from lockstep.mapping import (
    MappingError,
    Template,
    annotated,
    build_distribution,
    destinations,
    grouped,
    map_of,
    sink_mapper,
    source_mapper,
)
from lockstep.mapping.reading import UNMAPPABLE
from lockstep.plan import AppPlan
from lockstep.siddhiql import ast

Message = tuple[str, Any]
"""(topic, payload)."""


class MemorySource:
    """One `@source(type='inMemory', topic=…)`."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.stream = schema.name
        self.topic = topic_of(annotation)
        self._mapper = source_mapper(schema, map_of(annotation))
        self.refused: list[MappingError] = []

    def read(self, payload: Any, now_ms: int) -> list[list[Event]]:
        """The chunks that a payload brings; what is unreadable in it is noted in `refused`."""
        reading = self._mapper.read(payload, now_ms)
        self.refused += reading.refused
        return reading.chunks


class MemorySink:
    """One `@sink(type='inMemory', topic=…)`, possibly distributed over several topics."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._mapper = sink_mapper(schema, map_of(annotation))
        self._distribution = build_distribution(schema, annotation)
        self._topics = [
            Template(place.get("topic") or "", schema, place) for place in destinations(annotation)
        ]

    def messages(self, events: Sequence[Event]) -> Iterator[Message]:
        """What the events of one chunk become; a chunk that cannot be written becomes nothing."""
        for at, part in self._distribution.route(events, [True] * len(self._topics)):
            if at is None:
                continue
            for (topic,), group in grouped([self._topics[at]], part):
                try:
                    payloads = self._mapper.write(group)
                except UNMAPPABLE:
                    continue
                for payload in payloads:
                    yield topic, payload


class MemoryTransport:
    """All in-memory sources and sinks of an app; what its sinks publish is kept in order."""

    def __init__(self, plan: AppPlan) -> None:
        self.sources: list[MemorySource] = []
        self.published: list[Message] = []
        self._sinks: dict[str, list[MemorySink]] = {}
        for schema, _, source in annotated(plan.checked, "source"):
            if _is_ours(source):
                self.sources.append(MemorySource(schema, source))
        for schema, _, sink in annotated(plan.checked, "sink"):
            if _is_ours(sink):
                self._sinks.setdefault(schema.name, []).append(MemorySink(schema, sink))

    def carried(self, stream: str, events: Sequence[Event]) -> None:
        """A stream has carried a chunk: its sinks publish."""
        for sink in self._sinks.get(stream, ()):
            self.published += sink.messages(events)


def _is_ours(annotation: ast.Annotation) -> bool:
    return (annotation.get("type") or "").lower() == "inmemory"
