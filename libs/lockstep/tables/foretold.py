"""Writes that hang on the table itself: a query asks for an event's row, and what comes of that is
written back. That is a circle: the table waits for its writer, that one for the query that asks.

Where the row is found by the whole primary key and written under the same, and only filters and
projections lie between, a write is *foretold* from the event that asks: all that happens between is
put together to one condition and one expression for each attribute, and the table computes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType, StreamSchema
from lockstep.plan import AppPlan, QueryNode
from lockstep.selection.columns import wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedHandler,
    CheckedJoin,
    CheckedQuery,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.scope import Scope, Shape, Source, row_scope
from lockstep.siddhiql.trees import below
from lockstep.tables.meaning.conditions import conjuncts, equalities

EVENT: Final = "event"
ROW: Final = "row"
SEEN: Final = "seen"
"""The sources of a prophecy's scope: the event that asks, the row that a write finds, and the row
that was there when the event asked."""

_IS_SEEN: Final = ast.Not(ast.IsNull(ast.EventReference(SEEN)))
_MAX_QUERIES: Final = 8
Leaf = Callable[[ast.Variable], ast.Expression]
Key = dict[int, ast.Expression]


@dataclass(frozen=True, slots=True)
class Prophecy:
    """What a query will write, told by the events of the stream `source`, each by itself.

    `asker` is the query that asks, by the table's attributes `key`; `places` are those of the
    queries from there to the writer, and `between` the streams between them. It does not hold for
    events that somebody sends to those.
    `guard` are conditions that must all be true, `outputs` what the writer's output has. All are
    expressions of `scope`.
    """

    asker: str
    source: str
    key: tuple[int, ...]
    places: tuple[int, ...]
    between: frozenset[str]
    scope: Scope
    guard: tuple[ast.Expression, ...]
    outputs: tuple[ast.Expression, ...]

    def of_action(self, action: Scope | None, expression: ast.Expression) -> ast.Expression:
        """A condition or value of the writer's action, which sees its output and the row that it
        finds. NotLowerable."""
        assert action is not None, "an insert has no expressions"
        known, names = action, action.sources[1].schema.names

        def leaf(variable: ast.Variable) -> ast.Expression:
            ref = known.resolve(variable)
            if ref.slot:
                return ast.Variable(names[ref.attribute], ROW)
            return self.outputs[ref.attribute]

        return _rewritten(expression, leaf)


@dataclass(slots=True)
class _Telling:
    """A prophecy in the making, query by query."""

    table: StreamSchema
    primary: tuple[int, ...]
    key: Key = field(default_factory=dict)
    guard: list[ast.Expression] = field(default_factory=list)
    outputs: list[ast.Expression] = field(default_factory=list)
    asks: bool = False
    known: Key = field(default_factory=dict)

    def begin(self, query: CheckedQuery) -> None:
        """The query that asks. NotLowerable."""
        source = query.input
        if isinstance(source, CheckedJoin):
            self._begin_join(source)
            leaf = partial(self._of_join, query.scope)
            self.outputs = [_rewritten(item.expression, leaf) for item in query.selection]
            return
        assert isinstance(source, CheckedStream)
        self.outputs = [ast.Variable(name, EVENT) for name in source.source_schema.names]
        self.go_on(query, asks=True)

    def go_on(self, query: CheckedQuery, *, asks: bool = False) -> None:
        """The next query on the way, or one that `asks`. NotLowerable."""
        assert isinstance(query.input, CheckedStream)
        self._filters(query.input.handlers, asks=asks)
        leaf = partial(self.of_one, query.scope)
        self.outputs = [_rewritten(item.expression, leaf) for item in query.selection]

    def _begin_join(self, join: CheckedJoin) -> None:
        names = join.left.source_schema.names
        self.outputs = [ast.Variable(name, EVENT) for name in names]
        self._filters(join.left.handlers, asks=True)
        found, exact = equalities(join.input.on, join.scope, 1)
        leaf = partial(self._of_join, join.scope)
        self._asked({each.attribute: _rewritten(each.value, leaf) for each in found}, exact=exact)
        if join.input.type is ast.JoinType.INNER:
            self.guard.append(_IS_SEEN)
            self.known = {
                each: value for each, value in self.key.items() if self._is_same(each, value, join)
            }

    def _is_same(self, attribute: int, value: ast.Expression, join: CheckedJoin) -> bool:
        """Whether an attribute that is equal to a value is exactly that value."""
        source, type_ = join.left.source_schema, self.table.types[attribute]
        if not isinstance(value, ast.Variable) or type_ in (
            AttributeType.FLOAT,
            AttributeType.DOUBLE,
        ):
            return False
        return source.types[source.names.index(value.name)] is type_

    def _asked(self, key: Key, *, exact: bool) -> None:
        if not exact or not key or (self.primary and key.keys() != set(self.primary)):
            raise NotLowerable("a table that is asked for more than its primary key")
        if self.asks and key != self.key:
            raise NotLowerable("a table that is asked for several rows")
        self.key, self.asks = key, True

    def _filters(self, handlers: Sequence[CheckedHandler], *, asks: bool) -> None:
        for each in handlers:
            if not isinstance(each.handler, ast.Filter):
                raise NotLowerable("more than filters on the way")
            leaf = partial(self.of_one, each.scope)
            asked = partial(self._asking, each.scope) if asks else _refused
            for part in conjuncts(each.handler.condition):
                self.guard.append(_rewritten(part, leaf, asked))

    def _asking(self, scope: Scope, asked: ast.InTable) -> ast.Expression:
        """`condition in Table`."""
        if asked.table != self.table.name:
            raise NotLowerable("another table that is asked on the way")
        inner = row_scope(scope, self.table)
        found, exact = equalities(asked.condition, inner, len(scope.sources))
        leaf = partial(self.of_one, scope)
        self._asked({each.attribute: _rewritten(each.value, leaf) for each in found}, exact=exact)
        return _IS_SEEN

    def of_one(self, scope: Scope, variable: ast.Variable) -> ast.Expression:
        """An attribute of the only event of a scope."""
        ref = scope.resolve(variable)
        if ref.slot != 0 or ref.index is not None:
            raise NotLowerable("an attribute of something else")
        return self.outputs[ref.attribute]

    def _of_join(self, scope: Scope, variable: ast.Variable) -> ast.Expression:
        ref = scope.resolve(variable)
        if ref.slot == 1 and ref.attribute in self.known:
            return self.known[ref.attribute]
        if ref.slot == 1:
            return ast.Variable(self.table.names[ref.attribute], SEEN)
        return ast.Variable(scope.sources[0].schema.names[ref.attribute], EVENT)


def prophecy(plan: AppPlan, node: QueryNode, primary: tuple[int, ...]) -> Prophecy | None:
    """What a query will write to a table with a primary key, if it can be foretold; None where it
    asks it for nothing. NotLowerable where it cannot."""
    table = plan.schemas[node.query.output.name]
    way = _way(plan, node, table.name)
    if way is None:
        return None
    for query in way:
        _check_plain(query.query)
    asker = way[-1].query.input
    source = asker.left if isinstance(asker, CheckedJoin) else asker
    assert isinstance(source, CheckedStream)
    if AttributeType.OBJECT in source.source_schema.types:
        raise NotLowerable("an attribute of type object")
    telling = _Telling(table, primary)
    telling.begin(way[-1].query)
    for each in way[-2::-1]:
        telling.go_on(each.query)
    if not primary:
        _check_list(node.query, telling)
    if _written_key(node.query, telling, tuple(telling.key)) != telling.key:
        raise NotLowerable("a write under another key than the one that was asked for")
    scope = Scope(
        Shape.JOINED,
        (Source(source.source_schema, (EVENT,)), Source(table, (ROW,)), Source(table, (SEEN,))),
        functions=node.query.scope.functions,
    )
    places = tuple(plan.nodes.index(each) for each in way[::-1])
    between = frozenset(each.writes for each in way[1:])
    key = tuple(sorted(telling.key))
    return Prophecy(
        way[-1].name, source.input.source, key, places, between, scope, tuple(telling.guard),
        tuple(telling.outputs),
    )  # fmt: skip


def _way(plan: AppPlan, node: QueryNode, table: str) -> list[QueryNode] | None:
    """From the writer up to the query that asks the table; None where there is none, or where
    something else reaches the writer, too."""
    way = [node]
    while not _asks(way[-1].query, table):
        stream = way[-1].query.input
        if not isinstance(stream, CheckedStream) or stream.kind is not SourceKind.STREAM:
            return None
        name = stream.input.source
        writers = [each for each in plan.nodes if name in each.written]
        if len(writers) != 1 or _has_source(plan, name) or len(way) == _MAX_QUERIES:
            return None
        (writer,) = writers
        if not isinstance(writer, QueryNode):
            return None
        way.append(writer)
    return way


def _has_source(plan: AppPlan, stream: str) -> bool:
    """Whether events of its own are expected."""
    return any(
        annotation.name.lower() == "source"
        for each in plan.checked.app.definitions
        if isinstance(each, ast.StreamDefinition) and each.name == stream
        for annotation in each.annotations
    )


def _asks(query: CheckedQuery, table: str) -> bool:
    source = query.input
    if isinstance(source, CheckedJoin):
        is_left_stream = source.left.kind is SourceKind.STREAM
        right = source.right
        is_table = right.kind is SourceKind.TABLE and right.input.source == table
        return is_left_stream and is_table and not right.handlers
    if not isinstance(source, CheckedStream) or source.kind is not SourceKind.STREAM:
        return False
    handlers = below([each.handler for each in source.handlers])
    return any(isinstance(each, ast.InTable) and each.table == table for each in handlers)


def _check_plain(query: CheckedQuery) -> None:
    """NotLowerable for what needs more than each event by itself."""
    selector, join = query.query.selector, query.input
    plain = not (
        query.uses_aggregators
        or selector.group_by
        or selector.having is not None
        or selector.order_by
        or selector.limit is not None
        or selector.offset is not None
        or query.query.rate is not None
    )
    if not plain or wanted_kind(query.query.action) != CURRENT:
        raise NotLowerable("more than filters and projections on the way")
    kinds = (ast.JoinType.INNER, ast.JoinType.LEFT_OUTER)
    if isinstance(join, CheckedJoin) and (
        join.input.type not in kinds or join.input.trigger is ast.JoinTrigger.RIGHT
    ):
        raise NotLowerable("a join that asks for more than an event's row")


def _check_list(query: CheckedQuery, telling: _Telling) -> None:
    """In a list several rows may be found, and each is written back: the last one is what stays, if
    all of them change the same rows and what they give them hangs on what was asked alone."""
    if isinstance(query.query.action, ast.InsertInto):
        raise NotLowerable("an insert for each row of a list")
    asked = below(telling.guard)
    if any(isinstance(each, ast.Variable) and each.source == SEEN for each in asked):
        raise NotLowerable("a condition on each row of a list")


def _written_key(query: CheckedQuery, telling: _Telling, primary: tuple[int, ...]) -> Key:
    """Under which key a query writes."""
    action = query.query.action
    if isinstance(action, ast.InsertInto):  # by place
        return {attribute: telling.outputs[attribute] for attribute in primary}
    assert query.action_scope is not None
    assert isinstance(action, ast.UpdateTable | ast.UpdateOrInsert | ast.DeleteFrom)
    scope = query.action_scope
    found, _ = equalities(action.on, scope, 1)
    leaf = partial(telling.of_one, scope)
    return {
        each.attribute: _rewritten(each.value, leaf) for each in found if each.attribute in primary
    }


def _refused(asked: ast.InTable) -> ast.Expression:
    raise NotLowerable("a table that is asked elsewhere")


def _rewritten(
    expression: ast.Expression,
    leaf: Leaf,
    asked: Callable[[ast.InTable], ast.Expression] = _refused,
) -> ast.Expression:
    """The same with other attributes, and what asks a table answered. NotLowerable."""
    match expression:
        case ast.Constant():
            return expression
        case ast.Variable():
            return leaf(expression)
        case ast.InTable():
            return asked(expression)
        case ast.Not(operand=operand):
            return replace(expression, operand=_rewritten(operand, leaf, asked))
        case ast.And() | ast.Or() | ast.Compare() | ast.Arithmetic():
            left, right = (_rewritten(e, leaf, asked) for e in (expression.left, expression.right))
            return replace(expression, left=left, right=right)
        case ast.IsNull(operand=operand) if not isinstance(operand, ast.EventReference):
            return _is_null(_rewritten(operand, leaf, asked))
        case ast.FunctionCall(arguments=arguments) if not expression.star:
            made = tuple(_rewritten(each, leaf, asked) for each in arguments)
            return replace(expression, arguments=made)
        case _:
            raise NotLowerable(f"{type(expression).__name__} on the way")


def _is_null(operand: ast.Expression) -> ast.Expression:
    """Whatever stands there now may be null; only of a constant nobody asks."""
    if isinstance(operand, ast.Constant):
        raise NotLowerable("a constant that may be null")
    return ast.IsNull(operand)  # type: ignore[arg-type]  # any expression has a value


__all__ = ["Prophecy", "prophecy"]
