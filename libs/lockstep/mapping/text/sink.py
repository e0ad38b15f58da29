"""`@map(type='text')` of sinks: lines of `name:value`, or a template (extensions 13.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import Event, StreamSchema
from lockstep.mapping.one_text import one_text
from lockstep.mapping.options import flag, nested
from lockstep.mapping.templates import Template, renderers
from lockstep.mapping.text.source import DELIMITER, newline_of
from lockstep.siddhiql import ast


class TextSink:
    """One attribute per line with a comma at its end, strings in double quotes; null is `null`.

    With `event.grouping.enabled` several events are one message, a delimiter line between them.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._names = schema.names
        self._shown = renderers(schema)
        self._newline = newline_of(annotation)
        self._delimiter = annotation.get("delimiter") or DELIMITER
        self._groups = flag(annotation, "event.grouping.enabled", False)
        payload = nested(annotation, "payload")
        self._template: Template | None = None
        if payload is not None:
            self._template = Template(one_text(payload), schema, payload)

    def write(self, events: Sequence[Event]) -> list[Any]:
        texts = [self._event(event) for event in events]
        if self._groups:
            return [f"{self._newline}{self._delimiter}{self._newline}".join(texts)]
        return texts

    def _event(self, event: Event) -> str:
        if self._template is not None:
            return self._template.fill(event)
        lines = []
        for name, shown, value in zip(self._names, self._shown, event.data, strict=True):
            text = f'"{value}"' if isinstance(value, str) else shown(value)
            lines.append(f"{name}:{text}")
        return f",{self._newline}".join(lines)
