"""A row as the message that a source's `@map` reads: the other way round than a source goes.

What is made is read back by the mapper before it is sent, so a message that would not bring the row
is never taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from xml.etree import ElementTree

from lockstep.events import Event, LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping import map_of, sink_mapper, source_mapper
from lockstep.siddhiql import ast

Row = Sequence[Any]
AS_WRITTEN: Final = ("csv", "keyvalue", "text", "xml", "json")
"""Forms that may be made here by their `@attributes`; the others are as a sink writes them."""


class NoMessageError(LockstepError):
    """No message is known that brings the row."""


def payload_of(schema: StreamSchema, source: ast.Annotation, row: Row) -> bytes:
    """The message; NoMessageError."""
    mapping = map_of(source)
    kind = "json" if mapping is None else (mapping.get("type") or "").lower()
    if mapping is None or kind == "passthrough":
        return json_documents.text({"event": dict(zip(schema.names, row, strict=True))}).encode()
    for made in _candidates(schema, mapping, kind, row):
        if _reads(schema, mapping, made, row):
            return made if isinstance(made, bytes) else _bytes(made)
    raise NoMessageError(f"no message of type {kind!r} is known that brings {row!r}")


def _bytes(made: Any) -> bytes:
    return made.encode() if isinstance(made, str) else json_documents.text(made).encode()


def _candidates(
    schema: StreamSchema, mapping: ast.Annotation, kind: str, row: Row
) -> Iterator[Any]:
    named = mapping.nested("attributes")
    if not named or kind not in AS_WRITTEN:
        bare = ast.Annotation("map", tuple(_kept(mapping)))
        yield from sink_mapper(schema, bare).write([Event(0, tuple(row))])[:1]
        return
    values = dict(zip(schema.names, row, strict=True))
    places = {
        element.key or schema.names[number]: element.value
        for number, element in enumerate(named[0].elements)
        if not element.value.startswith("trp:")
    }
    if not places:
        yield "{}"
    elif kind == "json":
        yield _json(places, values)
    elif kind == "xml":
        yield from _xml(places, values, mapping.get("namespaces"))
    elif kind == "csv":
        yield _csv(mapping, places, values)
    elif kind == "text":
        yield from _texts(mapping, places, values)
    else:
        yield {place: values[name] for name, place in places.items()}


def _kept(mapping: ast.Annotation) -> Iterator[ast.Element]:
    """What a sink of the same form takes, too."""
    for element in mapping.elements:
        if element.key in ("type", "schema.def", "delimiter"):
            yield element


def _json(places: Mapping[str, str], values: Mapping[str, Any]) -> bytes:
    document: dict[str, Any] = {}
    for name, path in places.items():
        *above, last = path.removeprefix("$").strip(".").split(".")
        place = document
        for each in above:
            place = place.setdefault(each, {})
        place[last] = values[name]
    return json_documents.text(document).encode()


def _xml(
    places: Mapping[str, str], values: Mapping[str, Any], namespaces: str | None
) -> Iterator[str]:
    """By paths from the event, which stands alone or in an element around it."""
    pairs = (each.partition("=") for each in (namespaces or "").split(","))
    names = {prefix.strip(): uri.strip() for prefix, _, uri in pairs}
    root = ElementTree.Element("events")
    event = ElementTree.SubElement(root, "event")
    for name, path in places.items():
        place = event
        for step in path.strip("/").split("/"):
            prefix, colon, word = step.rpartition(":")
            tag = f"{{{names.get(prefix, '')}}}{word}" if colon else word
            found = place.find(tag)
            place = ElementTree.SubElement(place, tag) if found is None else found
        place.text = _text(values[name])
    yield from (ElementTree.tostring(each, encoding="unicode") for each in (root, event))


def _csv(mapping: ast.Annotation, places: Mapping[str, str], values: Mapping[str, Any]) -> str:
    cells = [""] * (1 + max(int(place) for place in places.values()))
    for name, place in places.items():
        cells[int(place)] = _text(values[name])
    return (mapping.get("delimiter") or ",").join(cells)


def _texts(
    mapping: ast.Annotation, places: Mapping[str, str], values: Mapping[str, Any]
) -> Iterator[str]:
    """Lines of `word:value`, where the word is the attribute's, or the one that its expression
    looks for; then the values alone."""
    if len(places) == 1:
        yield _text(next(iter(values.values())))
    labelled = []
    for name, place in places.items():
        expression, _, group = place.partition("[")
        words = re.findall(r"(\w+)\)?:", mapping.get(f"regex.{expression}") or "")
        # An expression for several attributes has a word in front of each group.
        at = int(group.rstrip("]") or 1) - 1 if len(words) > 1 else 0
        labelled.append((words[at] if at < len(words) else name, _text(values[name])))
    for between in ("\n", ",", ",\n"):
        yield between.join(f"{word}:{value}" for word, value in labelled)
        yield between.join(f"{word}:{value}" for word, value in labelled) + between


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reads(schema: StreamSchema, mapping: ast.Annotation, made: Any, row: Row) -> bool:
    """Whether the source's mapper gets the row out of it, but for what the transport says."""
    outside = _outside(schema, mapping)
    values = dict(zip(schema.names, row, strict=True))
    properties = {word: _text(values[name]) for name, word in outside.items()}
    try:
        reading = source_mapper(schema, mapping).read(made, 0, properties)
    except LockstepError:
        return False
    events = [event for chunk in reading.chunks for event in chunk]
    if len(events) != 1 or reading.refused:
        return False
    return all(
        name in outside or _same(one, other)
        for name, one, other in zip(schema.names, events[0].data, row, strict=True)
    )


def _outside(schema: StreamSchema, mapping: ast.Annotation) -> dict[str, str]:
    """The attributes that the transport gives, and by what word."""
    return {
        element.key or name: element.value.removeprefix("trp:")
        for each in mapping.nested("attributes")
        for name, element in zip(schema.names, each.elements, strict=False)
        if element.value.startswith("trp:")
    }


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-6 * max(1.0, abs(other))
    return bool(one == other)
