"""`@map(type='msgpack')` of sinks: events into MessagePack (extensions 13.8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from lockstep.events import Event, StreamSchema
from lockstep.mapping.contract import MappingError
from lockstep.mapping.options import flag, invalid, nested
from lockstep.mapping.templates import value_template
from lockstep.siddhiql import ast

_FORMS: Final = ("map", "array")


class MsgpackSink:
    """A map per event, or with `form='array'` its values alone. Names and values are the stream's,
    or those of `@payload(key='template', …)`. Groups are arrays, also those of one event."""

    def __init__(self, schema: StreamSchema, annotation: ast.Annotation) -> None:
        form = (annotation.get("form") or "map").strip().lower()
        if form not in _FORMS:
            raise invalid(annotation, f"form is {form!r}", "use 'map' or 'array'")
        self._is_array = form == "array"
        self._groups = flag(annotation, "event.grouping.enabled", False)
        self._names: Sequence[str] = schema.names
        self._values = None
        payload = nested(annotation, "payload")
        if payload is not None:
            if not self._is_array and any(one.key is None for one in payload.elements):
                raise invalid(payload, "an entry of @payload has no name", "@payload(x='k', …)")
            self._names = [element.key or "" for element in payload.elements]
            self._values = [value_template(e.value, schema, payload) for e in payload.elements]
        self._encoder = msgspec.msgpack.Encoder(enc_hook=str)

    def write(self, events: Sequence[Event]) -> list[Any]:
        shaped = [self._event(event) for event in events]
        return [self._encoded(shaped)] if self._groups else [self._encoded(one) for one in shaped]

    def _event(self, event: Event) -> Any:
        values = event.data if self._values is None else [made(event) for made in self._values]
        return values if self._is_array else dict(zip(self._names, values, strict=True))

    def _encoded(self, value: Any) -> bytes:
        try:
            return self._encoder.encode(value)
        except (ValueError, OverflowError, TypeError, RecursionError) as error:
            raise MappingError(f"MessagePack cannot hold the event: {error}") from error
