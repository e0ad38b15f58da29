"""`@map(type='csv')` of sinks: events into lines of values (extensions 13.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import Event, StreamSchema
from lockstep.mapping.csv.lines import NUMBER, delimiter_of, line_of
from lockstep.mapping.options import flag, invalid, nested
from lockstep.mapping.templates import renderers
from lockstep.siddhiql import ast


class CsvSink:
    """A line per event, each its own message unless `event.grouping.enabled`; null is `null`.

    `@payload(a='2', …)` gives each attribute's column. With `header` the names come once, as a
    message in front of the first event; a MessageWriter puts both into one.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._delimiter = delimiter_of(annotation)
        self._groups = flag(annotation, "event.grouping.enabled", False)
        self.has_header = flag(annotation, "header", False)
        self.owes_header = self.has_header
        self._names = schema.names
        self._order = _order(schema, annotation)
        self._shown = renderers(schema)

    def write(self, events: Sequence[Event]) -> list[Any]:
        messages = []
        if self.owes_header:
            self.owes_header = False
            messages.append(line_of([self._names[at] for at in self._order], self._delimiter))
        lines = [
            line_of([self._shown[at](event.data[at]) for at in self._order], self._delimiter)
            for event in events
        ]
        return messages + (["".join(lines)] if self._groups else lines)


def _order(schema: StreamSchema, annotation: ast.Annotation) -> list[int]:
    """The positions of the attributes in the order of the columns."""
    payload = nested(annotation, "payload")
    if payload is None:
        return list(range(len(schema.names)))
    by_column: dict[int, int] = {}
    for element in payload.elements:
        position = schema.index_of(element.key or "")
        if position is None or not NUMBER.fullmatch(element.value.strip()):
            raise invalid(payload, "@payload of csv is attribute='number of column'")
        if by_column.setdefault(int(element.value), position) != position:
            raise invalid(payload, f"two attributes share column {element.value}")
    if sorted(by_column) != list(range(len(by_column))):
        raise invalid(payload, "the columns of @payload must be 0, 1, 2, …, each once")
    return [by_column[column] for column in sorted(by_column)]
