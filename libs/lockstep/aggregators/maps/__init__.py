"""map:collect and map:merge: maps of what is present.

Every result is a map of its own: what holds it keeps what it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.aggregators.contract import Contents
from lockstep.functions.collected import keeper
from lockstep.functions.map.meaning import entries_of
from lockstep.operators.contract import PlainState
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument, Parameter
from lockstep.siddhiql.catalogue.signatures import OBJECT, aggregator, gives


class _Entries(Contents):
    """Keys with their latest values, and how many hold each key."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.inside: dict[Any, Any] = {}
        self.counts: dict[Any, int] = {}

    def put(self, key: Any, value: Any) -> None:
        """One more holder; its value overwrites."""
        key = java.key(key)
        self.inside[key] = value
        self.counts[key] = self.counts.get(key, 0) + 1

    def drop(self, key: Any) -> None:
        """One holder less; the key goes with the last one."""
        key = java.key(key)
        left = self.counts.get(key, 0) - 1
        if left > 0:
            self.counts[key] = left
        else:
            self.counts.pop(key, None)
            self.inside.pop(key, None)

    def reset(self) -> None:
        self.restore([])

    def value(self) -> dict[Any, Any]:
        return dict(self.inside)

    def snapshot(self) -> PlainState:
        return [(key, value, self.counts[key]) for key, value in self.inside.items()]

    def restore(self, state: PlainState) -> None:
        self.inside = {java.key(key): value for key, value, _ in state}
        self.counts = {java.key(key): count for key, _, count in state}


class MapCollect(_Entries):
    """map:collect(key, value)."""

    __slots__ = ("keep_key", "keep_value")

    def __init__(self, arguments: Sequence[Argument]) -> None:
        super().__init__()
        self.keep_key, self.keep_value = map(keeper, arguments)

    def add(self, key: Any, value: Any) -> None:
        self.put(self.keep_key(key), self.keep_value(value))

    def remove(self, key: Any, value: Any) -> None:
        self.drop(self.keep_key(key))

    def restore(self, state: PlainState) -> None:
        # A snapshot of an older version holds floats as they came.
        keep_key, keep_value = self.keep_key, self.keep_value
        super().restore([(keep_key(key), keep_value(value), n) for key, value, n in state])


class MapMerge(_Entries):
    """map:merge(map)."""

    __slots__ = ()

    def add(self, entries: Any) -> None:
        for key, value in entries_of(entries, "map:merge").items():
            self.put(key, value)

    def remove(self, entries: Any) -> None:
        for key in entries_of(entries, "map:merge"):
            self.drop(key)


EXTENSIONS = (
    aggregator(
        "collect",
        gives(OBJECT, Parameter("key"), Parameter("value")),
        namespace="map",
        doc="keys with their latest values",
        make=MapCollect,
    ),
    aggregator(
        "merge",
        gives(OBJECT, Parameter("map", (OBJECT,))),
        namespace="map",
        doc="the entries of all maps as one",
        make=lambda arguments: MapMerge(),
    ),
)
