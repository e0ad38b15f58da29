"""Joins over the flows of two windows: which of them have a columnar form."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.columns.flow import CURRENT
from lockstep.columns.frame import Evaluate
from lockstep.columns.rule import NotLowerable, Site, WrittenWindow
from lockstep.columns.units import Unit
from lockstep.events import AttributeType
from lockstep.expressions.columns import Compiler
from lockstep.joins.columns.flow_join import FlowJoin
from lockstep.joins.columns.flows import Apart, FlowSide, Sides, Together
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Leaves
from lockstep.siddhiql.checked import CheckedHandler, CheckedJoin, CheckedStream, SourceKind
from lockstep.streams.columns import Condition
from lockstep.streams.lowering import check_stream, condition_of, target_of
from lockstep.streams.partition_timers import check_timers
from lockstep.tables.meaning.conditions import Equality, equalities
from lockstep.tables.rule import OUTER_LEFT, OUTER_RIGHT
from lockstep.windows.contract import ColumnarCall, ColumnarWindow, Setup, columnar_window
from lockstep.windows.time.columns import RealmTimeWindow


def by_flows(node: QueryNode, site: Site, join: CheckedJoin) -> Unit:
    """The query's unit; NotLowerable where what is inside does not follow from a flow."""
    found, exact = equalities(join.input.on, join.scope, 1)
    keys = [each for each in found if isinstance(each.value, ast.Variable)]
    both = [_Side(join, slot, site, keys) for slot in range(2)]
    compiler = Compiler(join.scope)
    condition: Condition | None = None
    if join.input.on is not None and not (exact and len(keys) == len(found)):
        condition = compiler.condition(join.input.on)
    if compiler.may_fail:
        raise NotLowerable("a join condition that calls functions")
    selector = SelectorOperator(
        node.query,
        in_order=False,
        orders=True,
        balanced=_is_balanced(both, site),
        by_realm=site.realms.is_partition,
        is_siddhi_5_1=site.is_siddhi_5_1,
    )
    check_timers(node, site)
    sides = (both[0].made, both[1].made)
    windows, shows_timers = _windows(both, sides, site, leaves=selector.wanted != CURRENT)
    return FlowJoin(
        node,
        target_of(node, site),
        site.place,
        sides,
        windows,
        condition,
        selector,
        site.realms,
        shows_timers=shows_timers,
    )


class _Side:
    """A side of a join as written, with the call of its own window."""

    def __init__(self, join: CheckedJoin, slot: int, site: Site, keys: list[Equality]) -> None:
        stream = (join.left, join.right)[slot]
        self.stream = stream
        self.call: tuple[CheckedHandler, ast.FunctionCall] | None = None
        self.leaves: Leaves | None = None
        self.before: list[Condition] = []
        path = ""
        for index, checked in enumerate(stream.handlers):
            match checked.handler:
                case ast.Filter(condition=condition):
                    if self.call is not None:
                        raise NotLowerable("a filter behind the window of a join")
                    compiler, compiled = condition_of(checked, condition)
                    if compiler.reads_time and stream.kind is SourceKind.WINDOW:
                        raise NotLowerable("a named window joined by the time")
                    self.before.append(compiled)
                case ast.WindowHandler(call=call):
                    self.call = (checked, call)
                    self.leaves = _leaves(call)
                    path = f"{('left', 'right')[slot]}/handler_{index}/window"
                case _:
                    raise NotLowerable("a function on a side of a join")
        written = join.input
        other_only = ast.JoinTrigger.LEFT if slot else ast.JoinTrigger.RIGHT
        self.made = FlowSide(
            slot,
            site.stream(stream.input.source),
            stream.source_schema.types,
            self.before,
            [_key(join, slot, equality) for equality in keys],
            triggers=written.trigger is not other_only,
            is_outer=written.type in (OUTER_RIGHT if slot else OUTER_LEFT),
            path=path,
            named=_named(stream, site),
        )

    @property
    def is_bare(self) -> bool:
        """Whether nothing is ever found in it."""
        return self.call is None and self.made.named is None

    @property
    def length(self) -> int | None:
        """The length of time(t), None of other windows."""
        if self.call is None or self.call[1].name != "time" or self.call[1].namespace:
            return None
        return int(ColumnarCall(*self.call).constant(0))

    def window(self, site: Site) -> ColumnarWindow | None:
        """Its own window on columns."""
        if self.call is None:
            return None
        setup = setup_of(self.stream.source_schema.types, site, keyed=site.realms.is_partition)
        return columnar_window(ColumnarCall(*self.call), setup)


