"""`@map(type='json')` of sinks: events into JSON texts (extensions 13.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import AttributeType, Event, LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping.contract import MappingError
from lockstep.mapping.numbers import as_json
from lockstep.mapping.one_text import one_text
from lockstep.mapping.options import flag, nested
from lockstep.mapping.templates import Template
from lockstep.siddhiql import ast

_UNDEFINED = "undefined"


class JsonSink:
    """`{"event":{…}}`, several as an array; or a template per event.

    Null is the text "undefined", or with `validate.json` left out, unless
    `enable.null.attribute.value` is set; the event itself keeps its null. Values in templates are
    not escaped; where the word undefined stands there for a null, it is no mistake.
    """

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        self._members = [
            (json_documents.quoted(a.name) + ":", a.type is AttributeType.FLOAT)
            for a in schema.attributes
        ]
        keeps_null = flag(annotation, "enable.null.attribute.value", False)
        self._null = "null" if keeps_null else json_documents.quoted(_UNDEFINED)
        self._validates = flag(annotation, "validate.json", False)
        self._leaves_out = self._validates and not keeps_null
        self._groups = flag(annotation, "event.grouping.enabled", True)
        self._names = _names(annotation.get("enclosing.element"))
        payload = nested(annotation, "payload")
        self._template: Template | None = None
        self._checked: Template | None = None
        if payload is not None:
            text = one_text(payload)
            self._checked = Template(text, schema, payload, null="null")
            self._template = self._checked
            if not keeps_null:
                self._template = Template(text, schema, payload, null=_UNDEFINED)

    def write(self, events: Sequence[Event]) -> list[Any]:
        texts = self._texts(events, self._template)
        if self._validates:
            has_null = any(None in event.data for event in events)
            for text in self._texts(events, self._checked) if has_null else texts:
                _validate(text)
        return texts

    def _texts(self, events: Sequence[Event], template: Template | None) -> list[str]:
        texts = [self._event(event, template) for event in events]
        if self._groups and len(texts) > 1:
            separator = "," if template is None else ",\n"
            texts = [f"[{separator.join(texts)}]"]
        return [self._enclosed(text) for text in texts]

    def _event(self, event: Event, template: Template | None) -> str:
        if template is not None:
            return template.fill(event)
        parts = [
            name + self._value(value, single)
            for (name, single), value in zip(self._members, event.data, strict=True)
            if value is not None or not self._leaves_out
        ]
        return f'{{"event":{{{",".join(parts)}}}}}'

    def _value(self, value: Any, single: bool) -> str:
        return self._null if value is None else as_json(value, single=single)

    def _enclosed(self, text: str) -> str:
        before = "".join(f"{{{json_documents.quoted(name)}:" for name in self._names)
        return f"{before}{text}{'}' * len(self._names)}"


def _names(enclosing: str | None) -> list[str]:
    return [name for name in (enclosing or "").split(".") if name not in ("", "$")]


def _validate(text: str) -> None:
    try:
        json_documents.parse(text)
    except LockstepError as error:
        raise MappingError(f"the payload is {error.message}") from error
