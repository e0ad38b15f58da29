"""Expressions made ready: event references told from attributes, `*` spelled out, types checked."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import Scope, Shape, row_scope, slots_named
from lockstep.siddhiql.typing import aggregator_calls, all_arguments, infer, positioned, takes_event


def normalise(expression: ast.Expression, scope: Scope) -> ast.Expression:
    """The same expression with whole events as EventReference and `f(*)` with its arguments."""
    match expression:
        case (
            ast.Arithmetic(left=left, right=right)
            | ast.Compare(left=left, right=right)
            | ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
        ):
            return replace(expression, left=normalise(left, scope), right=normalise(right, scope))
        case ast.Not(operand=operand):
            return replace(expression, operand=normalise(operand, scope))
        case ast.IsNull(operand=tested):
            return replace(expression, operand=_tested(tested, scope))
        case ast.InTable(condition=condition, table=table):
            schema = scope.tables.get(table)
            inner = scope if schema is None else row_scope(scope, schema)
            return replace(expression, condition=normalise(condition, inner))
        case ast.FunctionCall():
            arguments = tuple(
                _event_of(a, scope) if takes_event(expression) else normalise(a, scope)
                for a in all_arguments(expression, scope)
            )
            return replace(expression, arguments=arguments, star=False)
    return expression


def _tested(
    operand: ast.Variable | ast.FunctionCall | ast.EventReference, scope: Scope
) -> ast.Variable | ast.FunctionCall | ast.EventReference:
    if isinstance(operand, ast.FunctionCall):
        made = normalise(operand, scope)
        assert isinstance(made, ast.FunctionCall)
        return made
    if isinstance(operand, ast.Variable) and operand.source is None:
        is_event = bool(slots_named(scope, operand.name))
        if is_event and not (scope.shape is Shape.STREAM and _is_attribute(operand, scope)):
            return ast.EventReference(operand.name, at=operand.at)
    return operand


def _event_of(argument: ast.Expression, scope: Scope) -> ast.Expression:
    if isinstance(argument, ast.Variable) and argument.source is None:
        return ast.EventReference(argument.name, argument.index, at=argument.at)
    return argument


def _is_attribute(variable: ast.Variable, scope: Scope) -> bool:
    try:
        scope.resolve(variable)
    except SiddhiQLError:
        return False
    return True


def condition(
    expression: ast.Expression, scope: Scope, what: str, *, aggregators_allowed: bool = False
) -> ast.Expression:
    """The expression made ready, which must be bool."""
    made = normalise(expression, scope)
    type_ = infer(made, scope, aggregators_allowed=aggregators_allowed)
    if type_ is not AttributeType.BOOL:
        raise positioned(
            made.at, f"{what} must be a condition, but this is {type_.value}", "compare it: x == …"
        )
    return made


def has_aggregator(expression: ast.Expression, scope: Scope) -> bool:
    """Whether an aggregator is called somewhere in the expression."""
    return any(True for _ in aggregator_calls(expression, scope.functions))
