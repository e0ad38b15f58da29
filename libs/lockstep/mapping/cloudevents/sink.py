"""`@map(type='cloudevents')` of sinks: events into CloudEvents 1.0 in JSON (extensions 13.9)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType, Event, LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping.cloudevents.envelope import envelope
from lockstep.mapping.contract import MappingError
from lockstep.mapping.numbers import as_json
from lockstep.mapping.one_text import one_text
from lockstep.mapping.options import flag, nested
from lockstep.mapping.templates import Template
from lockstep.siddhiql import ast


class CloudEventsSink:
    """A structured event each, `data` with a member per attribute or as `@payload` says; groups
    are arrays (batch mode), also those of one event.

    The id is the output's identity. Where nobody knows that, outside a publisher, it is made of
    the event's time and data: so it is the same when the event comes again.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        def option(key: str, default: str) -> Template:
            return Template(annotation.get(key) or default, schema, annotation)

        self._source = option("event.source", "/lockstep")
        self._type = option("event.type", f"lockstep.{schema.name}")
        self._subject = option("event.subject", schema.name)
        self._groups = flag(annotation, "event.grouping.enabled", False)
        self._members = [
            (json_documents.quoted(a.name) + ":", a.type is AttributeType.FLOAT)
            for a in schema.attributes
        ]
        self._template: Template | None = None
        payload = nested(annotation, "payload")
        if payload is not None:
            self._template = Template(one_text(payload), schema, payload)

    def write(self, events: Sequence[Event]) -> list[Any]:
        return self.identified(events, ())

    def identified(self, events: Sequence[Event], identities: Sequence[str]) -> list[Any]:
        """The same, with the identity of each event if there are any."""
        texts = [
            self._event(event, identities[index] if identities else None)
            for index, event in enumerate(events)
        ]
        return [f"[{','.join(texts)}]"] if self._groups else texts

    def _event(self, event: Event, identity: str | None) -> str:
        data = self._data(event)
        if identity is None:
            made_of = f"{event.timestamp_ms} {data}".encode(errors="surrogatepass")
            identity = hashlib.sha256(made_of).hexdigest()[:32]
        around = envelope(
            identity,
            self._type.fill(event),
            self._source.fill(event),
            self._subject.fill(event),
            event.timestamp_ms,
        )
        return f'{json_documents.text(around)[:-1]},"data":{data}}}'

    def _data(self, event: Event) -> str:
        if self._template is not None:
            text = self._template.fill(event)
            try:
                json_documents.parse(text)
            except LockstepError as error:
                raise MappingError(f"the data is {error.message}") from error
            return text
        parts = [
            name + as_json(value, single=single)
            for (name, single), value in zip(self._members, event.data, strict=True)
        ]
        return f"{{{','.join(parts)}}}"
