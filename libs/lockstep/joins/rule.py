"""Joins of two streams or named windows: by equal values with a sliding window or none on each
side, and over the flows of windows of many kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lockstep.columns.flow import CURRENT
from lockstep.columns.rule import NotLowerable, Rule, Site
from lockstep.columns.units import Unit
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.joins.columns import kernel as joining
from lockstep.joins.columns.aggregating import AggregatingJoin
from lockstep.joins.columns.join import WindowJoin
from lockstep.joins.columns.sides import JoinSide
from lockstep.joins.flow_rule import by_flows
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Reach
from lockstep.siddhiql.checked import CheckedJoin, CheckedStream, SourceKind
from lockstep.streams.columns import Condition
from lockstep.streams.lowering import PLAIN, check_stream, check_target, condition_of
from lockstep.tables.meaning.conditions import Equality, equalities
from lockstep.tables.rule import OUTER_LEFT, OUTER_RIGHT
from lockstep.windows.contract import ColumnarCall

_KINDS = {
    Reach.EVENTS: joining.LENGTH,
    Reach.CLOCK: joining.TIME,
    Reach.ATTRIBUTE: joining.EXTERNAL,
}


_KINDS_JOINED = {*PLAIN, SourceKind.WINDOW}


@dataclass(frozen=True, slots=True)
class _Window:
    kind: int = joining.NONE
    length: int = 0
    attribute: int = 0
    path: str = ""


def _lower(node: QueryNode, site: Site) -> Unit | None:
    join = node.query.input
    if not isinstance(join, CheckedJoin) or not _KINDS_JOINED.issuperset(
        (join.left.kind, join.right.kind)
    ):
        return None
    try:
        return _by_equal_values(node, site, join)
    except NotLowerable:
        return by_flows(node, site, join)


def _by_equal_values(node: QueryNode, site: Site, join: CheckedJoin) -> Unit:
    for stream in (join.left, join.right):
        check_stream(stream)
    if join.left.input.source == join.right.input.source:
        raise NotLowerable("a join of a stream with itself")
    if site.realms.is_partition:
        raise NotLowerable("a join in a partition")
    check_target(node.query)
    old = site.is_siddhi_5_1
    selector = SelectorOperator(node.query, in_order=False, orders=True, is_siddhi_5_1=old)
    if selector.wanted != CURRENT:
        raise NotLowerable("expired rows of a join")
    found, exact = equalities(join.input.on, join.scope, 1)
    keys = [each for each in found if isinstance(each.value, ast.Variable)]
    if not keys:
        raise NotLowerable("a join without equal attributes")
    sides = tuple(_side(join, slot, keys) for slot in range(2))
    compiler = Compiler(join.scope)
    condition: Condition | None = None
    if not exact or len(keys) < len(found):
        assert join.input.on is not None
        condition = compiler.condition(join.input.on)
    if compiler.may_fail:
        raise NotLowerable("a join condition that calls functions")
    if selector.calls or selector.groups.is_grouped:
        both = (sides[0], sides[1])
        if selector.calls:
            _check_balance(both)
        return AggregatingJoin(node, site.place, both, condition, selector, site.realms, site.pool)
    return WindowJoin(node, site.place, (sides[0], sides[1]), condition, selector, site.pool)


def _check_balance(sides: tuple[JoinSide, JoinSide]) -> None:
    """NotLowerable unless what aggregates see leave is what they saw come.

    A pair comes with the later of its rows and leaves with the first to leave, if both sides
    trigger and no row stands alone. Where only a side without a window triggers nothing leaves: a
    RESET follows each of its events.
    """
    triggering = [side for side in sides if side.triggers]
    if len(triggering) == 1 and triggering[0].window == joining.NONE:
        return
    if len(triggering) == 1 or any(side.is_outer for side in sides):
        raise NotLowerable("aggregates over pairs that leave otherwise than they came")


def _side(join: CheckedJoin, slot: int, keys: list[Equality]) -> JoinSide:
    stream = (join.left, join.right)[slot]
    before, window = _handlers(stream, "right" if slot else "left")
    written = join.input
    other_only = ast.JoinTrigger.LEFT if slot else ast.JoinTrigger.RIGHT
    compiler = Compiler(join.scope)
    key: list[Any] = []
    for equality in keys:
        if slot:
            attribute = equality.attribute
            key.append(lambda frame, attribute=attribute: frame.column(1, attribute))
        else:
            compiler.type_of(equality.value)
            key.append(compiler.compile(equality.value))
    return JoinSide(
        stream.input.source,
        stream.source_schema.types,
        before,
        window.kind,
        window.length,
        window.attribute,
        window.path,
        key,
        triggers=written.trigger is not other_only,
        is_outer=written.type in (OUTER_RIGHT if slot else OUTER_LEFT),
    )


def _handlers(stream: CheckedStream, side: str) -> tuple[list[Condition], _Window]:
    before: list[Condition] = []
    window = _Window()
    for index, checked in enumerate(stream.handlers):
        match checked.handler:
            case ast.Filter(condition=condition):
                if window.kind != joining.NONE:
                    raise NotLowerable("a filter behind the window of a join")
                before.append(condition_of(checked, condition)[1])
            case ast.WindowHandler(call=call) if (reach := declared_window(call).reach) is not None:
                path = f"{side}/handler_{index}/window"
                window = _window(_KINDS[reach], ColumnarCall(checked, call), path)
            case _:
                raise NotLowerable("another window, or a function, on a side of a join")
    return before, window


def _window(kind: int, call: ColumnarCall, path: str) -> _Window:
    if kind == joining.EXTERNAL:
        return _Window(kind, int(call.constant(1)), call.attribute(0, AttributeType.LONG), path)
    length = int(call.constant(0))
    if length <= 0:
        raise NotLowerable("a window of length 0")
    return _Window(kind, length, 0, path)


WINDOW_JOINS = Rule("window equi-join", _lower)
