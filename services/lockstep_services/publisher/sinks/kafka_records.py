"""Rows as Kafka records: where each goes, under which key, with which number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.connectors.kafka import is_partition, is_topic
from lockstep.events import OutputRow
from lockstep.mapping import MappingError, MessageWriter, build_distribution, destinations
from lockstep.schemas import SchemaUser
from lockstep.siddhiql import SiddhiQLError, ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.connectors import options_of
from lockstep.siddhiql.parts import pairs
from lockstep_services.publisher.contract import (
    RefusedRow,
    SinkBinding,
    SinkSetupError,
    event_of,
)
from lockstep_services.publisher.sinks.lanes import chunks, message_id, written

ID_HEADER: Final = "Lockstep-Id"
ORDINALS: Final = 1_000_000  # a position's rows in the numbers of `sequence.id`

SHOWN_CHARACTERS: Final = 200

ClientSettings = Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Record:
    """What one message becomes; `rows` are those that it stands for."""

    rows: Sequence[OutputRow]
    produced: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Destination:
    writer: MessageWriter
    options: Mapping[str, str]


class Records:
    """Makes the records of one sink; SinkSetupError when its annotation cannot work."""

    def __init__(self, binding: SinkBinding, annotation: ast.Annotation) -> None:
        self._binding = binding
        try:
            self._distribution = build_distribution(binding.schema, annotation)
            self._destinations = [
                _Destination(
                    MessageWriter(binding.schema, each), options_of(ExtensionKind.SINK, each)
                )
                for each in destinations(annotation)
            ]
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=binding.key, hint=error.hint) from error
        self._owing: list[MessageWriter] = []
        first = self._destinations[0].options
        self.settings: ClientSettings = {
            "bootstrap.servers": first["bootstrap.servers"],
            **dict(pairs(first.get("optional.configuration", ""), ":")),
        }
        topics = {each.options["topic"] for each in self._destinations}
        only = topics.pop() if len(topics) == 1 else "{{"
        self.only_topic = None if "{{" in only else only

    @property
    def schema_users(self) -> Sequence[SchemaUser]:
        """Who of the destinations wants schemas of a registry."""
        found = (each.writer.schema_user for each in self._destinations)
        return [user for user in found if user is not None]

    def of(self, rows: Sequence[OutputRow]) -> Iterator[Record | RefusedRow]:
        """All records in order; those of a call that was not committed may go elsewhere again."""
        self._owing = [each.writer for each in self._destinations if each.writer.owes_header]
        active = [True] * len(self._destinations)
        for together, events in chunks(rows):
            by_event = {id(event): row for row, event in zip(together, events, strict=True)}
            for number, part in self._distribution.route(events, active):
                if number is None:
                    continue
                destination = self._destinations[number]
                for group in destination.writer.groups(part):
                    mine = [by_event[id(event)] for event in group]
                    yield from self._made(destination, mine)

    def not_committed(self) -> None:
        """What the last call has made is made again: the names of a table, too."""
        for writer in self._owing:
            writer.begin_file(is_empty=True)

    def _made(
        self, destination: _Destination, rows: Sequence[OutputRow]
    ) -> Iterator[Record | RefusedRow]:
        fit, value, refused = written(self._binding, destination.writer, rows)
        yield from refused
        if not fit:
            return
        try:
            yield Record(fit, self._produced(destination, fit, value))
        except (MappingError, _UnfitError) as error:
            for row in fit:
                yield RefusedRow(row, str(error))

    def _produced(
        self, destination: _Destination, rows: Sequence[OutputRow], value: bytes
    ) -> Mapping[str, Any]:
        writer, options = destination.writer, destination.options
        first = rows[0]
        event = event_of(first)
        if "sequence.id" in options:
            number = first.id.position * ORDINALS + first.id.ordinal
            value = f"{options['sequence.id']}:{number}~".encode() + value
        record: dict[str, Any] = {
            "topic": _topic(writer.fill(options["topic"], event)),
            "value": value,
            # No timestamp: brokers delete records by it, and rows may be of long ago.
            "headers": {
                ID_HEADER: message_id(self._binding, rows),
                "Content-Type": writer.content_type,
            },
        }
        if "key" in options:
            record["key"] = writer.fill(options["key"], event)
        wanted = options.get("partition.no", None if "key" in options else "0")
        if wanted is not None:
            record["partition"] = _partition(writer.fill(wanted, event))
        return record


class _UnfitError(ValueError):
    """What an event brought makes no record."""


def _topic(text: str) -> str:
    if not is_topic(text):
        raise _UnfitError(f"topic is {text[:SHOWN_CHARACTERS]!r}, no name of a topic")
    return text


def _partition(text: str) -> int:
    if not is_partition(text):
        raise _UnfitError(f"partition.no is {text[:SHOWN_CHARACTERS]!r}, no number of a partition")
    return int(text)
