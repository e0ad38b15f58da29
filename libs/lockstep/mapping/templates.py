"""Templates of payloads and options: text with `{{attribute}}` in it (semantics 22)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.functions.convert import object_text
from lockstep.mapping.options import invalid
from lockstep.plan import java
from lockstep.siddhiql import ast

# Three braces count only on both sides: in `{"a": {{x}}}` the last one is the document's own.
_PLACE = re.compile(r"\{\{(\{)?\s*(?P<name>[^{}]*?)\s*\}\}(?(1)\})")


def renderers(schema: StreamSchema, null: str = "null") -> list[Callable[[Any], str]]:
    """For each attribute the function from its value to its text."""
    return [_renderer(type_, null) for type_ in schema.types]


def _renderer(type_: AttributeType, null: str) -> Callable[[Any], str]:
    def render(value: Any) -> str:
        if value is None:
            return null
        if isinstance(value, float):
            return java.float_text(value, single=type_ is AttributeType.FLOAT)
        return object_text(value)

    return render


class Template:
    """A text whose places are filled with an event's values, null as `null` or another text."""

    def __init__(
        self, text: str, schema: StreamSchema, at: ast.Annotation, *, null: str = "null"
    ) -> None:
        shown = renderers(schema, null)
        self.text = text
        self._parts: list[str | tuple[int, Callable[[Any], str]]] = []
        end = 0
        for match in _PLACE.finditer(text):
            position = schema.index_of(match["name"])
            if position is None:
                raise invalid(
                    at,
                    f"{match[0]} names no attribute of {schema.name!r}",
                    f"there are {', '.join(schema.names)}",
                )
            self._parts += (text[end : match.start()], (position, shown[position]))
            end = match.end()
        self._parts.append(text[end:])

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to fill."""
        return len(self._parts) == 1

    def fill(self, event: Event) -> str:
        """The text for an event."""
        return "".join(
            part if isinstance(part, str) else part[1](event.data[part[0]]) for part in self._parts
        )


def value_template(text: str, schema: StreamSchema, at: ast.Annotation) -> Callable[[Event], Any]:
    """A template that may be an object: an attribute's name alone, or a `` `literal` ``."""
    position = schema.index_of(text.strip())
    if position is not None:
        return lambda event: event.data[position]
    if len(text) >= 2 and text.startswith("`") and text.endswith("`"):
        literal = text[1:-1]
        return lambda event: literal
    return Template(text, schema, at).fill


def grouped(
    templates: Sequence[Template], events: Sequence[Event]
) -> list[tuple[tuple[str, ...], list[Event]]]:
    """The events of a chunk by the values of the dynamic options: one message per combination."""
    if all(template.is_constant for template in templates):
        return [(tuple(template.text for template in templates), list(events))]
    groups: dict[tuple[str, ...], list[Event]] = {}
    for event in events:
        key = tuple(template.fill(event) for template in templates)
        groups.setdefault(key, []).append(event)
    return list(groups.items())
