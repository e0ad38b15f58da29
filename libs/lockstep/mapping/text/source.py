"""`@map(type='text')` of sources: lines of `name:value`, or expressions (extensions 13.5)."""

from __future__ import annotations

import re
from typing import Any

from lockstep.events import StreamSchema
from lockstep.functions.java_regex import RegexError, compile_pattern
from lockstep.functions.linear_regex import Pattern
from lockstep.mapping.contract import MappingError, Properties, Reading
from lockstep.mapping.options import Column, columns, flag, invalid, text_of
from lockstep.mapping.reading import ABSENT, PayloadReader, read_rows, row_of
from lockstep.operators.limits import LimitError
from lockstep.siddhiql import ast

DELIMITER = "~" * 10
"""The line between the events of a group."""

MAX_MATCHED_CHARACTERS = 10_000
"""An expression may take the square of a text's length, and nobody can interrupt it."""

_REGEX = re.compile(r"regex\.([A-Z])", re.IGNORECASE)
_GROUP = re.compile(r"([A-Z])(?:\[(\d+)\])?")
_LINE = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*:(.*)", re.DOTALL)


def newline_of(annotation: ast.Annotation) -> str:
    """The option `new.line.character`."""
    return (annotation.get("new.line.character") or "\n").replace("\\n", "\n").replace("\\r", "\r")


class TextSource(PayloadReader):
    """Each attribute on its own line, `name:"text",` or `name:5,`; a group is read event by event.

    With `@attributes(a='A[1]', …)` the values are groups of the expressions `regex.A`, `regex.B`, …
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self.groups = flag(annotation, "event.grouping.enabled", False)
        self.fails = flag(
            annotation,
            "fail.on.missing.attribute",
            flag(annotation, "fail.on.unknown.attribute", True),  # its name in older versions
        )
        self.delimiter = annotation.get("delimiter") or DELIMITER
        self.newline = newline_of(annotation)
        self.custom = columns(schema, annotation)
        self.columns = self.custom or [Column(a, a.name) for a in schema.attributes]
        self.patterns = _patterns(annotation)
        for column in self.custom or ():
            if not column.is_transport:
                self._pattern_of(column, annotation)

    def _pattern_of(self, column: Column, annotation: ast.Annotation) -> tuple[str, int]:
        match = _GROUP.fullmatch(column.path)
        if match is None or match[1] not in self.patterns:
            raise invalid(annotation, f"{column.path!r} names no regex.X", "write 'A' or 'A[1]'")
        return match[1], int(match[2] or 1)

    def reading(self, payload: Any, now_ms: int, properties: Properties | None) -> Reading:
        """See PayloadReader."""
        parts = self.events(text_of(payload))
        reading = read_rows(
            parts, lambda part: self._row(part, properties), now_ms, as_one_chunk=False
        )
        for refusal in reading.refused:
            refusal.piece = parts[refusal.item - 1].encode()
        return reading

    def events(self, text: str) -> list[str]:
        """The events of a payload."""
        if not self.groups:
            return [text]
        parts: list[list[str]] = [[]]
        for line in text.split(self.newline):
            if line.strip() == self.delimiter.strip():
                parts.append([])
            else:
                parts[-1].append(line)
        joined = [self.newline.join(lines) for lines in parts]
        return [part for part in joined if part.strip()]

    def _row(self, text: str, properties: Properties | None) -> tuple[Any, ...]:
        if self.custom is None:
            values = self.by_name(text)
            return row_of(
                self.columns,
                lambda column: values.get(column.path, ABSENT),
                properties,
                fails_on_missing=self.fails,
            )
        if len(text) > MAX_MATCHED_CHARACTERS:
            raise MappingError(
                f"a text of {len(text)} characters; expressions read {MAX_MATCHED_CHARACTERS}"
            )
        return row_of(
            self.columns,
            lambda column: self._by_pattern(text, column),
            properties,
            fails_on_missing=self.fails,
        )

    def by_name(self, text: str) -> dict[str, str | None]:
        """What an event says, name by name."""
        values: dict[str, str | None] = {}
        for line in text.split(self.newline):
            match = _LINE.fullmatch(line)
            if match is not None:
                if match[1] in values:
                    continue  # the first one counts
                values[match[1]] = _unquoted(match[2].strip().removesuffix(",").strip())
        return values

    def _by_pattern(self, text: str, column: Column) -> Any:
        name, group = group_of(column)
        pattern = self.patterns[name]
        try:
            found = pattern.search(text)
        except LimitError as error:
            raise MappingError(str(error)) from error
        if found is None or group > pattern.groups or found[group] is None:
            return ABSENT
        return found[group]


def group_of(column: Column) -> tuple[str, int]:
    """The letter of an attribute's expression, and the number of its group."""
    match = _GROUP.fullmatch(column.path)
    assert match is not None  # looked at before
    return match[1], int(match[2] or 1)


def _patterns(annotation: ast.Annotation) -> dict[str, Pattern]:
    patterns = {}
    for element in annotation.elements:
        match = _REGEX.fullmatch(element.key or "")
        if match is not None:
            try:
                patterns[match[1].upper()] = compile_pattern(element.value)
            except RegexError as error:
                raise invalid(annotation, error.message) from error
    return patterns


def _unquoted(text: str) -> str | None:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return None if text == "null" else text