def setup_of(types: Sequence[AttributeType], site: Site, *, keyed: bool) -> Setup:
    """What a side's window is built with: all that it lets out is seen."""
    return Setup(types, site.pool, wants_expired=True, aggregates=True, keyed=keyed, rank=site.rank)


def _key(join: CheckedJoin, slot: int, equality: Equality) -> Evaluate:
    if slot:
        attribute = equality.attribute
        return lambda frame: frame.column(1, attribute)
    compiler = Compiler(join.scope)
    compiler.type_of(equality.value)
    return compiler.compile(equality.value)


def _leaves(call: ast.FunctionCall) -> Leaves:
    """How events leave a window whose content follows from that."""
    declared = declared_window(call)
    if not declared.columns or not declared.emits_changes or declared.leaves is None:
        raise NotLowerable(f"the window {call.name} on a side of a join")
    return declared.leaves


def _named(stream: CheckedStream, site: Site) -> WrittenWindow | None:
    """The named window that a side reads, None where it reads a stream."""
    if stream.kind is not SourceKind.WINDOW:
        check_stream(stream)
        return None
    window = site.windows.get(stream.input.source)
    if window is None:
        raise NotLowerable("reads a window without columns")
    if not window.follows:
        raise NotLowerable("joins a named window whose content does not follow from its output")
    return window


def _is_balanced(sides: Sequence[_Side], site: Site) -> bool:
    """Whether what aggregates see leave is what they saw come.

    A pair comes with the later of its rows and leaves with the first to leave, if both sides
    trigger and no row stands alone. Where only a side without a window triggers nothing leaves: a
    RESET follows each of its events.
    """
    triggering = [side for side in sides if side.made.triggers]
    if len(triggering) == 1 and triggering[0].is_bare:
        return True
    uneven = len(triggering) == 1 or any(side.made.is_outer for side in sides)
    if uneven or any(side.leaves is Leaves.TOGETHER for side in sides):
        return False
    if sides[0].made.stream == sides[1].made.stream:
        return False
    # Between a named window's output and its turn here others may read it, and bring something.
    return not any(
        side.made.named is not None
        and sum(side.made.stream in node.reads for node in site.plan.nodes) > 1
        for side in sides
    )


def _windows(
    both: Sequence[_Side], sides: tuple[FlowSide, FlowSide], site: Site, *, leaves: bool
) -> tuple[Sides, bool]:
    """Both sides, and whether their timers are seen."""
    windows = [side.window(site) for side in both]
    timed = [window is not None and window.shows_timers for window in windows]
    if not all(timed):
        return Apart(sides, windows, site.pool, leaves=leaves), any(timed)
    setup = setup_of((), site, keyed=True)
    lengths = [side.length for side in both]
    if lengths[0] is not None and lengths[1] is not None:
        return Together(sides, RealmTimeWindow(setup, lengths[0], lengths[1]), site.pool), True
    calls = [side.call for side in both]
    assert calls[0] is not None
    assert calls[1] is not None
    if calls[0][1].name != calls[1][1].name or calls[0][1].arguments != calls[1][1].arguments:
        raise NotLowerable("windows with timers of two kinds on the sides of a join")
    if not all(isinstance(each, ast.Constant) for each in calls[0][1].arguments):
        raise NotLowerable("timers of windows by an attribute on both sides of a join")
    window = columnar_window(ColumnarCall(*calls[0]), setup)
    return Together(sides, window, site.pool), True
