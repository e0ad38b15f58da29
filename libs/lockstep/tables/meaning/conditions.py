"""Conditions on pairs of an event and a row that is looked for, compiled once: what `on` means for
tables, windows and aggregations. Equalities are told apart, so that a hash index can serve them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lockstep.events import AttributeType
from lockstep.operators.contract import Context, JoinedEvent, MatchedEvent, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope, Shape
from lockstep.siddhiql.typing import infer

_INT, _LONG = AttributeType.INT, AttributeType.LONG
_FLOAT, _DOUBLE = AttributeType.FLOAT, AttributeType.DOUBLE
# Pairs whose comparison is exact in Python too; long with double and float with int are compared in
# a narrower type (grammar 13.2), where unequal numbers can be equal.
_HASHED_ALIKE = (
    frozenset({_INT, _LONG}),
    frozenset({_INT, _DOUBLE}),
    frozenset({_FLOAT, _DOUBLE}),
)


@dataclass(frozen=True, slots=True)
class Equality:
    """`row.attribute == value`, where the value does not depend on the row."""

    attribute: int
    value: ast.Expression


def conjuncts(condition: ast.Expression) -> Iterator[ast.Expression]:
    """The parts that `and` joins at the top."""
    if isinstance(condition, ast.And):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def reads_row(expression: ast.Expression, scope: Scope, slot: int) -> bool:
    """Whether the value depends on the row in `slot`, or on a table, which may change."""
    match expression:
        case ast.Constant():
            return False
        case ast.Variable():
            return scope.resolve(expression).slot == slot
        case ast.EventReference():
            return scope.resolve_event(expression).slot == slot
        case ast.FunctionCall(arguments=arguments):
            if expression.name == "eventTimestamp" and expression.namespace is None:
                return True
            return any(reads_row(argument, scope, slot) for argument in arguments)
        case ast.Not(operand=operand) | ast.IsNull(operand=operand):
            return reads_row(operand, scope, slot)
        case ast.InTable():
            return True
        case _:
            return any(reads_row(e, scope, slot) for e in (expression.left, expression.right))


def _type_of(expression: ast.Expression, scope: Scope) -> AttributeType:
    type_: AttributeType = infer(expression, scope)
    return type_


def compares_alike(one: AttributeType, other: AttributeType) -> bool:
    """Whether numbers of these types compare in 64 bits as in the language."""
    return one.is_numeric and (one is other or frozenset({one, other}) in _HASHED_ALIKE)


def _equality(part: ast.Expression, scope: Scope, slot: int) -> Equality | None:
    if not isinstance(part, ast.Compare) or part.operator is not ast.CompareOperator.EQUAL:
        return None
    for row_side, other in ((part.left, part.right), (part.right, part.left)):
        if not isinstance(row_side, ast.Variable):
            continue
        ref = scope.resolve(row_side)
        if ref.slot != slot or ref.is_list or reads_row(other, scope, slot):
            continue
        types = frozenset({ref.type, _type_of(other, scope)})
        if AttributeType.OBJECT not in types and (len(types) == 1 or types in _HASHED_ALIKE):
            return Equality(ref.attribute, other)
    return None


def equalities(
    condition: ast.Expression | None, scope: Scope, slot: int
) -> tuple[tuple[Equality, ...], bool]:
    """The equalities that every matching row in `slot` fulfils, and whether they say everything."""
    if condition is None:
        return (), True
    found: dict[int, Equality] = {}
    exact = True
    for part in conjuncts(condition):
        equality = _equality(part, scope, slot)
        if equality is None or equality.attribute in found:
            exact = False
        else:
            found[equality.attribute] = equality
    return tuple(found.values()), exact


class SomeFailedError(Exception):
    """The condition fails of some candidates: the first `error`, and those `found` all the
    same."""

    def __init__(self, found: list[Any], error: BaseException) -> None:
        super().__init__(str(error))
        self.found = found
        self.error = error


class Match:
    """`on` for rows in `slot` of the scope: which of some candidates match an event.

    Scopes: JOINED (the event in the other slot), MATCHED (the event's slots, then the row), STREAM
    (the row alone, as in on-demand queries; the event is not looked at).
    """

    def __init__(
        self, condition: ast.Expression | None, scope: Scope, slot: int, context: Context
    ) -> None:
        self.equalities, self.exact = equalities(condition, scope, slot)
        self._shape = scope.shape
        self._slot = slot
        self._condition: Callable[[Any], bool] | None = None
        if condition is not None:
            self._condition = context.compile_condition(condition, scope)
        self._values = {e.attribute: context.compile(e.value, scope) for e in self.equalities}

    def key(self, event: Any, attributes: tuple[int, ...]) -> tuple[Any, ...]:
        """The values of a matching row in these attributes, which must be among the equalities."""
        pair = self.pair(event)
        return tuple(self._values[attribute](pair) for attribute in attributes)

    def rows(self, event: Any, candidates: Iterable[Any], *, goes_on: bool = False) -> list[Any]:
        """The candidates that match, in their order. Where the condition fails of one: its error,
        or in joins (`goes_on`), behind the last candidate, SomeFailedError.
        """
        condition = self._condition
        if condition is None:
            return list(candidates)
        if self._shape is Shape.STREAM:
            return [row for row in candidates if condition(row)]
        pair = self.pair(event)
        if self._shape is Shape.MATCHED:
            return [row for row in candidates if self._holds(pair, row)]
        found: list[Any] = []
        failed: BaseException | None = None
        if self._slot == 1:
            for row in candidates:
                pair.right = row
                try:
                    if condition(pair):
                        found.append(row)
                except PROCESSING_ERRORS as error:
                    if not goes_on:
                        raise
                    failed = failed or error
        else:
            for row in candidates:
                pair.left = row
                try:
                    if condition(pair):
                        found.append(row)
                except PROCESSING_ERRORS as error:
                    if not goes_on:
                        raise
                    failed = failed or error
        if failed is not None:
            raise SomeFailedError(found, failed)
        return found

    def any(self, event: Any, candidates: Iterable[Any]) -> bool:
        """Whether some candidate matches."""
        if self._condition is None:
            return any(True for _ in candidates)
        pair = self.pair(event)
        return any(self._holds(pair, row) for row in candidates)

    def _holds(self, pair: Any, row: Any) -> bool:
        assert self._condition is not None
        if self._shape is Shape.STREAM:
            return self._condition(row)
        if self._shape is Shape.MATCHED:
            pair.slots[-1] = row
        elif self._slot == 1:
            pair.right = row
        else:
            pair.left = row
        return self._condition(pair)

    def pair(self, event: Any) -> Any:
        """The event beside an empty place for the row."""
        if self._shape is Shape.STREAM:
            return event if event is not None else StreamEvent(0, ())
        if self._shape is Shape.JOINED:
            if self._slot == 1:
                return JoinedEvent(event.timestamp_ms, event, None, event.kind)
            return JoinedEvent(event.timestamp_ms, None, event, event.kind)
        if isinstance(event, JoinedEvent):
            return MatchedEvent(event.timestamp_ms, [event.left, event.right, None], event.kind)
        return MatchedEvent(event.timestamp_ms, [*event.slots, None], event.kind)


__all__ = ["Equality", "Match", "SomeFailedError", "conjuncts", "equalities", "reads_row"]
