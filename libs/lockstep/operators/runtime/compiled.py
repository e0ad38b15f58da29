"""Expressions compiled once per place in the text, and shared by all instances of a partition."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from lockstep.operators.contract import Context, PlainState
from lockstep.operators.expressions import (
    CompiledRow,
    compile_condition,
    compile_expression,
    compile_key,
    compile_output_condition,
    compile_output_value,
    compile_row,
)
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope

if TYPE_CHECKING:
    from lockstep.operators.runtime.context import EngineContext

COMPILED_MAX = 20_000
"""Functions kept for the instances of partitions; beyond it each instance compiles its own."""


def _compile_selection(
    selection: tuple[ast.OutputAttribute, ...], scope: Scope, context: Context
) -> CompiledRow:
    return compile_row([item.expression for item in selection], scope, context)


class FilterAggregates:
    """The running aggregators of a filter, as state."""

    def __init__(self, aggregators: list[Any]) -> None:
        self.aggregators = aggregators

    def snapshot(self) -> PlainState:
        """The aggregators' states in order."""
        return [aggregator.snapshot() for aggregator in self.aggregators]

    def restore(self, state: PlainState) -> None:
        """See snapshot."""
        for aggregator, saved in zip(self.aggregators, state, strict=True):
            aggregator.restore(saved)


class CompiledExpressions:
    """Compiles for one context; `kept` is the engine's store of what is compiled already."""

    __slots__ = ("_context", "_kept")

    def __init__(self, context: EngineContext, kept: dict[Any, Any]) -> None:
        self._context = context
        self._kept = kept

    def value(self, expression: Any, scope: Scope) -> Callable[[Any], Any]:
        """An expression as a function of an event."""
        compiled: Callable[[Any], Any] = self._shared(
            "value", expression, scope, compile_expression
        )
        return compiled

    def condition(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        """True only when the expression is exactly true."""
        compiled: Callable[[Any], bool] = self._shared(
            "condition", expression, scope, compile_condition
        )
        return compiled

    def row(self, selection: tuple[ast.OutputAttribute, ...], scope: Scope) -> CompiledRow:
        """A select list as one function."""
        compiled: CompiledRow = self._shared("row", selection, scope, _compile_selection)
        return compiled

    def having(self, expression: Any, scope: Scope, first_aggregator: int) -> Any:
        """A having condition with the aggregators that it brings along."""
        return self._shared(
            "having",
            expression,
            scope,
            lambda e, s, c: compile_output_condition(e, s, c, first_aggregator=first_aggregator),
        )

    def output(self, expression: Any, scope: Scope) -> Callable[[Any, Any], Any]:
        """An expression of (event, output row): an `order by` item."""
        compiled: Callable[[Any, Any], Any] = self._shared(
            "output", expression, scope, compile_output_value
        )
        return compiled

    def key(self, group_by: tuple[ast.Variable, ...], scope: Scope) -> Callable[[Any], Hashable]:
        """The group's key of an event (semantics 5)."""
        compiled: Callable[[Any], Hashable] = self._shared("key", group_by, scope, compile_key)
        return compiled

    def filter(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        """A filter's condition; aggregators in it keep running values (grammar 8.1)."""
        condition, makers = compile_output_condition(expression, scope, self._context)
        if not makers:
            return self.condition(expression, scope)
        aggregates = FilterAggregates([make() for make in makers])
        self._context.register("filter", aggregates)
        return lambda event: condition(event, (), aggregates.aggregators)

    def _shared(self, kind: str, what: Any, scope: Scope, compiler: Callable[..., Any]) -> Any:
        key = (kind, id(what), id(scope))
        found = self._kept.get(key)
        if found is None:
            operators = self._context.engine.operators
            before = len(operators)
            made = compiler(what, scope, self._context)
            if len(operators) != before or len(self._kept) >= COMPILED_MAX:
                return made  # a function with state of its own is not to be shared
            # The entry keeps `what` and `scope` alive, so that their ids stay theirs.
            found = self._kept[key] = (made, what, scope)
        return found[0]
