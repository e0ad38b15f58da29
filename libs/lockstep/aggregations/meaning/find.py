"""An aggregation as the side of a join or the store of an on-demand query (semantics 17.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.aggregations.meaning.aggregation import Aggregation
from lockstep.aggregations.meaning.ranges import RangeReader
from lockstep.operators.contract import Context, StreamEvent
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.tables.meaning import Match


class FoundInAggregation:
    """Finds rows by `within`, `per` and `on`; a fixed group is gone to straight away."""

    def __init__(
        self,
        aggregation: Aggregation,
        range_: ast.Range,
        scope: Scope,
        match: Match,
        keeps: list[Callable[[Any], bool]],
        context: Context,
    ) -> None:
        self._aggregation = aggregation
        self._match = match
        self._keeps = keeps
        self._range = RangeReader(
            range_, aggregation.granularities, lambda e: context.compile(e, scope)
        )
        fixed = {equality.attribute for equality in match.equalities}
        places = aggregation.group_places
        self._places = places if places and fixed.issuperset(places) else None

    def find(self, event: Any) -> list[StreamEvent]:
        """The rows for an event of the other side, in order of time. Raises EventError."""
        pair = self._match.pair(event)
        granularity, start_ms, end_ms = self._range.read(pair)
        group = None
        if self._places is not None:
            group = self._match.key(event, self._places)
            if None in group:
                return []  # nothing is equal to null
        rows = self._aggregation.find(granularity, start_ms, end_ms, group)
        found = self._match.rows(event, rows)
        return [row for row in found if all(keep(row) for keep in self._keeps)]

    def observe(self, chunk: list[StreamEvent]) -> None:
        """Nothing to learn."""

    def invalidate(self) -> None:
        """Nothing to forget."""
