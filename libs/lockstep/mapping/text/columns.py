"""Large groups of texts, in columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.linear_regex import Pattern
from lockstep.mapping.columnar import (
    Documents,
    OddError,
    QuickReader,
    Values,
    constant,
    converted_column,
)
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.forms import FixedForm
from lockstep.mapping.options import NAME, Column, text_of
from lockstep.mapping.text.source import MAX_MATCHED_CHARACTERS, TextSource, group_of
from lockstep.mapping.values import lenient
from lockstep.operators.limits import LimitError


class TextColumns(QuickReader):
    """Reads for a TextSource that groups events: as sinks write them in one go, others event by
    event, and by expressions each expression over all events."""

    def __init__(self, source: TextSource) -> None:
        self._source = source
        self._form = _form(source)
        self._documents = Documents(
            source.columns, is_custom=False, fails=source.fails, convert=lenient
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        if not self._source.groups:
            raise OddError("a message is an event")
        text = text_of(payload)
        if self._form is not None:
            try:
                return self._as_written(text)
            except OddError:
                pass  # in another order, say
        parts = self._parts(text)
        if self._source.custom is None:
            named = [self._source.by_name(part) for part in parts]
            values = self._documents.values(named, properties)
        else:
            values = self._matched(parts, properties)
        return Columns(values, len(parts), together=False)

    def _as_written(self, text: str) -> Columns:
        """As sinks write them."""
        assert self._form is not None
        groups = iter(self._form.values(text))
        values: list[Values] = []
        events = 0
        for column in self._source.columns:
            texts: Sequence[str | None] = next(groups)
            events, wanted = len(texts), column.attribute.type
            if wanted is AttributeType.STRING:
                nulls = next(groups)
                if any(nulls):
                    texts = [
                        None if null else each for each, null in zip(texts, nulls, strict=True)
                    ]
            elif "null" in texts:
                texts = [None if each == "null" else each for each in texts]
            values.append(converted_column(list(texts), wanted, lenient))
        return Columns(values, events, together=False)

    def _parts(self, text: str) -> list[str]:
        """The events of a group."""
        source = self._source
        between = f"{source.newline}{source.delimiter}{source.newline}"
        parts = text.split(between)
        inner = source.delimiter.strip()
        if inner and text.count(inner) == len(parts) - 1:
            return [part for part in parts if part.strip()]
        return source.events(text)  # a delimiter at an end, or with blanks around it

    def _matched(self, parts: list[str], properties: Properties) -> list[Values]:
        """By expressions."""
        if not parts or max(map(len, parts)) > MAX_MATCHED_CHARACTERS:
            raise OddError("no events, or one that expressions do not read")
        source = self._source
        try:
            matches = {name: each.searches(parts) for name, each in source.patterns.items()}
        except LimitError as error:
            raise OddError(str(error)) from error
        return [
            constant(column.property_of(properties), len(parts), column.attribute.type)
            if column.is_transport
            else self._groups(column, matches)
            for column in source.columns
        ]

    def _groups(self, column: Column, matches: dict[str, list[Any]]) -> Values:
        name, group = group_of(column)
        pattern: Pattern = self._source.patterns[name]
        if group > pattern.groups:
            raise OddError("there is no such group")
        texts = [None if match is None else match[group] for match in matches[name]]
        if self._source.fails and None in texts:
            raise OddError("something is missing")
        return converted_column(texts, column.attribute.type, lenient)


def _form(source: TextSource) -> FixedForm | None:
    """How sinks write the events of a stream; None where that is not clear."""
    if source.custom is not None or ":" in source.delimiter or not source.delimiter.strip():
        return None
    newline = re.escape(source.newline)
    lines = []
    for column in source.columns:
        name, wanted = column.path, column.attribute.type
        if NAME.fullmatch(name) is None or wanted is AttributeType.OBJECT:
            return None
        is_text = wanted is AttributeType.STRING
        value = rf'(?:"([^"{newline}]*)"|(null))' if is_text else rf"""([^\s"',{newline}]+)"""
        lines.append(f"{name}:{value},?")
    between = f"{newline}{re.escape(source.delimiter)}{newline}"
    return FixedForm(newline.join(lines) + rf"(?:{between}|(?:{newline})*\Z)")
