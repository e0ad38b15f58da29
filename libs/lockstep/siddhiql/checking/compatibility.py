"""@app:compat('siddhi-5.1'): defects of the old engine, as changes of the app with their effect.

Most of them can be said in the language itself; the others that come back are in the operators
(those that ask `context.is_siddhi_5_1`). The language page lists them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from lockstep.events import AttributeType
from lockstep.siddhiql import ast

_NEVER = ast.Filter(ast.Constant(False, AttributeType.BOOL))
_ONCE_EVENTS = 2**31 - 1
_ZERO = ast.Constant(0, AttributeType.INT)
_NULL = ast.Arithmetic(ast.ArithmeticOperator.DIVIDE, _ZERO, _ZERO)
_WITH_NULL = (
    AttributeType.INT,
    AttributeType.LONG,
    AttributeType.FLOAT,
    AttributeType.DOUBLE,
    AttributeType.STRING,
)

_Updating = ast.UpdateTable | ast.UpdateOrInsert


def as_siddhi_5_1(app: ast.App) -> ast.App:
    """The app changed such that it does what the old engine did with it (semantics 23)."""
    tables = {d.name: d for d in app.definitions if isinstance(d, ast.TableDefinition)}

    def changed(query: ast.Query) -> ast.Query:
        return _query(query, tables)

    return replace(
        app,
        definitions=tuple(_definition(definition) for definition in app.definitions),
        execution=tuple(_execution(item, changed) for item in app.execution),
    )


def _definition(definition: ast.Definition) -> ast.Definition:
    """An aggregation whose input is filtered ingests nothing."""
    if isinstance(definition, ast.AggregationDefinition) and definition.input.handlers:
        return replace(definition, input=_never(definition.input))
    return definition


def _execution(
    item: ast.Query | ast.Partition, changed: Callable[[ast.Query], ast.Query]
) -> ast.Query | ast.Partition:
    if isinstance(item, ast.Partition):
        return replace(item, queries=tuple(changed(query) for query in item.queries))
    return changed(item)


def _query(query: ast.Query, tables: dict[str, ast.TableDefinition]) -> ast.Query:
    input_, action = query.input, query.action
    if isinstance(input_, ast.JoinInput):
        left, right = _unfiltered(input_.left, tables), _unfiltered(input_.right, tables)
        input_ = replace(input_, left=left, right=right)
    elif isinstance(input_, ast.StateInput):
        element = _sequence(input_.element) if input_.is_sequence else _pattern(input_.element)
        input_ = replace(input_, element=element)
    if isinstance(action, (ast.UpdateTable, ast.UpdateOrInsert)) and action.target in tables:
        action = _update(action, tables[action.target])
    return replace(query, input=input_, action=action, rate=_rate(query.rate))


def _rate(rate: ast.OutputRate | None) -> ast.OutputRate | None:
    """`first every 1 events` lets one event pass (of each group), and no further one."""
    if rate is not None and rate.kind is ast.RateKind.FIRST and rate.every_events == 1:
        return replace(rate, every_events=_ONCE_EVENTS)
    return rate


def _unfiltered(side: ast.StreamInput, tables: dict[str, ast.TableDefinition]) -> ast.StreamInput:
    """A filter on the table side of a join means nothing."""
    return replace(side, handlers=()) if side.source in tables else side


def _pattern(element: ast.StateElement) -> ast.StateElement:
    """`every e<0:n>` at the start of a pattern matches once."""
    if isinstance(element, ast.ChainState):
        return replace(element, elements=(_pattern(element.elements[0]), *element.elements[1:]))
    if isinstance(element, ast.EveryState) and isinstance(element.state, ast.CountState):
        return element.state if element.state.min == 0 else element
    return element


def _sequence(element: ast.StateElement) -> ast.StateElement:
    """Counts from two on never match in a sequence, nor does a `+` at its end; what a timed absence
    between two states forbids is not seen.
    """
    if not isinstance(element, ast.ChainState):
        return element
    steps = [_counted(step, 2) for step in element.elements]
    steps[-1] = _counted(steps[-1], 1)
    steps[1:-1] = [_unseen(step) for step in steps[1:-1]]
    return replace(element, elements=tuple(steps))


def _counted(step: ast.StateElement, least: int) -> ast.StateElement:
    if isinstance(step, ast.EveryState):
        return replace(step, state=_counted(step.state, least))
    if isinstance(step, ast.CountState) and step.min >= least:
        return replace(step, state=replace(step.state, stream=_never(step.state.stream)))
    return step


def _unseen(step: ast.StateElement) -> ast.StateElement:
    if isinstance(step, ast.AbsentState) and step.for_ms is not None:
        return replace(step, stream=_never(step.stream))
    return step


def _never(stream: ast.StreamInput) -> ast.StreamInput:
    return replace(stream, handlers=(*stream.handlers, _NEVER))


def _update(action: _Updating, table: ast.TableDefinition) -> _Updating:
    """With a primary key or an index, what is computed from the table's own attributes is null."""
    found = any(a.name.lower() in ("primarykey", "index") for a in table.annotations)
    if not found or action.set is None:
        return action
    types = {attribute.name: attribute.type for attribute in table.attributes}
    return replace(action, set=tuple(_set(item, table.name, types) for item in action.set))


def _set(item: ast.SetItem, table: str, types: dict[str, AttributeType]) -> ast.SetItem:
    wanted = types.get(item.attribute.name)
    if wanted not in _WITH_NULL or not _reads(item.value, table):
        return item
    name = ast.Constant(wanted.value, AttributeType.STRING)
    return replace(item, value=ast.FunctionCall("convert", (_NULL, name)))


def _reads(expression: ast.Expression, table: str) -> bool:
    """Whether an attribute of the table occurs in the expression."""
    match expression:
        case ast.Variable():
            return expression.source == table
        case ast.FunctionCall():
            return any(_reads(argument, table) for argument in expression.arguments)
        case ast.Arithmetic() | ast.Compare() | ast.And() | ast.Or():
            return _reads(expression.left, table) or _reads(expression.right, table)
        case ast.Not() | ast.IsNull():
            return _reads(expression.operand, table)
    return False
