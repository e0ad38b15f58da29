"""What a name means at a place (grammar 14): scopes resolve references to slots of events.

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
from lockstep.siddhiql.suggestions import did_you_mean

OUTPUT_SLOT = -1
"""Slot of references to the output row (in `having` and `order by`)."""


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
        return _resolve_variable(self, variable)

    def resolve_event(self, reference: ast.EventReference) -> SlotRef:
        """The slot that an event reference means, or a positioned SiddhiQLError."""
        return _resolve_event(self, reference)


def _error(at: ast.Location, message: str, hint: str | None = None) -> SiddhiQLError:
    return SiddhiQLError(message, line=at.line, column=at.column, hint=hint)


def slots_named(scope: Scope, name: str) -> list[int]:
    """The slots that answer to a name."""
    return [slot for slot, source in enumerate(scope.sources) if name in source.names]


def _known_names(scope: Scope) -> list[str]:
    return [name for source in scope.sources for name in source.names]


def _reference(
    scope: Scope, slot: int, position: int, index: ast.EventIndex | None
) -> AttributeRef:
    source = scope.sources[slot]
    type_ = source.schema.types[position]
    if source.is_list and index is None and slot != scope.preferred:
        type_ = AttributeType.OBJECT
    return AttributeRef(slot, position, type_, source.is_list, _picked(scope, slot, index))


def _picked(scope: Scope, slot: int, index: ast.EventIndex | None) -> ast.EventIndex | None:
    """Which of several events an index picks: of a pattern's single event `[0]` and `[last]` are
    that event, and any other there is none. In its own filter `[last]` is the one before. Elsewhere
    a name always stands for one event, whatever its index."""
    if scope.shape is not Shape.MATCHED:
        return None
    is_itself = not scope.sources[slot].is_list and slot != scope.preferred
    return None if is_itself and not _offset(index) else index


def _offset(index: ast.EventIndex | None) -> int:
    return 0 if index is None else index.offset


def _resolve_variable(scope: Scope, variable: ast.Variable) -> AttributeRef:
    """The attribute that a variable means, or a positioned SiddhiQLError with suggestions."""
    if variable.source is not None:
        return _resolve_qualified(scope, variable, variable.source)
    name = variable.name
    if scope.outputs is not None:
        position = scope.outputs.index_of(name)
        if position is not None:
            return AttributeRef(OUTPUT_SLOT, position, scope.outputs.types[position])
    if scope.preferred is not None:
        position = scope.sources[scope.preferred].schema.index_of(name)
        if position is not None:
            return _reference(scope, scope.preferred, position, None)
    found = [
        (slot, position)
        for slot, source in enumerate(scope.sources)
        if (position := source.schema.index_of(name)) is not None
    ]
    if len(found) == 1:
        return _reference(scope, *found[0], None)
    if found:
        owners = [_title(scope.sources[slot]) for slot, _ in found]
        raise _error(
            variable.at,
            f"{name!r} is ambiguous: it is an attribute of {' and of '.join(owners)}",
            f"write {owners[0]}.{name}",
        )
    raise _unknown_attribute(scope, variable)


def _title(source: Source) -> str:
    return source.names[0] if source.names else source.schema.name


def _unknown_attribute(scope: Scope, variable: ast.Variable) -> SiddhiQLError:
    if variable.name.lower() == "null":
        return _error(variable.at, "there is no null to compare with", "write: x is null")
    known = [name for source in scope.sources for name in source.schema.names]
    if scope.outputs is not None:
        known = [*scope.outputs.names, *known]
    where = ""
    if len(scope.sources) == 1:
        where = f" of {_title(scope.sources[0])}"
    elif scope.outputs is not None and not scope.sources:
        where = " that this query selects"
    return _error(
        variable.at,
        f"{variable.name!r} is not an attribute{where or ' of any input'}",
        did_you_mean(variable.name, known),
    )


def _resolve_qualified(scope: Scope, variable: ast.Variable, source_name: str) -> AttributeRef:
    slots = slots_named(scope, source_name)
    if not slots:
        if source_name.startswith("!") and slots_named(scope, source_name[1:]):
            what = f"{source_name}.{variable.name}: '!' is no word for 'not' here"
            raise _error(variable.at, what, f"write: not {source_name[1:]}.{variable.name}")
        raise _error(
            variable.at,
            f"there is no stream or reference {source_name!r} here",
            did_you_mean(source_name, _known_names(scope)),
        )
    if len(slots) > 1 and scope.preferred in slots:
        slots = [scope.preferred]
    if len(slots) > 1:
        raise _error(
            variable.at,
            f"{source_name!r} is ambiguous: it stands for {len(slots)} inputs",
            "give each its own name: 'as a' in a join, e1=… in a pattern",
        )
    source = scope.sources[slots[0]]
    position = source.schema.index_of(variable.name)
    if position is None:
        raise _error(
            variable.at,
            f"{source_name!r} has no attribute {variable.name!r}",
            did_you_mean(variable.name, source.schema.names),
        )
    return _reference(scope, slots[0], position, variable.index)


def _resolve_event(scope: Scope, reference: ast.EventReference) -> SlotRef:
    """The slot that an event reference means, or a positioned SiddhiQLError."""
    slots = slots_named(scope, reference.source)
    if len(slots) == 1:
        source = scope.sources[slots[0]]
        return SlotRef(slots[0], source.is_list, _picked(scope, slots[0], reference.index))
    if slots:
        raise _error(reference.at, f"{reference.source!r} is ambiguous here", "use aliases")
    raise _error(
        reference.at,
        f"there is no event {reference.source!r} here",
        did_you_mean(reference.source, _known_names(scope)),
    )


@dataclass(frozen=True, kw_only=True)
class RowScope(Scope):
    """An outer scope with a table's row in one more slot; outer names come first (`in Table`)."""

    outer: Scope
    table: StreamSchema

    def resolve(self, variable: ast.Variable) -> AttributeRef:
        if variable.source != self.table.name:
            try:
                return self.outer.resolve(variable)
            except SiddhiQLError:
                if variable.source is not None or self.table.index_of(variable.name) is None:
                    raise
        position = self.table.index_of(variable.name)
        if position is None:
            raise _error(
                variable.at,
                f"table {self.table.name!r} has no attribute {variable.name!r}",
                did_you_mean(variable.name, self.table.names),
            )
        return AttributeRef(len(self.outer.sources), position, self.table.types[position])


def row_scope(scope: Scope, table: StreamSchema) -> RowScope:
    """What the condition in front of `in Table` sees."""
    return RowScope(
        Shape.JOINED if scope.shape is Shape.STREAM else Shape.MATCHED,
        (*scope.sources, Source(table, (table.name,))),
        scope.outputs,
        scope.preferred,
        scope.tables,
        scope.functions,
        outer=scope,
        table=table,
    )
