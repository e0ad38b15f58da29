"""Queries that write a table: what each does, on columns or by the reference's action."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockstep.columns.frame import Evaluate
from lockstep.columns.rule import NotLowerable
from lockstep.expressions.columns import Compiler
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedQuery
from lockstep.tables import kernel as operations
from lockstep.tables.meaning.actions import Delete, Insert, Update, make_action
from lockstep.tables.meaning.conditions import Equality, conjuncts, equalities
from lockstep.tables.meaning.table import Table
from lockstep.tables.one_by_one import RowContext
from lockstep.tables.program import Programs, Steps
from lockstep.tables.store import Index, TableStore


@dataclass(frozen=True, eq=False)
class Foretold:
    """What a write hangs on that is foretold (tables.foretold): the row that `asker` saw. `guard`
    tells whether it is made, `outputs` what its output has in some places. The column `asked` of
    what it brings numbers the chunks in which its events asked.
    """

    asker: str
    guard: Steps
    outputs: Mapping[int, Steps]
    asked: int


@dataclass(frozen=True, eq=False)
class Writer:
    """A query that writes: what it does, and where its output has what.

    It looks in `index` for the values `wanted`. `inserted`: where the output has each attribute of
    a new row, None for a null. `changed`: the same of a row that is there, None for what it keeps,
    unless it is `computed` of the output (slot 0) and the row as it was (slot 1). `test` is what
    else a row has to pass, and `values` compute what `computed` does; `has_programs` tells whether
    they do. `wants_own`: it looks for the key of the row that it would insert.
    """

    kind: int
    index: Index
    wanted: Sequence[Evaluate] = ()
    inserted: Sequence[int | None] = ()
    changed: Sequence[int | None] = ()
    computed: Mapping[int, Evaluate] = field(default_factory=dict)
    programs: Programs = field(default_factory=Programs)
    test: Steps = ()
    values: Mapping[int, Steps] = field(default_factory=dict)
    wants_own: bool = False
    foretold: Foretold | None = None

    def steps_of(self, places: Sequence[int | None], attribute: int) -> Steps:
        """What computes the value that an attribute gets by `inserted` or `changed`; none where a
        column brings it."""
        place = places[attribute] if places else None
        if place is None or self.foretold is None:
            return ()
        return self.foretold.outputs.get(place, ())

    @property
    def foretold_attributes(self) -> set[int]:
        """The attributes that get what is computed of the row that was seen."""
        return {
            attribute
            for places in (self.inserted, self.changed)
            for attribute in range(len(places))
            if self.steps_of(places, attribute)
        }

    @property
    def has_programs(self) -> bool:
        """Whether programs say all that is tested and computed."""
        return self.values.keys() == self.computed.keys()


def _is_always(on: ast.Expression | None) -> bool:
    return isinstance(on, ast.Constant) and on.value is True


def action_of(query: CheckedQuery, table: Table, clock: RowContext) -> Insert | Delete | Update:
    """What a query does to the reference's rows; NotLowerable where that needs more than rows."""
    _check_types(query, table.schema)
    action, scope = query.query.action, query.action_scope
    context: Any = clock
    return make_action(action, query.output, scope, table, context)


def _as_it_is(expression: ast.Expression) -> ast.Expression:
    return expression


def writer_of(
    query: CheckedQuery,
    table: TableStore,
    programs: Programs | None = None,
    said: Callable[[ast.Expression], ast.Expression] = _as_it_is,
) -> Writer:
    """What a query does to the columns; NotLowerable where the rows' values decide what happens,
    in ways that no program tells. `programs` of another scope than the action's have its
    expressions as they are `said` there."""
    _check_types(query, table.schema)
    action = query.query.action
    places = tuple(range(len(table.schema.names)))
    programs = programs or Programs(query.action_scope)
    if isinstance(action, ast.InsertInto):
        return Writer(operations.INSERT, table.index(()), (), places, programs=programs)
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert | ast.DeleteFrom)
    assert query.action_scope is not None
    found, _ = equalities(action.on, query.action_scope, 1)
    served = looked_in(found, table)
    beside = _beside(action.on, [each for each in found if each.attribute in served])
    test = programs.test([said(each) for each in beside])
    compiler = Compiler(query.action_scope)
    index = table.index(served)
    values = {equality.attribute: equality.value for equality in found}
    wanted = [compiler.compile(values[attribute]) for attribute in index.attributes]
    if isinstance(action, ast.DeleteFrom):
        return Writer(operations.DELETE, index, wanted, programs=programs, test=test)
    changed, expressions = _changes(query, table)
    computed = {each: compiler.compile(value) for each, value in expressions.items()}
    spoken = {each: said(value) for each, value in expressions.items()}
    programmed = programs, test, _programmed(programs, spoken)
    for attribute in table.primary:
        place, value = changed[attribute], values.get(attribute)
        if place is not None and not _brings(query, table, attribute, place, value):
            raise NotLowerable("an update that may change the primary key")
    if isinstance(action, ast.UpdateTable):
        return Writer(operations.UPDATE, index, wanted, (), changed, computed, *programmed)
    new = inserted(query, table)
    own = bool(served) and all(
        _brings(query, table, attribute, new[attribute], values[attribute]) for attribute in served
    )
    return Writer(operations.UPSERT, index, wanted, new, changed, computed, *programmed, own)


