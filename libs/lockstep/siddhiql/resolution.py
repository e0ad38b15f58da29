"""Attribute and event references resolved against scopes (grammar 14); near misses are told."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import OUTPUT_SLOT, AttributeRef, Scope, Shape, SlotRef, Source
from lockstep.siddhiql.suggestions import did_you_mean


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
    return AttributeRef(slot, position, type_, source.is_list, index)


def resolve_variable(scope: Scope, variable: ast.Variable) -> AttributeRef:
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


def resolve_event(scope: Scope, reference: ast.EventReference) -> SlotRef:
    """The slot that an event reference means, or a positioned SiddhiQLError."""
    slots = slots_named(scope, reference.source)
    if len(slots) == 1:
        source = scope.sources[slots[0]]
        return SlotRef(slots[0], source.is_list, reference.index)
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
        """See Scope."""
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
