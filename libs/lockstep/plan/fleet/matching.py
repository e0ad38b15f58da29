"""Which attributes of what a query reads are equal, and which of its rows are one of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from lockstep.events import AttributeType
from lockstep.plan.fleet.keys import attribute, conjuncts
from lockstep.plan.fleet.traits import Key
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery
from lockstep.siddhiql.scope import AttributeRef, Scope

EXACT: Final = frozenset(
    {AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL}
)
"""Types whose values are equal just when their texts are."""


def grouped(query: CheckedQuery, scope: Scope) -> list[tuple[int, str]]:
    """(slot, attribute) of what is grouped by."""
    found = []
    for variable in query.query.selector.group_by:
        ref = _single(scope, variable)
        if ref is not None:
            found.append((ref.slot, scope.sources[ref.slot].schema.names[ref.attribute]))
    return found


def adds_up_without(query: CheckedQuery, keys: list[tuple[int, str]]) -> bool:
    """Whether something is added up over several keys."""
    counts = query.uses_aggregators or query.query.rate is not None
    return counts and not set(keys).intersection(grouped(query, query.scope))


def _single(scope: Scope, variable: ast.Variable) -> AttributeRef | None:
    """A reference to one event, not to a list of them."""
    ref = scope.resolve(variable)
    return None if ref.slot < 0 or ref.is_list else ref


def carrying(query: CheckedQuery, keys: Iterable[tuple[int, str]]) -> Iterator[Key]:
    """The rows' attributes that are one of the keys, given as (slot, attribute)."""
    wanted = set(keys)
    for name, item in zip(query.output.names, query.selection, strict=True):
        if not isinstance(item.expression, ast.Variable):
            continue
        ref = _single(query.scope, item.expression)
        if ref is None:
            continue
        schema = query.scope.sources[ref.slot].schema
        if (ref.slot, schema.names[ref.attribute]) in wanted:
            yield attribute(name)


def may_be_missing(type_: ast.JoinType, slot: int) -> bool:
    """Whether a join gives out rows without an event of that side."""
    if type_ is ast.JoinType.FULL_OUTER:
        return True
    missing = {ast.JoinType.LEFT_OUTER: 1, ast.JoinType.RIGHT_OUTER: 0}
    return missing.get(type_) == slot


def equalities(join: CheckedJoin) -> Iterator[tuple[str, str]]:
    """(attribute of the left side, of the right side) that must be equal."""
    for condition in conjuncts(join.input.on):
        pair = equal_variables(condition)
        if pair is None:
            continue
        refs = sorted((join.scope.resolve(one) for one in pair), key=lambda ref: ref.slot)
        if [ref.slot for ref in refs] != [0, 1] or not all(ref.type in EXACT for ref in refs):
            continue
        names = [join.scope.sources[ref.slot].schema.names[ref.attribute] for ref in refs]
        schemas = (join.left.source_schema, join.right.source_schema)
        if all(name in schema.names for name, schema in zip(names, schemas, strict=True)):
            yield names[0], names[1]


def equal_variables(condition: ast.Expression) -> tuple[ast.Variable, ast.Variable] | None:
    """Two attributes that a condition says are equal; None where it says something else."""
    if (
        isinstance(condition, ast.Compare)
        and condition.operator is ast.CompareOperator.EQUAL
        and isinstance(condition.left, ast.Variable)
        and isinstance(condition.right, ast.Variable)
    ):
        return condition.left, condition.right
    return None
