"""What an aggregation keeps per bucket and group, and what is selected of it (semantics 17.2).

A group's state is a list: the latest event time first, then the base values of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from lockstep.events import AttributeType
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.bucket_columns import kept_for
from lockstep.siddhiql.catalogue.aggregators import Kept
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer

State = list[Any]
Fold = Callable[[Any, Any], Any]
"""(base value so far, argument) → base value."""


def _sum_long(so_far: Any, value: Any) -> Any:
    if value is None:
        return so_far
    return value if so_far is None else java.wrap_long(so_far + value)


def _sum_double(so_far: Any, value: Any) -> Any:
    if value is None:
        return so_far
    return float(value) if so_far is None else so_far + value


def _count(so_far: Any, value: Any) -> Any:
    return (so_far or 0) + 1


def _least(so_far: Any, value: Any) -> Any:
    if value is None or value != value:  # NaN is neither less nor more
        return so_far
    return so_far if so_far is not None and so_far <= value else value


def _greatest(so_far: Any, value: Any) -> Any:
    if value is None or value != value:
        return so_far
    return so_far if so_far is not None and so_far >= value else value


def extreme_of(kept: Any) -> Any:
    """A least or greatest value of a state: earlier releases kept NaN, which is none."""
    return None if kept != kept else kept


def _distinct(so_far: Any, value: Any) -> Any:
    if so_far is None:
        return {java.key(value)}
    so_far.add(java.key(value))
    return so_far


class Kind(Enum):
    """What becomes of the arguments of a base value; LATEST: that of the latest event stays."""

    SUM_LONG = auto()
    SUM_DOUBLE = auto()
    COUNT = auto()
    LEAST = auto()
    GREATEST = auto()
    DISTINCT = auto()
    LATEST = auto()


_FOLDS: dict[Kind, Fold] = {
    Kind.SUM_LONG: _sum_long,
    Kind.SUM_DOUBLE: _sum_double,
    Kind.COUNT: _count,
    Kind.LEAST: _least,
    Kind.GREATEST: _greatest,
    Kind.DISTINCT: _distinct,
}


@dataclass(frozen=True)
class Base:
    """One base value: how an argument is folded in."""

    kind: Kind
    argument: ast.Expression | None


@dataclass(frozen=True)
class Column:
    """A selected value: the base value at its place in the state, or the quotient of two."""

    places: tuple[int, ...]
    value: Callable[..., Any]


def _as_is(value: Any) -> Any:
    return value


def _size(values: Any) -> int:
    return 0 if values is None else len(values)


def _divided(total: Any, count: Any) -> Any:
    if total is None:
        return None
    # A sum and a count of type long are divided as longs (semantics 17.2).
    return java.divide_longs(total, count) if isinstance(total, int) else total / count


class Columns:
    """The bases and columns of a select list; equal base values are kept once."""

    def __init__(self, selection: Sequence[ast.OutputAttribute], scope: Scope) -> None:
        self._scope = scope
        self.bases: list[Base] = []
        self.columns = [self._column(item.expression) for item in selection]
        self._folds = [(i + 1, _FOLDS.get(base.kind)) for i, base in enumerate(self.bases)]

    @property
    def arguments(self) -> list[ast.Expression]:
        """What is evaluated per event: an expression for each base value, in order."""
        null = ast.Constant(0, AttributeType.INT)
        return [null if base.argument is None else base.argument for base in self.bases]

    def _column(self, expression: ast.Expression) -> Column:
        kept = kept_for(expression) if isinstance(expression, ast.FunctionCall) else ()
        if not isinstance(expression, ast.FunctionCall) or not kept:
            return Column((self._place(Kind.LATEST, expression),), _as_is)
        places = tuple(self._place_of(each, expression.arguments) for each in kept)
        if len(places) == 2:
            return Column(places, _divided)
        return Column(places, _size if kept == (Kept.DISTINCT,) else _as_is)

    def _place_of(self, kept: Kept, arguments: Sequence[ast.Expression]) -> int:
        if kept is Kept.COUNT:
            return self._place(Kind.COUNT, None)
        (argument,) = arguments
        if kept is Kept.SUM:
            whole = infer(argument, self._scope) in (AttributeType.INT, AttributeType.LONG)
            return self._place(Kind.SUM_LONG if whole else Kind.SUM_DOUBLE, argument)
        return self._place(Kind[kept.name], argument)

    def _place(self, kind: Kind, argument: ast.Expression | None) -> int:
        base = Base(kind, argument)
        if base not in self.bases:
            self.bases.append(base)
        return self.bases.index(base) + 1

    def new(self) -> State:
        """The state of a group before its first event."""
        return [None] * (len(self.bases) + 1)

    def loaded(self, state: State) -> State:
        """The state of a group as a snapshot has it."""
        for place, base in enumerate(self.bases, start=1):
            if base.kind in (Kind.LEAST, Kind.GREATEST):
                state[place] = extreme_of(state[place])
        return state

    def add(self, state: State, time_ms: int, values: tuple[Any, ...]) -> None:
        """Folds an event's arguments in; plain values are those of the latest event time."""
        latest = state[0] is None or time_ms >= state[0]
        if latest:
            state[0] = time_ms
        for place, fold in self._folds:
            if fold is not None:
                state[place] = fold(state[place], values[place - 1])
            elif latest:
                state[place] = values[place - 1]

    def row(self, state: State) -> tuple[Any, ...]:
        """The selected values."""
        return tuple(
            column.value(*[state[place] for place in column.places]) for column in self.columns
        )