def _beside(on: ast.Expression | None, served: Sequence[Equality]) -> list[ast.Expression]:
    """What a condition says beside the equalities that an index serves."""
    values = [each.value for each in served]
    return [
        part
        for part in (() if on is None else conjuncts(on))
        if not _is_always(part)
        and not (
            isinstance(part, ast.Compare)
            and any(value is part.left or value is part.right for value in values)
        )
    ]


def _programmed(programs: Programs, expressions: Mapping[int, ast.Expression]) -> dict[int, Steps]:
    """What is computed; nothing where a part of it has no program."""
    try:
        return {attribute: programs.value(each) for attribute, each in expressions.items()}
    except NotLowerable:
        return {}


def keeps_up(writer: Writer, table: TableStore) -> bool:
    """Whether every index is known of a changed row before the row is."""
    if not writer.computed.keys().isdisjoint(table.not_null):
        return False
    for index in table.indexes[1:] if writer.changed else ():
        if not writer.computed.keys().isdisjoint(index.attributes):
            return False
        given = [writer.changed[attribute] is not None for attribute in index.attributes]
        if any(given) and not all(given):
            return False
    return True


def looked_in(found: Sequence[Equality], table: TableStore) -> tuple[int, ...]:
    """The attributes of the index that serves a condition: the primary key if it is fixed, else all
    that are (tables.meaning.find)."""
    fixed = {equality.attribute for equality in found}
    if table.asked:
        return table.asked if fixed.issuperset(table.asked) else ()
    if table.primary and fixed.issuperset(table.primary):
        return table.primary
    return tuple(sorted(fixed))


def keeps(query: CheckedQuery, table: TableStore, attributes: Sequence[int]) -> bool:
    """Whether rows that a query changes keep these attributes: they stay, or get what the condition
    looks for."""
    action = query.query.action
    if not isinstance(action, ast.UpdateTable | ast.UpdateOrInsert):
        return True
    assert query.action_scope is not None
    found, _ = equalities(action.on, query.action_scope, 1)
    values = {each.attribute: each.value for each in found}
    changed, computed = _changes(query, table)
    return computed.keys().isdisjoint(attributes) and all(
        changed[each] is None or _brings(query, table, each, changed[each], values.get(each))
        for each in attributes
    )


def _check_types(query: CheckedQuery, schema: Any) -> None:
    """NotLowerable where values of other types would stand in the table."""
    action = query.query.action
    compiler = None if query.action_scope is None else Compiler(query.action_scope)
    if isinstance(action, ast.DeleteFrom):
        return
    items = getattr(action, "set", None)
    for item in items or ():
        attribute = schema.index_of(item.attribute.name)
        assert attribute is not None
        assert compiler is not None
        if compiler.type_of(item.value) is not schema.types[attribute]:
            raise NotLowerable("a set with a value of another type")
    if items is not None and isinstance(action, ast.UpdateTable):
        return
    for attribute, place in enumerate(_by_name(query, schema)):
        if place is not None and query.output.types[place] is not schema.types[attribute]:
            raise NotLowerable("a row with values of another type")


def _by_name(query: CheckedQuery, schema: Any) -> list[int | None]:
    """Where the output has each attribute: by name, in new rows by place if the names differ."""
    places = [query.output.index_of(name) for name in schema.names]
    if isinstance(query.query.action, ast.UpdateTable):
        return places
    if isinstance(query.query.action, ast.InsertInto) or (
        len(query.output.names) == len(places) and None in places
    ):
        return list(range(len(places)))
    return places


def inserted(query: CheckedQuery, table: TableStore) -> list[int | None]:
    """For each attribute of a row that is inserted, where the output has it; None: null."""
    return _by_name(query, table.schema)


def _changes(
    query: CheckedQuery, table: TableStore
) -> tuple[list[int | None], dict[int, ast.Expression]]:
    """For each attribute, where the output has what an update gives it (None: it stays), and what
    is computed."""
    action = query.query.action
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert)
    if action.set is None:
        return [query.output.index_of(name) for name in table.schema.names], {}
    places: list[int | None] = [None] * len(table.schema.names)
    computed: dict[int, ast.Expression] = {}
    assert query.action_scope is not None
    for item in action.set:
        attribute = table.schema.index_of(item.attribute.name)
        assert attribute is not None
        places[attribute] = None
        computed.pop(attribute, None)
        if isinstance(item.value, ast.Variable):
            ref = query.action_scope.resolve(item.value)
            if ref.slot == 0:
                places[attribute] = ref.attribute
                continue
        computed[attribute] = item.value
    return places, computed


def _brings(
    query: CheckedQuery,
    table: TableStore,
    attribute: int,
    place: int | None,
    value: ast.Expression | None,
) -> bool:
    """Whether the output has there what a condition looks for in an attribute."""
    assert query.action_scope is not None
    if not isinstance(value, ast.Variable):
        return False
    ref = query.action_scope.resolve(value)
    return ref.attribute == place and ref.type is table.schema.types[attribute]
