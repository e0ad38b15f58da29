"""What a name means at a place: scopes resolve references to slots the executors can read.

An expression is evaluated against an *event shape*:

STREAM   one event; every reference has slot 0.
JOINED   two events side by side: slot 0 is the left side (or the matching event of an `on`
         condition on a table), slot 1 the right side (or the table's row). A side may be absent
         (outer joins).
MATCHED  what a pattern or sequence has bound: slot i is the i-th reference in order of writing;
         a slot holds nothing, one event, or the list of events of a counted state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError


class Shape(Enum):
    """Event shapes, see the module's text."""

    STREAM = "stream"
    JOINED = "joined"
    MATCHED = "matched"


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """A resolved attribute: `slots[slot].data[attribute]`.

    For MATCHED, `is_list` tells that the slot collects events (counts, + * ?). Then `index` picks
    one of them (`from_last` 0 is the last one); without index the value is the list of values
    (object).
    """

    slot: int
    attribute: int
    type: AttributeType
    is_list: bool = False
    index: ast.EventIndex | None = None


@dataclass(frozen=True, slots=True)
class SlotRef:
    """A resolved whole event (`e1 is null`, `T is null`, `eventTimestamp(e1)`)."""

    slot: int
    is_list: bool = False
    index: ast.EventIndex | None = None


@dataclass(frozen=True)
class Source:
    """One thing that attributes can be read from: its schema and the names it answers to."""

    schema: StreamSchema
    names: tuple[str, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Scope:
    """Sources by slot, in order; plus output names that `having` and `order by` see first.

    `outputs` is the query's output schema where it is visible: a reference found there resolves to
    slot OUTPUT_SLOT (the row being built) and the attribute's index in it.
    `preferred` is the slot that unqualified names try first (the own stream in a pattern's filter,
    the query's output in an `on` condition on a table); None means that they must be unambiguous.
    `tables` may stand behind `in`; `functions` are the app's own with their results.
    """

    shape: Shape
    sources: tuple[Source, ...]
    outputs: StreamSchema | None = None
    preferred: int | None = None
    tables: dict[str, StreamSchema] = field(default_factory=dict)
    functions: Mapping[str, AttributeType] = field(default_factory=dict)

    def resolve(self, variable: ast.Variable) -> AttributeRef:
        """The attribute that a variable means, or a positioned SiddhiQLError with suggestions."""
        from lockstep.siddhiql import resolution

        return resolution.resolve_variable(self, variable)

    def resolve_event(self, reference: ast.EventReference) -> SlotRef:
        """The slot that an event reference means, or a positioned SiddhiQLError."""
        from lockstep.siddhiql import resolution

        return resolution.resolve_event(self, reference)


OUTPUT_SLOT = -1
"""Slot of references to the output row (in `having` and `order by`)."""


__all__ = [
    "OUTPUT_SLOT",
    "AttributeRef",
    "Scope",
    "Shape",
    "SiddhiQLError",
    "SlotRef",
    "Source",
]
