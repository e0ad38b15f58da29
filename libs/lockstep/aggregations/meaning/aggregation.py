"""Incremental aggregations: buckets per granularity, filled in any order, read by queries.

Every event goes into its bucket of each granularity at once, so a read never has to merge open and
closed buckets, and late events need no path of their own (semantics 17).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.aggregations.meaning.buckets import Buckets, Group
from lockstep.aggregations.meaning.calendar import Bucketing
from lockstep.aggregations.meaning.columns import Columns
from lockstep.aggregations.meaning.export import BucketExport, BucketRow
from lockstep.aggregations.meaning.ranges import time_ms
from lockstep.aggregators.rows import compile_row
from lockstep.events import Attribute, StreamSchema
from lockstep.operators.contract import CURRENT, Context, Emit, PlainState, StreamEvent
from lockstep.operators.errors import EventError
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.ast import Granularity
from lockstep.siddhiql.checked import CheckedAggregation
from lockstep.streams.meaning import Chain


class Aggregation:
    """One aggregation. `granularities` are those that `per` may ask for."""

    def __init__(self, checked: CheckedAggregation, context: Context) -> None:
        definition = checked.definition
        self.schema = checked.schema
        self.granularities = checked.granularities
        self._context = context
        self._source = definition.input.source
        selection = selected(checked)
        self._columns = Columns(selection, checked.scope)
        self._arguments = compile_row(self._columns.arguments, checked.scope, context).function
        self._time = _event_time(definition.aggregate_by, checked, context)
        self._group = _group_of(definition.selector.group_by, checked, context)
        self.group_places = _group_places(checked, selection)
        self._parts = [
            (
                Bucketing(granularity, checked.time_zone),
                Buckets(self._columns.new, self._columns.loaded),
            )
            for granularity in checked.granularities
        ]
        self._buckets = {
            granularity: buckets
            for granularity, (_, buckets) in zip(checked.granularities, self._parts, strict=True)
        }
        self.exports = {
            granularity: _export(checked, granularity, buckets, self._columns)
            for granularity, buckets in self._buckets.items()
            if granularity in checked.tables
        }
        self._retention = checked.retention
        self._chain = Chain(checked.input, context.child("input"))
        context.register("buckets", self)

    # --- in --------------------------------------------------------------------------------------

    def receivers(self) -> Sequence[tuple[str, Emit]]:
        return [(self._source, self._chain.connect(self.process))]

    def process(self, chunk: list[StreamEvent]) -> None:
        """Puts each current event into its buckets; expired ones take nothing back.

        Where each goes is found first: an event that no calendar has leaves nothing behind.
        """
        add = self._columns.add
        for at_ms, starts, group, values in [self._placed(e) for e in chunk if e.kind == CURRENT]:
            for start_ms, (_, buckets) in zip(starts, self._parts, strict=True):
                add(buckets.state(start_ms, group), at_ms, values)
            if self.exports:
                self._touched(starts, group)
        for export in self.exports.values():
            export.flush()

    def _touched(self, starts: list[int], group: Group) -> None:
        """Tells the stored tables what changed."""
        for start_ms, export in zip(starts, self.exports.values(), strict=True):
            export.touched(start_ms, group)

    def _placed(self, event: StreamEvent) -> tuple[int, list[int], Group, tuple[Any, ...]]:
        """An event's time, the starts of its buckets, its group and the arguments."""
        at_ms = self._time(event)
        values, group = self._arguments(event, []), self._group(event)
        return at_ms, [bucketing.start(at_ms) for bucketing, _ in self._parts], group, values

    # --- out -------------------------------------------------------------------------------------

    def find(
        self, granularity: Granularity, start_ms: int, end_ms: int, group: Group | None = None
    ) -> list[StreamEvent]:
        """Rows with start_ms <= AGG_TIMESTAMP < end_ms in order of time; of one group or of all."""
        row = self._columns.row
        return [
            StreamEvent(at_ms, (at_ms, *row(state)))
            for at_ms, state in self._buckets[granularity].find(start_ms, end_ms, group)
        ]

    # --- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Sets the timer of @purge."""
        if self._retention.interval_ms is not None:
            due_ms = self._context.wall_ms() + self._retention.interval_ms
            self._context.schedule(self, due_ms, wall=True)

    def on_timer(self, due_ms: int) -> None:
        """Drops what is older than its granularity is kept."""
        assert self._retention.interval_ms is not None
        for granularity, kept_ms in self._retention.kept_ms.items():
            if granularity in self.exports:
                self.exports[granularity].purge(due_ms - kept_ms)
            self._buckets[granularity].purge(due_ms - kept_ms)
        self._context.schedule(self, due_ms + self._retention.interval_ms, wall=True)

    def snapshot(self) -> PlainState:
        """The buckets by granularity, with what is not in the store yet."""
        return [
            (granularity.value, buckets.snapshot(), self._unwritten(granularity))
            for granularity, buckets in self._buckets.items()
        ]

    def _unwritten(self, granularity: Granularity) -> PlainState:
        export = self.exports.get(granularity)
        return [] if export is None else export.snapshot()

    def restore(self, state: PlainState) -> None:
        for name, saved, *unwritten in state:
            self._buckets[Granularity(name)].restore(saved)
            export = self.exports.get(Granularity(name))
            if export is not None:
                export.restore(unwritten[0] if unwritten else [])


