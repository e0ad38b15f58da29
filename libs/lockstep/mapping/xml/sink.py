"""`@map(type='xml')` of sinks: events into XML texts (extensions 13.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final
from xml.sax.saxutils import escape

from lockstep.events import Event, LockstepError, StreamSchema
from lockstep.functions.map.meaning import parse_xml
from lockstep.mapping.contract import MappingError
from lockstep.mapping.one_text import one_text
from lockstep.mapping.options import flag, invalid, nested
from lockstep.mapping.templates import Template, renderers
from lockstep.siddhiql import ast

_TAG = re.compile(r"<?\s*([A-Za-z_][\w.:-]*)((?:\s[^<>]*)?)/?>?\s*")
_UNFIT: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What is no character of XML 1.0."""

_LINE_END: Final = {"\r": "&#13;"}
"""Parsers would read it as a newline."""

_NIL = ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


class XmlSink:
    """`<events><event><name>value</name>…</event></events>`; null is an element with xsi:nil.

    A template is filled for each event; `enclosing.element` stands around the group.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._names = schema.names
        self._shown = renderers(schema)
        self._validates = flag(annotation, "validate.xml", False)
        payload = nested(annotation, "payload")
        self._template: Template | None = None
        if payload is not None:
            self._template = Template(one_text(payload), schema, payload)
        default = None if payload is not None else "<events>"
        self._enclosing = _enclosing(annotation.get("enclosing.element") or default, annotation)

    def write(self, events: Sequence[Event]) -> list[Any]:
        inside = "".join(map(self._event, events))
        if self._enclosing is not None:
            name, attributes = self._enclosing
            has_null = self._template is None and any(None in event.data for event in events)
            inside = f"<{name}{attributes}{_NIL if has_null else ''}>{inside}</{name}>"
        if self._validates:
            try:
                parse_xml(inside)
            except LockstepError as error:
                raise MappingError(f"the payload is {error.message}") from error
        return [inside]

    def _event(self, event: Event) -> str:
        if self._template is not None:
            return self._template.fill(event)
        parts = []
        for name, shown, value in zip(self._names, self._shown, event.data, strict=True):
            if value is None:
                parts.append(f'<{name} xsi:nil="true"/>')
            else:
                parts.append(f"<{name}>{_text(name, shown(value))}</{name}>")
        return f"<event>{''.join(parts)}</event>"


def _text(name: str, text: str) -> str:
    """As it stands in an element; MappingError for what XML cannot hold."""
    unfit = _UNFIT.search(text)
    if unfit is not None:
        raise MappingError(
            f"XML has no character {unfit[0]!r}",
            where=name,
            hint="leave it out: str:replaceAll(), or use another mapper",
        )
    return escape(text, _LINE_END)


def _enclosing(text: str | None, annotation: ast.Annotation) -> tuple[str, str] | None:
    """The name and the attributes of `<name attributes>` (or of the bare name)."""
    if text is None:
        return None
    match = _TAG.fullmatch(text)
    if match is None:
        raise invalid(annotation, f"{text!r} is no element", "enclosing.element='<events>'")
    return match[1], match[2].rstrip()
