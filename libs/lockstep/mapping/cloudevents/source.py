"""`@map(type='cloudevents')` of sources: CloudEvents 1.0 into events (extensions 13.9)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from lockstep.events import Event, StreamSchema
from lockstep.events.characters import is_whole
from lockstep.functions import json_documents
from lockstep.functions.json_path import MissingError, Path, compile_path
from lockstep.mapping.cloudevents.envelope import SPECVERSION, milliseconds
from lockstep.mapping.contract import MappingError, Origin, Properties, Reading
from lockstep.mapping.options import Column, columns, flag, text_of
from lockstep.mapping.reading import ABSENT, MAX_REFUSED, UNMAPPABLE, PayloadReader, refusal, row_of
from lockstep.siddhiql import ast

PREFIXES: Final = ("ce-", "ce_", "cloudevents:", "cloudevents_")
"""Before the names of attributes in headers: of HTTP and NATS, of Kafka, of AMQP."""

_STRUCTURED: Final = "application/cloudevents"
_FORM: Final = '{"specversion": "1.0", "id": …, "source": …, "type": …, "data": {…}}'


class CloudEventsSource(PayloadReader):
    """Structured events, arrays of them (one chunk), or data with its attributes in the headers.

    Without `@attributes` the members of `data` are named like attributes and others are ignored;
    with it, JSONPaths lead from the whole event to the values. Conversion is lenient.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.custom = columns(schema, annotation)
        self.columns = self.custom or [Column(a, a.name) for a in schema.attributes]
        self.paths: dict[str, Path] = {
            c.path: compile_path(c.path) for c in self.custom or () if not c.is_transport
        }
        self.fails = flag(annotation, "fail.on.missing.attribute", True)

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        elements = _elements(payload, properties or {})
        reading = Reading()
        events: list[Event] = []
        origins: list[Origin] = []
        for number, element in enumerate(elements, start=1):
            try:
                origin = _origin(element)
                row = self._row(_with_data(element), properties)
            except UNMAPPABLE as error:
                wrong = refusal(error)
                wrong.item = number
                reading.refused.append(wrong)
                if len(reading.refused) > MAX_REFUSED:
                    return reading
                continue
            at_ms = now_ms if origin.timestamp_ms is None else origin.timestamp_ms
            events.append(Event(at_ms, row))
            origins.append(origin)
        if events:
            reading.chunks.append(events)
            reading.origins.append(origins)
        return reading

    def _row(self, element: dict[str, Any], properties: Properties | None) -> tuple[Any, ...]:
        members = element.get("data")
        if self.custom is None and not isinstance(members, dict):
            raise MappingError("'data' must be a JSON object", hint=_FORM)
        return row_of(
            self.columns,
            lambda column: self._found(element, column),
            properties,
            fails_on_missing=self.fails,
        )

    def _found(self, element: dict[str, Any], column: Column) -> Any:
        if self.custom is None:
            return element["data"].get(column.path, ABSENT)
        try:
            return self.paths[column.path].read(element)
        except MissingError:
            return ABSENT


def _elements(payload: Any, properties: Properties) -> list[Any]:
    headers = carried(properties)
    if headers is not None:
        return [{**headers, "data": _data(payload, headers.get("datacontenttype"))}]
    document = (
        payload if isinstance(payload, (dict, list)) else json_documents.parse(text_of(payload))
    )
    return document if isinstance(document, list) else [document]


def carried(properties: Properties) -> dict[str, Any] | None:
    """The attributes that stand in headers (binary mode); None for a structured event."""
    found: dict[str, Any] = {}
    content_type = None
    for name, value in properties.items():
        low = str(name).lower()
        if low == "content-type":
            content_type = str(value)
        for prefix in PREFIXES:
            if low.startswith(prefix):
                text = str(value)
                found[low.removeprefix(prefix)] = unquote(text) if prefix == "ce-" else text
    if "specversion" not in found or (content_type or "").lower().startswith(_STRUCTURED):
        return None
    if content_type is not None:
        found["datacontenttype"] = content_type
    return found


def _data(payload: Any, content_type: str | None) -> Any:
    """JSON as what it says, other texts as they are."""
    media = (content_type or "application/json").partition(";")[0].strip().lower()
    text = text_of(payload)
    return json_documents.parse(text) if media.endswith(("/json", "+json")) else text


def _origin(element: Any) -> Origin:
    if not isinstance(element, dict):
        raise MappingError("a CloudEvent must be a JSON object", hint=_FORM)
    version = element.get("specversion")
    if version != SPECVERSION:
        raise MappingError(
            f"'specversion' is {str(version)[:20]!r}", hint=f"send CloudEvents {SPECVERSION}"
        )
    id_, source, _ = (_text(element, name) for name in ("id", "source", "type"))
    time = element.get("time")
    if time is None:
        return Origin(None, f"{source} {id_}")
    at_ms = milliseconds(time) if isinstance(time, str) else None
    if at_ms is None or at_ms < 0:
        raise MappingError(
            f"'time' is {str(time)[:40]!r}", hint="a time from 1970 on, as 2026-03-01T10:00:00Z"
        )
    return Origin(at_ms, f"{source} {id_}")


def _text(element: Mapping[str, Any], name: str) -> str:
    value = element.get(name)
    if not isinstance(value, str) or not value:
        raise MappingError(f"'{name}' must be a text that is not empty", hint=_FORM)
    if not is_whole(value):
        raise MappingError(f"'{name}' has half of a character")
    return value


def _with_data(element: dict[str, Any]) -> dict[str, Any]:
    """With `data`, also where it came as `data_base64`."""
    encoded = element.get("data_base64")
    if encoded is None or "data" in element:
        return element
    try:
        raw = base64.b64decode(encoded, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise MappingError(f"'data_base64' is no Base64: {error}") from error
    media = element.get("datacontenttype")
    return {**element, "data": _data(raw, media if isinstance(media, str) else None)}
