"""`@map(type='csv')` of sources: lines of values into events (extensions 13.4)."""

from __future__ import annotations

import csv
from typing import Any, Final

from lockstep.events import AttributeType, StreamSchema
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.csv.lines import NUMBER, cut, delimiter_of, line_of
from lockstep.mapping.options import Column, columns, flag, invalid, text_of
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.mapping.values import from_text
from lockstep.siddhiql import ast

NULL: Final = "null"


class CsvSource(PayloadReader):
    """One line a message, or with `event.grouping.enabled` any number of lines (one chunk).

    Columns stand in the order of the attributes, or where `@attributes` says (counted from 0). Too
    few are refused, surplus ones ignored. `null` is null except for strings, and so is what is no
    value of its type where `fail.on.unknown.attribute` is false. Blanks around values go.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.delimiter = delimiter_of(annotation)
        self.groups = flag(annotation, "event.grouping.enabled", False)
        self.fails = flag(annotation, "fail.on.unknown.attribute", True)
        self.awaits_header = flag(annotation, "header", False) or flag(
            annotation, "header.present", False
        )
        custom = columns(schema, annotation)
        self.columns = custom or [
            Column(attribute, str(at)) for at, attribute in enumerate(schema.attributes)
        ]
        for column in self.columns:
            if not (column.is_transport or NUMBER.fullmatch(column.path)):
                raise invalid(annotation, f"{column.path!r} is no number of a column")
        self.places = {c.path: int(c.path) for c in self.columns if not c.is_transport}

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        lines = self.lines(text_of(payload))
        rest: list[list[str]] = []
        if not self.groups:
            lines, rest = lines[:1], lines[1:]
        reading = read_rows(
            lines, lambda line: self._row(line, properties), now_ms, as_one_chunk=True
        )
        for refusal in reading.refused:
            refusal.piece = self._text([lines[refusal.item - 1]])
        if rest:
            hint = "event.grouping.enabled='true' reads them all"
            more = MappingError(f"{len(rest)} more lines in one message", hint=hint)
            more.item, more.piece = 2, self._text(rest)
            reading.refused.append(more)
        return reading

    def _text(self, lines: list[list[str]]) -> bytes:
        """Lines as a payload that brings them again."""
        head = [["header"]] if self.groups and self.awaits_header else []
        return "".join(line_of(line, self.delimiter) for line in head + lines).encode()

    def lines(self, text: str) -> list[list[str]]:
        """The lines that are events, each as its values."""
        try:
            lines = cut(text, self.delimiter)
        except csv.Error as error:
            raise MappingError(f"not CSV: {error}") from error
        if self.awaits_header:
            # A grouped message brings its header along; single lines have one in front of them all.
            self.awaits_header = self.groups
            return lines[1:]
        return lines

    def _row(self, line: list[str], properties: Properties | None) -> tuple[Any, ...]:
        places = self.places

        def look_up(column: Column) -> Any:
            at = places[column.path]
            return line[at].strip() if at < len(line) else ABSENT

        return row_of(
            self.columns,
            look_up,
            properties,
            fails_on_missing=self.fails,
            convert=_value if self.fails else value_or_null,
        )


def value_or_null(text: str | None, wanted: AttributeType) -> Any:
    """A value of the type, or None for what is none."""
    try:
        return _value(text, wanted)
    except MappingError:
        return None


def _value(text: str | None, wanted: AttributeType) -> Any:
    if text is None or (text == NULL and wanted is not AttributeType.STRING):
        return None
    return from_text(text, wanted)
