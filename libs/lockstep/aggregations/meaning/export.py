"""@store on an aggregation: finished buckets as rows of the outputs (semantics 17.1).

A bucket is finished when a later one of its granularity has begun; it is written then, and again
whenever a late event changes it. So a table in the store lacks what is still open, as in Siddhi,
and a destination that upserts by key holds every finished bucket as it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockstep.aggregations.meaning.buckets import Buckets, Group
from lockstep.aggregations.meaning.columns import Columns, State
from lockstep.events import AttributeType, Operation, StreamSchema
from lockstep.operators.contract import PlainState
from lockstep.plan import java
from lockstep.siddhiql import ast
from lockstep.siddhiql.bucket_columns import BUCKET, EVENT_TIMES, SHARD, base_columns
from lockstep.siddhiql.checked import CheckedAggregation
from lockstep.siddhiql.checking.selection import name_of
from lockstep.telemetry import get_logger

ChangeListener = Callable[[Operation, tuple[Any, ...]], None]
"""See tables.meaning.table."""

_log = get_logger(part="aggregations")


class BucketRow:
    """A bucket of a group as a row of its table."""

    def __init__(
        self, checked: CheckedAggregation, schema: StreamSchema, columns: Columns,
        items: Sequence[ast.OutputAttribute],
    ) -> None:  # fmt: skip
        places = _places(checked, columns, items)
        groups = {v.name: i for i, v in enumerate(checked.definition.selector.group_by)}
        self._values: list[Callable[[int, Group, State], Any]] = [
            _value(name, checked.shard, groups, places) for name in schema.names
        ]
        self._texts = tuple(
            schema.attributes[schema.names.index(name)].type is AttributeType.STRING
            for name in groups
        )

    def of(self, start_ms: int, group: Group, state: State) -> tuple[Any, ...] | None:
        """The row; None for a group whose null no key column can hold."""
        for value, is_text in zip(group, self._texts, strict=True):
            if value == "null" and not is_text:
                return None
        return tuple(value(start_ms, group, state) for value in self._values)


def _places(
    checked: CheckedAggregation, columns: Columns, items: Sequence[ast.OutputAttribute]
) -> dict[str, int]:
    """Where in a group's state each stored value is."""
    places: dict[str, int] = {}
    for item, column in zip(items, columns.columns, strict=True):
        bases = base_columns(item, name_of(item), checked.scope)
        for base, place in zip(bases, column.places, strict=True):
            places.setdefault(base.name, place)
    return places


def _value(
    name: str, shard: str | None, groups: dict[str, int], places: dict[str, int]
) -> Callable[[int, Group, State], Any]:
    begins, latest = EVENT_TIMES
    if name in (BUCKET.name, begins.name):
        return lambda start_ms, group, state: start_ms
    if name == latest.name:
        return lambda start_ms, group, state: state[0]
    if name == SHARD.name:
        return lambda start_ms, group, state: shard
    if name in groups:
        index = groups[name]
        return lambda start_ms, group, state: group[index]
    place = places[name]

    def stored(start_ms: int, group: Group, state: State) -> Any:
        value = state[place]
        return len(value) if isinstance(value, set) else value

    return stored


class BucketExport:
    """The table of one granularity in the store. It can only be listened to."""

    def __init__(self, name: str, row: BucketRow, buckets: Buckets) -> None:
        self._name = name
        self._row = row
        self._buckets = buckets
        self._changed: dict[int, dict[Group, None]] = {}
        self._listeners: list[ChangeListener] = []

    def listen(self, listener: ChangeListener) -> None:
        """Adds a listener (tables.meaning.Table.listen)."""
        self._listeners.append(listener)

    def touched(self, start_ms: int, group: Group) -> None:
        """The group's bucket has changed."""
        self._changed.setdefault(start_ms, {})[group] = None

    def flush(self) -> None:
        """Writes the changed buckets that are finished, oldest first."""
        newest = self._buckets.newest
        if newest is None or (len(self._changed) == 1 and newest in self._changed):
            return
        for start_ms in sorted(self._changed):
            if start_ms != newest:
                for group in self._changed.pop(start_ms):
                    self._tell(Operation.UPSERT, start_ms, group)

    def purge(self, before_ms: int) -> None:
        """Deletes the rows of the buckets that start earlier; called before they are dropped."""
        for start_ms, groups in self._buckets.before(before_ms):
            unwritten = self._changed.pop(start_ms, {})
            for group in groups:
                if group not in unwritten:
                    self._tell(Operation.DELETE, start_ms, group)

    def _tell(self, operation: Operation, start_ms: int, group: Group) -> None:
        row = self._row.of(start_ms, group, self._buckets.state(start_ms, group))
        if row is None:
            _log.warning("a bucket was not stored: its key is null", table=self._name, group=group)
            return
        for listener in self._listeners:
            listener(operation, row)

    def snapshot(self) -> PlainState:
        """Which buckets changed since they were written."""
        return [(start_ms, list(groups)) for start_ms, groups in self._changed.items()]

    def restore(self, state: PlainState) -> None:
        self._changed = {
            start_ms: dict.fromkeys(java.key(tuple(group)) for group in groups)
            for start_ms, groups in state
        }
