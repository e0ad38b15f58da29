"""Distributed sinks: which destination gets which events of a publish call (semantics 22).

`roundRobin`: the next active destination gets the whole call. `partitioned`: |hash(text of key)|
mod the number of declared destinations, active or not. `broadcast`: every active one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lockstep.events import Event, StreamSchema
from lockstep.functions.java_text import hash_code
from lockstep.mapping.options import invalid
from lockstep.mapping.templates import renderers
from lockstep.siddhiql import ast

Parcel = tuple[int | None, list[Event]]
"""(index of the destination, events); without index the events are lost."""


class Distribution(Protocol):
    """Routes the events of one publish call.

    `turn`: how many calls there were, where that matters; who keeps it over a restart routes as if
    there had been none. `moves_on`: another destination may take what one cannot.
    """

    turn: int
    moves_on: bool

    def route(self, events: Sequence[Event], active: Sequence[bool]) -> list[Parcel]:
        """`active` says of each declared destination whether it can be reached."""


class RoundRobin:
    """Its turn is the sender's business, not the app's state."""

    moves_on = True

    def __init__(self) -> None:
        self.turn = 0

    def route(self, events: Sequence[Event], active: Sequence[bool]) -> list[Parcel]:
        for _ in active:
            at = self.turn % len(active)
            self.turn += 1
            if active[at]:
                return [(at, list(events))]
        return [(None, list(events))]


class Partitioned:
    """By the key's text."""

    moves_on = False

    def __init__(self, schema: StreamSchema, position: int) -> None:
        self.turn = 0
        self._position = position
        self._text = renderers(schema)[position]

    def route(self, events: Sequence[Event], active: Sequence[bool]) -> list[Parcel]:
        parts: dict[int, list[Event]] = {}
        for event in events:
            at = self._place(event.data[self._position]) % len(active)
            parts.setdefault(at, []).append(event)
        return [(at if active[at] else None, part) for at, part in parts.items()]

    def _place(self, key: Any) -> int:
        try:
            return abs(hash_code(self._text(key)))
        except RecursionError:
            return 0  # an object that is nested too deep to have a text


class Broadcast:
    """To everyone."""

    moves_on = False

    def __init__(self) -> None:
        self.turn = 0

    def route(self, events: Sequence[Event], active: Sequence[bool]) -> list[Parcel]:
        reached: list[Parcel] = [(at, list(events)) for at, can in enumerate(active) if can]
        return reached or [(None, list(events))]


def destinations(sink: ast.Annotation) -> list[ast.Annotation]:
    """The options of each destination, its own over the sink's; else the sink itself."""
    found = sink.nested("distribution")
    places = found[0].nested("destination") if found else ()
    if not places:
        return [sink]
    inner = tuple(one for one in sink.annotations if one.name.lower() != "distribution")
    merged = []
    for place in places:
        own = {element.key for element in place.elements}
        common = tuple(element for element in sink.elements if element.key not in own)
        merged.append(ast.Annotation(sink.name, place.elements + common, inner, at=sink.at))
    return merged


def build_distribution(schema: StreamSchema, sink: ast.Annotation) -> Distribution:
    """The distribution of a `@sink`; broadcast to its one destination when it names none."""
    found = sink.nested("distribution")
    if not found:
        return Broadcast()
    annotation = found[0]
    strategy = (annotation.get("strategy") or "").lower()
    if strategy == "roundrobin":
        return RoundRobin()
    if strategy == "broadcast":
        return Broadcast()
    if strategy != "partitioned":
        raise invalid(
            annotation,
            f"there is no distribution strategy {annotation.get('strategy')!r}",
            "use roundRobin, partitioned or broadcast",
        )
    position = schema.index_of(annotation.get("partitionKey") or "")
    if position is None:
        raise invalid(annotation, "'partitioned' needs an attribute as 'partitionKey'")
    return Partitioned(schema, position)
