"""Listens to every stream and query of an engine, for tests."""

from __future__ import annotations

from lockstep.events import Event
from lockstep.execute.observe import Observation, Observe, QueryChunk, StreamChunk
from lockstep.execute.reference.engine import Engine
from lockstep.operators.contract import EXPIRED, StreamEvent


def _events(chunk: list[StreamEvent], *, expired: bool) -> tuple[Event, ...]:
    return tuple(
        Event(event.timestamp_ms, event.data, expired)
        for event in chunk
        if (event.kind == EXPIRED) is expired
    )


class Observer:
    """Collects observations until they are taken."""

    def __init__(self, engine: Engine, observe: Observe) -> None:
        self._seen: list[Observation] = []
        for name, junction in engine.junctions.items():
            self._listen_stream(junction, name)
        for name, query in engine.queries.items():
            self._listen_query(query, name)
        if observe is Observe.ALL:
            engine.on_inner_query = self._listen_query

    def _listen_stream(self, junction: object, name: str) -> None:
        def listen(chunk: list[StreamEvent]) -> None:
            events = tuple(Event(e.timestamp_ms, e.data, e.kind == EXPIRED) for e in chunk)
            self._seen.append(StreamChunk(name, events))

        junction.listen(listen)  # type: ignore[attr-defined]

    def _listen_query(self, query: object, name: str) -> None:
        def listen(chunk: list[StreamEvent]) -> None:
            current = _events(chunk, expired=False)
            self._seen.append(QueryChunk(name, current, _events(chunk, expired=True)))

        query.listeners.append(listen)  # type: ignore[attr-defined]

    def take(self) -> list[Observation]:
        """What was seen since the last call, in order."""
        taken, self._seen = self._seen, []
        return taken
