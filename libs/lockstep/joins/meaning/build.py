"""Builds a query's join from its checked form: sides with their handlers, windows and contents."""

from __future__ import annotations

from typing import Any

from lockstep.aggregations.meaning import FoundInAggregation
from lockstep.joins.meaning.contents import (
    Condition,
    Findable,
    FoundInTable,
    Nothing,
    Scanned,
    in_window,
)
from lockstep.joins.meaning.join import JoinInput, NoWindow, Side
from lockstep.operators.contract import Context, Emit
from lockstep.operators.limits import RowCount
from lockstep.plan.fleet.keys import is_pure
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedQuery, CheckedStream, SourceKind
from lockstep.streams.meaning import Chain
from lockstep.tables.meaning import Match

_STILL = (SourceKind.TABLE, SourceKind.AGGREGATION)
"""Kinds that never trigger."""

_OUTER_LEFT = (ast.JoinType.LEFT_OUTER, ast.JoinType.FULL_OUTER)
_OUTER_RIGHT = (ast.JoinType.RIGHT_OUTER, ast.JoinType.FULL_OUTER)


def build_join(query: CheckedQuery, context: Context) -> JoinInput:
    """The join of a query, connected except for where it emits to."""
    return _JoinBuilder(query, context).build()


class _JoinBuilder:
    def __init__(self, query: CheckedQuery, context: Context) -> None:
        assert isinstance(query.input, CheckedJoin)
        self._query = query
        self._join = query.input
        self._context = context
        self._count = RowCount(context.meter, "a join")
        self._windows: list[Any] = []
        self._receivers: list[tuple[str, Emit]] = []

    def build(self) -> JoinInput:
        join = self._join.input
        left_only, right_only = ast.JoinTrigger.RIGHT, ast.JoinTrigger.LEFT
        left = self._side(
            self._join.left, 0, join.trigger is not left_only, join.type in _OUTER_LEFT
        )
        right = self._side(
            self._join.right, 1, join.trigger is not right_only, join.type in _OUTER_RIGHT
        )
        left.other, right.other = right.own, left.own
        left.tells_leaving = self._brings_news(right, self._join.right)
        right.tells_leaving = self._brings_news(left, self._join.left)
        made = JoinInput(left, right, self._receivers, self._windows)
        self._context.register("join", made)
        return made

    def _side(self, stream: CheckedStream, slot: int, triggers: bool, is_outer: bool) -> Side:
        side = Side(
            self._count,
            is_left=slot == 0,
            triggers=triggers and stream.kind not in _STILL,
            is_outer=is_outer,
        )
        if stream.kind in _STILL:
            side.own = self._still(stream, slot)
            return side
        chain = Chain(stream, self._context.child("left" if slot == 0 else "right"))
        end: Emit = side.process
        if stream.kind is SourceKind.WINDOW:
            side.own = self._named_window(stream, slot)
        elif chain.window is None:
            end = NoWindow(
                self._context.now_ms, side.process, with_expired=self._wants_expired()
            ).process
        else:
            self._windows.append(chain.window)
            side.own = self._own_window(stream, chain.window, slot)
        self._receivers.append((stream.input.source, chain.connect(end)))
        return side

    def _brings_news(self, side: Side, stream: CheckedStream) -> bool:
        """Whether a pair with what the side holds may fail that did not when its events came."""
        if not side.triggers or not is_pure(self._join.input.on):
            return True
        return stream.kind is SourceKind.WINDOW and not is_pure(stream.input.handlers)

    def _wants_expired(self) -> bool:
        query = self._query.query
        if query.rate is not None and query.rate.kind is ast.RateKind.SNAPSHOT:
            return True
        return query.action.events in (ast.EventSelection.ALL, ast.EventSelection.EXPIRED)

    # --- what is found ---------------------------------------------------------------------------

    def _match(self, slot: int) -> Match:
        return Match(self._join.input.on, self._join.scope, slot, self._context)

    def _keeps(self, stream: CheckedStream) -> list[Condition]:
        """The filters of a side that has no window of its own, as conditions on its rows."""
        return [
            self._context.compile_condition(handler.handler.condition, handler.scope)
            for handler in stream.handlers
            if isinstance(handler.handler, ast.Filter)
        ]

    def _still(self, stream: CheckedStream, slot: int) -> Findable:
        name = stream.input.source
        if stream.kind is SourceKind.TABLE:
            table = self._context.table(name)
            return FoundInTable(table, self._match(slot), self._keeps(stream))
        assert self._join.input.range is not None
        return FoundInAggregation(
            self._context.aggregation(name),
            self._join.input.range,
            self._join.scope,
            self._match(slot),
            self._keeps(stream),
            self._context,
        )

    def _named_window(self, stream: CheckedStream, slot: int) -> Findable:
        window = self._context.window(stream.input.source)
        return Scanned(lambda: window.content(), self._match(slot), self._keeps(stream))

    def _own_window(self, stream: CheckedStream, window: Any, slot: int) -> Findable:
        for handler in stream.handlers:
            if isinstance(handler.handler, ast.WindowHandler):
                return in_window(window, handler.handler.call, self._match(slot))
        return Nothing()
