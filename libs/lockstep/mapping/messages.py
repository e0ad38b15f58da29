"""Events as messages that leave the process: payload bytes, content type, filled options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from lockstep.events import Event, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping.cloudevents.envelope import BATCH_MEDIA_TYPE, MEDIA_TYPE
from lockstep.mapping.cloudevents.sink import CloudEventsSink
from lockstep.mapping.connectors import map_of
from lockstep.mapping.contract import UsesRegistry
from lockstep.mapping.csv.sink import CsvSink
from lockstep.mapping.keyvalue.meaning import KeyValueSink
from lockstep.mapping.options import flag
from lockstep.mapping.reading import UNMAPPABLE, refusal
from lockstep.mapping.registry import sink_mapper
from lockstep.mapping.templates import Template, grouped
from lockstep.schemas import SchemaUser
from lockstep.siddhiql import ast

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "xml": "application/xml",
    "keyvalue": "application/x-www-form-urlencoded",
    "csv": "text/csv",
    "msgpack": "application/msgpack",
    "avro": "application/avro",
    "protobuf": "application/protobuf",
    "binary": "application/octet-stream",
    "binarypassthrough": "application/octet-stream",
    "cloudevents": MEDIA_TYPE,
}
MAX_TEMPLATES: Final = 256
"""Texts kept ready for filling; a sink that makes up texts of its own begins anew."""

PLAIN: Final = ast.Annotation(
    "map", (ast.Element("type", "json"), ast.Element("enable.null.attribute.value", "true"))
)
"""What passThrough means outside a process, where there are no event objects to pass on."""


class MessageWriter:
    """Writes the messages of one `@sink` (or one of its destinations).

    Each event is a message of its own, so that each has its own identity; those of one chunk share
    one when `event.grouping.enabled` is 'true' and their options are equal. Raises SiddhiQLError
    for an annotation that cannot work.
    """

    def __init__(self, schema: StreamSchema, sink: ast.Annotation) -> None:
        self._schema = schema
        self._sink = sink
        chosen = map_of(sink)
        kind = (chosen.get("type") or "").lower() if chosen is not None else "passthrough"
        self.is_plain = kind == "passthrough"
        if chosen is None or self.is_plain:
            chosen, kind = PLAIN, "json"
        self._mapper = sink_mapper(schema, chosen)
        self.is_grouping = flag(chosen, "event.grouping.enabled", False)
        self.content_type = CONTENT_TYPES.get(kind, "text/plain")
        self.bears_identity = isinstance(self._mapper, CloudEventsSink)
        if self.bears_identity and self.is_grouping:
            self.content_type = BATCH_MEDIA_TYPE
        self._templates: dict[str, Template] = {}
        self._options = [
            self._template(element.value) for element in sink.elements if "{{" in element.value
        ]

    @property
    def schema_user(self) -> SchemaUser | None:
        """Who wants schemas of a registry before it writes, if anybody does."""
        return self._mapper.registered if isinstance(self._mapper, UsesRegistry) else None

    def groups(self, chunk: Sequence[Event]) -> list[list[Event]]:
        """The events of a chunk, message by message; each its own where one cannot be filled into
        an option, so that it is refused alone."""
        if self.is_grouping:
            try:
                return [events for _, events in grouped(self._options, chunk)]
            except UNMAPPABLE:
                pass  # told by `fill`
        return [[event] for event in chunk]

    def write(self, events: Sequence[Event], identities: Sequence[str] = ()) -> bytes:
        """The payload of one message; MappingError when an event cannot be written.

        `identities`: those of the events, where `bears_identity` says that the form has a place.
        """
        try:
            if isinstance(self._mapper, CloudEventsSink):
                payloads = self._mapper.identified(events, identities)
            elif isinstance(self._mapper, KeyValueSink):
                payloads = [urlencode(self._mapper.texts(event)) for event in events]
            else:
                payloads = self._mapper.write(events)
            return b"".join(_as_bytes(payload) for payload in payloads)
        except UNMAPPABLE as error:
            raise refusal(error) from error

    @property
    def owes_header(self) -> bool:
        """What is written next has the names of a table in front of it."""
        return isinstance(self._mapper, CsvSink) and self._mapper.owes_header

    def begin_file(self, *, is_empty: bool) -> None:
        """What is written stands at the top of a file, or goes on behind what stands in it."""
        if isinstance(self._mapper, CsvSink):
            self._mapper.owes_header = is_empty and self._mapper.has_header

    def fill(self, text: str, event: Event) -> str:
        """An option of the annotation, or a part of one, with the event's values in it;
        MappingError when it cannot be filled."""
        template = self._template(text)
        try:
            return template.fill(event)
        except UNMAPPABLE as error:
            raise refusal(error) from error

    def named(self, event: Event) -> dict[str, Any]:
        """Values by attribute name."""
        return dict(zip(self._schema.names, event.data, strict=True))

    def _template(self, text: str) -> Template:
        template = self._templates.get(text)
        if template is None:
            if len(self._templates) >= MAX_TEMPLATES:
                self._templates.clear()
            template = self._templates[text] = Template(text, self._schema, self._sink)
        return template


def _as_bytes(payload: Any) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode()
    return json_documents.text(payload).encode()
