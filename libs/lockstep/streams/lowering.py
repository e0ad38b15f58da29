"""What the rules for queries on one stream share: the chain of handlers, lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lockstep.columns.flow import CURRENT
from lockstep.columns.realms import Realms
from lockstep.columns.rule import NotLowerable, Site
from lockstep.events import AttributeType, StreamSchema
from lockstep.expressions.columns import Compiler
from lockstep.plan import QueryNode
from lockstep.rates.columns import Limiter, limiter_of
from lockstep.selection.columns import SelectorOperator, wanted_kind
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedHandler, CheckedQuery, CheckedStream, SourceKind
from lockstep.siddhiql.typing import aggregator_calls
from lockstep.stream_functions.columns import HostedFunction
from lockstep.streams.columns import Condition
from lockstep.windows.contract import ColumnarCall, ColumnarWindow, Setup, columnar_window

PLAIN = (SourceKind.STREAM, SourceKind.INNER, SourceKind.TRIGGER)
"""Sources whose events come as they are. What a trigger sends is a stream like any other."""


def stream_of(query: CheckedQuery) -> CheckedStream | None:
    """The query's single stream, or None when it is a join or pattern; NotLowerable for streams
    without columns."""
    stream = query.input
    if not isinstance(stream, CheckedStream):
        return None
    _check_source(stream)
    return stream


def _check_source(stream: CheckedStream) -> None:
    if stream.kind not in PLAIN:
        raise NotLowerable(f"reads a {stream.kind.value}")


def check_stream(stream: CheckedStream) -> None:
    """NotLowerable for sources that are no plain streams, and for attributes that cannot be
    kept."""
    _check_source(stream)
    if AttributeType.OBJECT in stream.source_schema.types:
        raise NotLowerable("an attribute of type object")


def check_target(query: CheckedQuery) -> None:
    """NotLowerable for targets that are no plain streams."""
    if query.target_kind not in (SourceKind.STREAM, SourceKind.INNER):
        raise NotLowerable(f"writes a {query.target_kind.value}")


def filters_of(stream: CheckedStream) -> list[Condition]:
    """The stream's filters; NotLowerable for any other handler."""
    conditions = []
    for checked in stream.handlers:
        if not isinstance(checked.handler, ast.Filter):
            raise NotLowerable("a window or function on a side of a join")
        conditions.append(condition_of(checked, checked.handler.condition)[1])
    return conditions


def target_of(node: QueryNode, site: Site) -> str:
    """The name under which the query writes; NotLowerable for what has no columns."""
    if node.query.target_kind is SourceKind.TABLE:
        return site.table(node.query.output.name).add_writer(node)
    if node.query.target_kind is SourceKind.WINDOW and node.writes in site.windows:
        return site.windows[node.writes].add_writer(node)
    check_target(node.query)
    return site.target(node.writes)


def window_of(stream: CheckedStream) -> ast.FunctionCall | None:
    """The stream's window, if it has one."""
    for checked in stream.handlers:
        if isinstance(checked.handler, ast.WindowHandler):
            return checked.handler.call
    return None


