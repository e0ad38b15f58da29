"""Rows as messages: the sink's @map, and options that hold `{{attribute}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

import msgspec

from lockstep.events import Event, OutputRow, StreamSchema
from lockstep.operators.mapping import MappingError, Template, sink_mapper
from lockstep.siddhiql import SiddhiQLError, ast
from services.publisher.contract import RefusedRow, RowsRefusedError, SinkSetupError

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "json": "application/json",
    "xml": "application/xml",
    "keyvalue": "application/x-www-form-urlencoded",
    "csv": "text/csv",
}
PLAIN: Final = ast.Annotation(
    "map", (ast.Element("type", "json"), ast.Element("enable.null.attribute.value", "true"))
)
"""What a sink without @map sends: outside a process there are no event objects to pass on."""


class Payload:
    """Renders rows of one schema; `content_type` says as what. Errors: RowsRefusedError."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation, where: str) -> None:
        maps = annotation.nested("map")
        chosen = maps[0] if maps else PLAIN
        kind = (chosen.get("type") or "passThrough").lower()
        if kind == "passthrough":
            chosen, kind = PLAIN, "json"
        self._schema = schema
        self._annotation = annotation
        self._where = where
        try:
            self._mapper = sink_mapper(schema, chosen)
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=where, hint=error.hint) from error
        self.content_type = CONTENT_TYPES.get(kind, "text/plain")

    def render(self, row: OutputRow) -> bytes:
        """The message of one row."""
        try:
            payloads = self._mapper.write([event_of(row)])
        except MappingError as error:
            raise RowsRefusedError([RefusedRow(row, error.message)], where=self._where) from error
        return b"".join(_as_bytes(payload) for payload in payloads)

    def named(self, row: OutputRow) -> dict[str, Any]:
        """Values by attribute name."""
        return dict(zip(self._schema.names, row.data, strict=True))

    def template(self, text: str) -> Template:
        """An option that may hold `{{attribute}}`; SinkSetupError when it names none of ours."""
        try:
            return Template(text, self._schema, self._annotation)
        except SiddhiQLError as error:
            raise SinkSetupError(error.message, where=self._where, hint=error.hint) from error


def event_of(row: OutputRow) -> Event:
    """The row as the event that it was."""
    return Event(row.timestamp_ms, row.data)


def _as_bytes(payload: Any) -> bytes:
    if isinstance(payload, bytes):
        return payload
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, Mapping):
        return urlencode(
            {name: "" if value is None else value for name, value in payload.items()}
        ).encode()
    return msgspec.json.encode(payload, enc_hook=str)
