"""What the rules for queries on one stream share: the chain of handlers, lowered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.events import AttributeType
from lockstep.execute.columnar.expressions import Compiler, NotLowerable
from lockstep.execute.columnar.flow import CURRENT
from lockstep.execute.columnar.rates import limiter_of
from lockstep.execute.columnar.rules.contract import Site
from lockstep.execute.columnar.selector import SelectorOperator, wanted_kind
from lockstep.execute.columnar.stream_query import Condition, StreamQuery
from lockstep.execute.columnar.windows.contract import ColumnarWindow, Setup
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedQuery, CheckedStream, SourceKind

MakeWindow = Callable[["WindowCall", Setup], ColumnarWindow]


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A window as written, with what it sees."""

    handler: CheckedHandler
    call: ast.FunctionCall

    def constant(self, index: int) -> Any:
        """The literal at that place; NotLowerable when it is none."""
        argument = self.call.arguments[index]
        if not isinstance(argument, ast.Constant):
            raise NotLowerable(f"{self.call.name} with an argument that varies")
        return argument.value

    def long_attribute(self, index: int) -> int:
        """The place of the long attribute that the argument names."""
        argument = self.call.arguments[index]
        if not isinstance(argument, ast.Variable):
            raise NotLowerable(f"{self.call.name} without a plain attribute")
        ref = self.handler.scope.resolve(argument)
        if ref.type is not AttributeType.LONG:
            raise NotLowerable(f"{self.call.name} by an attribute of type {ref.type}")
        return ref.attribute

    def __len__(self) -> int:
        return len(self.call.arguments)


def stream_of(query: CheckedQuery) -> CheckedStream | None:
    """The query's single stream, or None when it is a join or pattern; NotLowerable for streams
    without columns."""
    stream = query.input
    if not isinstance(stream, CheckedStream):
        return None
    check_stream(stream)
    return stream


def check_stream(stream: CheckedStream) -> None:
    """NotLowerable for sources that are no plain streams, and for attributes without columns."""
    if stream.kind not in (SourceKind.STREAM, SourceKind.INNER):
        raise NotLowerable(f"reads a {stream.kind.value}")
    if AttributeType.OBJECT in stream.source_schema.types:
        raise NotLowerable("an attribute of type object")


def check_target(query: CheckedQuery) -> None:
    """NotLowerable for targets that are no plain streams."""
    if query.target_kind not in (SourceKind.STREAM, SourceKind.INNER):
        raise NotLowerable(f"writes a {query.target_kind.value}")
    if AttributeType.OBJECT in query.output.types:
        raise NotLowerable("an attribute of type object")


def filters_of(stream: CheckedStream) -> list[Condition]:
    """The stream's filters; NotLowerable for any other handler."""
    conditions = []
    for checked in stream.handlers:
        if not isinstance(checked.handler, ast.Filter):
            raise NotLowerable("a window or function on a side of a join")
        conditions.append(condition_of(checked, checked.handler.condition)[1])
    return conditions


def window_of(stream: CheckedStream) -> ast.FunctionCall | None:
    """The stream's window, if it has one."""
    for checked in stream.handlers:
        if isinstance(checked.handler, ast.WindowHandler):
            return checked.handler.call
    return None


def build(
    node: QueryNode, site: Site, stream: CheckedStream, windows: Mapping[str, MakeWindow]
) -> StreamQuery:
    """The unit of a query on one stream whose window, if any, is one of `windows`."""
    query = node.query
    writes = site.target(node.writes)
    if query.target_kind is SourceKind.TABLE:
        from lockstep.execute.columnar.rules.table_access import add_writer

        writes = add_writer(node, site)
    else:
        check_target(query)
    before: list[Condition] = []
    behind: list[Condition] = []
    changes = False
    window: tuple[str, ColumnarWindow] | None = None
    for index, checked in enumerate(stream.handlers):
        match checked.handler:
            case ast.Filter(condition=condition):
                compiler, compiled = condition_of(checked, condition)
                (before if window is None else behind).append(compiled)
                changes |= window is not None and compiler.reads_time
            case ast.WindowHandler(call=call):
                made = windows[call.name](WindowCall(checked, call), _setup(query, stream, site))
                window = (f"handler_{index}/window", made)
            case _:
                raise NotLowerable("a stream function")
    own = window[1] if window is not None else None
    selector = SelectorOperator(
        query,
        slides=own is not None and own.slides,
        in_order=own is None or own.in_order,
        resets=own is not None and own.resets,
        by_realm=site.realms.is_partition,
        orders=True,
        limited=True,
    )
    is_siddhi_5_1 = "compat" in site.plan.checked.annotations
    limiter = limiter_of(query, site.place, is_siddhi_5_1=is_siddhi_5_1)
    if limiter is not None and site.realms.is_partition:
        raise NotLowerable("an output rate in a partition")
    if limiter is not None and limiter.goes_by_wall and own is not None and own.shows_timers:
        raise NotLowerable("an output rate by time behind a window whose timers are seen")
    if changes and selector.aggregates.needs_places:
        raise NotLowerable("an extreme behind a filter that reads the time")
    types = stream.source_schema.types
    return StreamQuery(
        node,
        writes,
        site.place,
        site.stream(node.reads[0]),
        site.realms,
        types,
        before,
        window,
        behind,
        selector,
        limiter,
    )


def condition_of(checked: CheckedHandler, expression: ast.Expression) -> tuple[Compiler, Condition]:
    """A filter's condition with its compiler; NotLowerable when it aggregates."""
    from lockstep.execute.columnar.aggregates import calls_in

    if any(True for _ in calls_in(expression, checked.scope.functions)):
        raise NotLowerable("an aggregator in a filter")
    compiler = Compiler(checked.scope)
    return compiler, compiler.condition(expression)


def _setup(query: CheckedQuery, stream: CheckedStream, site: Site) -> Setup:
    wants_expired = wanted_kind(query.query.action) != CURRENT
    return Setup(
        stream.source_schema.types,
        site.pool,
        wants_expired=wants_expired,
        aggregates=query.uses_aggregators,
        keyed=site.realms.is_partition,
    )