@dataclass(frozen=True, slots=True)
class Leaving:
    """How events leave a window: see aggregators.accumulators.Leaves."""

    slides: bool = False
    in_order: bool = True
    resets: bool = False
    has_places: bool = False

    @classmethod
    def of(cls, window: ColumnarWindow | None) -> Leaving:
        """That of a window on columns."""
        if window is None:
            return cls()
        return cls(window.slides, window.in_order, window.resets, has_places=True)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a query on one stream is made of; in the order in which StreamQuery takes it."""

    node: QueryNode
    writes: str
    place: int
    reads: str
    realms: Realms
    types: Sequence[AttributeType]
    before: Sequence[Condition | HostedFunction]
    window: tuple[str, ColumnarWindow] | None
    behind: Sequence[Condition]
    selector: SelectorOperator
    limiter: Limiter | None
    asks: tuple[str, ...]

    def positional(self) -> tuple[Any, ...]:
        """Them all."""
        return tuple(getattr(self, name) for name in self.__slots__)


def parts_of(
    node: QueryNode, site: Site, stream: CheckedStream, leaving: Leaving | None = None
) -> Parts:
    """The parts of a query on one stream. Where the window is the caller's, it says how events are
    `leaving` it."""
    query = node.query
    handlers = _Handlers(query, stream, site, hosted=leaving is not None)
    own = None if handlers.window is None else handlers.window[1]
    left = leaving or Leaving.of(own)
    limiter = limiter_of(
        query, site.place, is_siddhi_5_1=site.is_siddhi_5_1, by_realm=site.realms.is_partition
    )
    selector = SelectorOperator(
        query,
        slides=left.slides,
        in_order=left.in_order,
        has_places=left.has_places,
        resets=left.resets,
        by_realm=site.realms.is_partition,
        orders=True,
        limited=True,
        carried=0 if limiter is None else limiter.carried,
        member=site.member,
        is_siddhi_5_1=site.is_siddhi_5_1,
    )
    if handlers.changes and selector.aggregates.needs_places:
        raise NotLowerable("an extreme behind a filter that reads the time")
    return Parts(
        node,
        target_of(node, site),
        site.place,
        site.stream(node.reads[0]),
        site.realms,
        stream.source_schema.types,
        handlers.before,
        handlers.window,
        handlers.behind,
        selector,
        limiter,
        tuple(dict.fromkeys((*handlers.asks, *selector.asks))),
    )


class _Handlers:
    """A stream's filters and functions in front of its window, its filters behind it, and the
    window if it is not `hosted`. `changes`: what passes behind the window hangs on the time."""

    def __init__(
        self, query: CheckedQuery, stream: CheckedStream, site: Site, *, hosted: bool
    ) -> None:
        self.before: list[Condition | HostedFunction] = []
        self.behind: list[Condition] = []
        self.changes = False
        self.asks: list[str] = []
        self.window: tuple[str, ColumnarWindow] | None = None
        passed = False
        for index, checked in enumerate(stream.handlers):
            before = stream.handlers[index - 1].schema if index else stream.source_schema
            match checked.handler:
                case ast.Filter(condition=condition):
                    compiler, compiled = condition_of(checked, condition, site)
                    self.asks += compiler.asks
                    (self.behind if passed else self.before).append(compiled)
                    self.changes |= passed and compiler.reads_time
                case ast.WindowHandler(call=call):
                    passed = True
                    if AttributeType.OBJECT in before.types:
                        raise NotLowerable("an attribute of type object in a window")
                    if not hosted:
                        setup = _setup(query, before, site)
                        window = columnar_window(ColumnarCall(checked, call), setup)
                        self.window = (f"handler_{index}/window", window)
                case ast.StreamFunction():
                    if passed:
                        raise NotLowerable("a stream function behind a window")
                    old = site.is_siddhi_5_1
                    made = HostedFunction(checked, before, index, is_siddhi_5_1=old)
                    self.before.append(made)


def condition_of(
    checked: CheckedHandler, expression: ast.Expression, site: Site | None = None
) -> tuple[Compiler, Condition]:
    """A filter's condition with its compiler; NotLowerable when it aggregates. With a site it may
    ask tables."""
    if any(True for _ in aggregator_calls(expression, checked.scope.functions)):
        raise NotLowerable("an aggregator in a filter")
    compiler = Compiler(checked.scope, (), None if site is None else site.member)
    return compiler, compiler.condition(expression)


def _setup(query: CheckedQuery, before: StreamSchema, site: Site) -> Setup:
    rate = query.query.rate
    repeats = rate is not None and rate.kind is ast.RateKind.SNAPSHOT
    wants_expired = repeats or wanted_kind(query.query.action) != CURRENT
    return Setup(
        before.types,
        site.pool,
        wants_expired=wants_expired,
        aggregates=query.uses_aggregators,
        keyed=site.realms.is_partition,
        rank=site.rank,
    )
