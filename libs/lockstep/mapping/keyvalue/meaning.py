"""`@map(type='keyvalue')`: maps of typed values into events and back (extensions 13.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep.events import Event, StreamSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag, invalid, nested
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.mapping.templates import renderers, value_template
from lockstep.mapping.values import exact, lenient
from lockstep.siddhiql import ast

_NO_KEY: Final = "null"
"""What a template without a key stands under, as in Siddhi."""


class KeyValueSource(PayloadReader):
    """A map, or a list of maps (one chunk). Types must be exact unless `implicit.cast.enable`."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        custom = columns(schema, annotation)
        self.columns = custom or [Column(a, a.name) for a in schema.attributes]
        self.fails = flag(annotation, "fail.on.missing.attribute", True)
        self.convert = lenient if flag(annotation, "implicit.cast.enable", False) else exact

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        items = payload if isinstance(payload, (list, tuple)) else [payload]
        return read_rows(items, lambda m: self._row(m, properties), now_ms, as_one_chunk=True)

    def _row(self, entries: Any, properties: Properties | None) -> tuple[Any, ...]:
        if not isinstance(entries, Mapping):
            raise MappingError(f"a map is wanted, not a {type(entries).__name__}")
        return row_of(
            self.columns,
            lambda column: entries.get(column.path, ABSENT),
            properties,
            fails_on_missing=self.fails,
            convert=self.convert,
        )


class KeyValueSink:
    """A map per event: attributes by name, or as `@payload(key='template', …)` says. A template
    without a key stands under `null`."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._names = schema.names
        shown = renderers(schema, null="")
        self._shown = dict(zip(schema.names, shown, strict=True))
        payload = nested(annotation, "payload")
        self._values = None
        if payload is not None:
            _check_keys(payload)
            self._values = [
                (element.key or _NO_KEY, value_template(element.value, schema, payload))
                for element in payload.elements
            ]
            self._shown = {
                element.key or _NO_KEY: shown[at]
                for element in payload.elements
                if (at := schema.index_of(element.value.strip())) is not None
            }

    def write(self, events: Sequence[Event]) -> list[Any]:
        return [self._entries(event) for event in events]

    def texts(self, event: Event) -> dict[str, str]:
        """The map of an event for a form, which has texts alone; null is an empty one."""
        entries = self._entries(event).items()
        return {key: self._shown.get(key, str)(value) for key, value in entries}

    def _entries(self, event: Event) -> dict[str, Any]:
        if self._values is None:
            return dict(zip(self._names, event.data, strict=True))
        return {key: value(event) for key, value in self._values}


def _check_keys(payload: ast.Annotation) -> None:
    """Refuses a value that another one of the same key would replace."""
    keys = [element.key or _NO_KEY for element in payload.elements]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise invalid(
            payload,
            f"two values of @payload would stand under {twice!r}, and only one is sent",
            "give each value a key: @payload(a='{{a}}', b='{{b}}')",
        )
