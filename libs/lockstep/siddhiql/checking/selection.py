"""Selectors (grammar 9): output names and types, group by, having, order by, limit, offset."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.expressions import condition, has_aggregator, normalise
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope, Shape
from lockstep.siddhiql.typing import infer, positioned


@dataclass(frozen=True)
class CheckedSelection:
    """A selector made ready, its output attributes in order, and what `having` sees."""

    selector: ast.Selector
    selection: tuple[ast.OutputAttribute, ...]
    attributes: tuple[Attribute, ...]
    having_scope: Scope
    uses_aggregators: bool


def check_selection(
    selector: ast.Selector, scope: Scope, symbols: Symbols, *, sees_input: bool
) -> CheckedSelection:
    """The selector in the scope of its input.

    `sees_input`: whether `having` and `order by` see input attributes behind the output names.
    """
    written = everything(scope, selector.at) if selector.attributes is None else selector.attributes
    selection = tuple(
        replace(item, expression=normalise(item.expression, scope)) for item in written
    )
    attributes = tuple(_output(item, scope) for item in selection)
    _check_names(selection, attributes)
    for variable in selector.group_by:
        scope.resolve(variable)
    outputs = StreamSchema("", attributes)
    having_scope = symbols.scope(
        scope.shape, *(scope.sources if sees_input else ()), outputs=outputs
    )
    having = None
    if selector.having is not None:
        having = condition(selector.having, having_scope, "'having'", aggregators_allowed=True)
    for item in selector.order_by:
        having_scope.resolve(item.variable)
    _check_limits(selector)
    made = replace(
        selector,
        attributes=None if selector.attributes is None else selection,
        having=having,
    )
    parts = [item.expression for item in selection] + ([] if having is None else [having])
    uses_aggregators = any(has_aggregator(part, scope) for part in parts)
    return CheckedSelection(made, selection, attributes, having_scope, uses_aggregators)


def everything(scope: Scope, at: ast.Location) -> tuple[ast.OutputAttribute, ...]:
    """`select *`: all attributes of all sources in order."""
    items = []
    for source in scope.sources:
        for name in source.schema.names:
            qualifier = source.names[0] if scope.shape is not Shape.STREAM else None
            variable = ast.Variable(name, qualifier, at=at)
            items.append(ast.OutputAttribute(variable, at=at))
    return tuple(items)


def name_of(item: ast.OutputAttribute) -> str:
    """The output name of an item of `select`."""
    if item.name is not None:
        return item.name
    assert isinstance(item.expression, ast.Variable)
    return item.expression.name


def _output(item: ast.OutputAttribute, scope: Scope) -> Attribute:
    return Attribute(name_of(item), infer(item.expression, scope))


def _check_names(
    selection: tuple[ast.OutputAttribute, ...], attributes: tuple[Attribute, ...]
) -> None:
    seen: set[str] = set()
    for item, attribute in zip(selection, attributes, strict=True):
        if attribute.name in seen:
            raise positioned(
                item.at,
                f"two output attributes are called {attribute.name!r}",
                "give one another name: as other",
            )
        seen.add(attribute.name)


def _check_limits(selector: ast.Selector) -> None:
    for word, constant in (("limit", selector.limit), ("offset", selector.offset)):
        if constant is None:
            continue
        if constant.type not in (AttributeType.INT, AttributeType.LONG):
            raise positioned(
                constant.at,
                f"'{word}' takes an int or a long, not {constant.type.value}",
                f"write: {word} 10",
            )
        if int(constant.value) < 0:
            raise positioned(constant.at, f"'{word}' cannot be negative", "count from 0")
