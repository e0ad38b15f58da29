"""Sinks with a store in memory and destinations that do as they are told."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import OutputId, OutputRow, StreamSchema, UnavailableError
from lockstep.mapping import MessageWriter, build_distribution, destinations
from lockstep.siddhiql import ast, check
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep_services.publisher.contract import SinkBinding
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.lanes import MessageLane


class Cursors:
    """Remembers what was put, in order."""

    def __init__(self) -> None:
        self.kept: dict[str, int] = {}
        self.puts: list[tuple[str, int]] = []

    async def get(self, sink: str) -> int:
        return self.kept.get(sink, 0)

    async def put(self, sink: str, sequence: int) -> None:
        self.kept[sink] = max(sequence, self.kept.get(sink, 0))
        self.puts.append((sink, sequence))

    async def note(self, name: str) -> str:
        raise NotImplementedError

    async def put_note(self, name: str, text: str) -> None:
        raise NotImplementedError

    async def names(self, app: str | None) -> Sequence[str]:
        raise NotImplementedError

    async def delete(self, names: Sequence[str]) -> int:
        raise NotImplementedError


class KilledError(Exception):
    """The publisher is gone."""


class Mortal(Cursors):
    """A store whose publisher is killed before its cursor moves, as often as told."""

    deaths = 0

    async def put(self, sink: str, sequence: int) -> None:
        if self.deaths:
            self.deaths -= 1
            raise KilledError
        await super().put(sink, sequence)


class Told(Sink):
    """Takes messages unless told otherwise: by payload, `away` or `refused`."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.away: set[str] = set()
        self.refused: set[str] = set()
        self.is_away = False

    @property
    def texts(self) -> list[str]:
        return [message.payload.decode() for message in self.taken]

    async def send(self, message: Message) -> None:
        text = message.payload.decode()
        if self.is_away or text in self.away:
            raise UnavailableError("away")
        if text in self.refused:
            raise MessageRefusedError("unlucky")
        self.taken.append(message)


def sink_of(definition: str) -> tuple[StreamSchema, ast.Annotation]:
    """The schema and the first @sink of `@sink(…) define stream …`."""
    checked = check(definition)
    (found,) = checked.app.definitions
    assert isinstance(found, ast.StreamDefinition)
    return checked.streams[found.name], found.annotations[0]


def stored_sink(
    definition: str, tolds: Sequence[Sink], cursors: Cursors | None = None
) -> StoredCursorSink:
    """A sink over given destinations, as the publisher builds it from an app's text."""
    schema, annotation = sink_of(definition)
    binding = SinkBinding("A", schema, "S.0.log")
    places = destinations(annotation)
    assert len(places) == len(tolds)
    lanes = [
        MessageLane(binding, MessageWriter(schema, each), told)
        for each, told in zip(places, tolds, strict=True)
    ]
    return StoredCursorSink(
        binding, cursors or Cursors(), build_distribution(schema, annotation), lanes
    )


def row(position: int, *data: object, ordinal: int = 0) -> OutputRow:
    """A row of stream S."""
    return OutputRow(OutputId(position, ordinal), "S", 1_000 + position, tuple(data))