def selected(checked: CheckedAggregation) -> tuple[ast.OutputAttribute, ...]:
    """The select list; `*` is every attribute of the input."""
    attributes = checked.definition.selector.attributes
    if attributes is not None:
        return attributes
    return tuple(ast.OutputAttribute(ast.Variable(name)) for name in checked.input.schema.names)


def _event_time(
    by: ast.Variable | None, checked: CheckedAggregation, context: Context
) -> Callable[[StreamEvent], int]:
    """The event time: the `aggregate by` attribute (ms, or a text), else the event's timestamp."""
    if by is None:
        return lambda event: event.timestamp_ms
    value_of = context.compile(by, checked.scope)

    def event_time(event: StreamEvent) -> int:
        value = value_of(event)
        if isinstance(value, int):
            return value
        if isinstance(value, str):
            return time_ms(value)
        raise EventError(f"{by.name} is null, so the event belongs to no bucket")

    return event_time


def _group_of(
    group_by: tuple[ast.Variable, ...], checked: CheckedAggregation, context: Context
) -> Callable[[StreamEvent], Group]:
    """The group's key; a null counts as the text `null`, and NaN is one value (semantics 5)."""
    if not group_by:
        return lambda event: ()
    values = compile_row(group_by, checked.scope, context).function
    return lambda event: java.key(tuple("null" if v is None else v for v in values(event, [])))


def _group_places(
    checked: CheckedAggregation, selection: Sequence[ast.OutputAttribute]
) -> tuple[int, ...] | None:
    """Where in a row each group-by attribute stands, or None when one is not selected."""
    scope = checked.scope
    places = []
    for variable in checked.definition.selector.group_by:
        wanted = scope.resolve(variable)
        for index, item in enumerate(selection):
            shown = item.expression
            if isinstance(shown, ast.Variable) and scope.resolve(shown) == wanted:
                places.append(index + 1)
                break
        else:
            return None
    return tuple(places)


def _export(
    checked: CheckedAggregation, granularity: Granularity, buckets: Buckets, columns: Columns
) -> BucketExport:
    table = checked.tables[granularity]
    schema = StreamSchema(table.name, tuple(Attribute(a.name, a.type) for a in table.attributes))
    return BucketExport(table.name, BucketRow(checked, schema, columns, selected(checked)), buckets)


def build_aggregation(checked: CheckedAggregation, context: Context) -> Aggregation:
    """The aggregation, registered for snapshots."""
    return Aggregation(checked, context)
