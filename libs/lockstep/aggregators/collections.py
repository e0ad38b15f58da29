"""list:collect, list:merge, map:collect, map:merge, json:group and json:groupAsObject.

Every result is a collection of its own: what holds it keeps what it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.aggregators.contract import Aggregator
from lockstep.functions import json_documents
from lockstep.functions.java_equality import contains, position
from lockstep.functions.list_pack import items_of
from lockstep.functions.map_pack import entries_of
from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError
from lockstep.siddhiql.catalogue import Argument


class _Items:
    """Values in order of arrival."""

    __slots__ = ("items",)

    def __init__(self) -> None:
        self.items: list[Any] = []

    def take(self, value: Any, distinct: Any) -> None:
        """One more; with `distinct` only if it is not there yet."""
        if distinct is not True or not contains(self.items, value):
            self.items.append(value)

    def reset(self) -> None:
        """See Aggregator."""
        self.items.clear()

    def value(self) -> list[Any]:
        """See Aggregator."""
        return list(self.items)

    def is_empty(self) -> bool:
        """See Aggregator."""
        return not self.items

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return list(self.items)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self.items = list(state)


class ListCollect(_Items):
    """The values; the oldest copy leaves first."""

    __slots__ = ()

    def add(self, value: Any, distinct: Any = False) -> None:
        """See Aggregator."""
        self.take(value, distinct)

    def remove(self, value: Any, distinct: Any = False) -> None:
        """See Aggregator."""
        at = position(self.items, value)
        if at >= 0:
            del self.items[at]


class ListMerge(_Items):
    """The values of all lists; a list that leaves takes all copies of its values along."""

    __slots__ = ()

    def add(self, values: Any, distinct: Any = False) -> None:
        """See Aggregator."""
        for value in items_of(values, "list:merge"):
            self.take(value, distinct)

    def remove(self, values: Any, distinct: Any = False) -> None:
        """See Aggregator."""
        gone = items_of(values, "list:merge")
        self.items = [value for value in self.items if not contains(gone, value)]


class _Entries:
    """Keys with their latest values, and how many hold each key."""

    __slots__ = ("counts", "entries")

    def __init__(self) -> None:
        self.entries: dict[Any, Any] = {}
        self.counts: dict[Any, int] = {}

    def put(self, key: Any, value: Any) -> None:
        """One more holder; its value overwrites."""
        self.entries[key] = value
        self.counts[key] = self.counts.get(key, 0) + 1

    def drop(self, key: Any) -> None:
        """One holder less; the key goes with the last one."""
        left = self.counts.get(key, 0) - 1
        if left > 0:
            self.counts[key] = left
        else:
            self.counts.pop(key, None)
            self.entries.pop(key, None)

    def reset(self) -> None:
        """See Aggregator."""
        self.entries.clear()
        self.counts.clear()

    def value(self) -> dict[Any, Any]:
        """See Aggregator."""
        return dict(self.entries)

    def is_empty(self) -> bool:
        """See Aggregator."""
        return not self.entries

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        return [(key, value, self.counts[key]) for key, value in self.entries.items()]

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        self.entries = {key: value for key, value, _ in state}
        self.counts = {key: count for key, _, count in state}


class MapCollect(_Entries):
    """map:collect(key, value)."""

    __slots__ = ()

    def add(self, key: Any, value: Any) -> None:
        """See Aggregator."""
        self.put(key, value)

    def remove(self, key: Any, value: Any) -> None:
        """See Aggregator."""
        self.drop(key)


class MapMerge(_Entries):
    """map:merge(map)."""

    __slots__ = ()

    def add(self, entries: Any) -> None:
        """See Aggregator."""
        for key, value in entries_of(entries, "map:merge").items():
            self.put(key, value)

    def remove(self, entries: Any) -> None:
        """See Aggregator."""
        for key in entries_of(entries, "map:merge"):
            self.drop(key)


class JsonGroup:
    """The JSON elements that are present, equal ones together, as text or as object."""

    __slots__ = ("_as_object", "_counts", "_distinct", "_elements", "_enclosing")

    def __init__(self, as_object: bool) -> None:
        self._as_object = as_object
        self._elements: dict[str, Any] = {}
        self._counts: dict[str, int] = {}
        self._enclosing: str | None = None
        self._distinct = False

    def add(self, json: Any, *options: Any) -> None:
        """See Aggregator."""
        self._take_options(options)
        element = _element(json)
        key = json_documents.text(element)
        self._elements.setdefault(key, element)
        self._counts[key] = self._counts.get(key, 0) + 1

    def remove(self, json: Any, *options: Any) -> None:
        """See Aggregator."""
        self._take_options(options)
        key = json_documents.text(_element(json))
        left = self._counts.get(key, 0) - 1
        if left > 0:
            self._counts[key] = left
        else:
            self._counts.pop(key, None)
            self._elements.pop(key, None)

    def _take_options(self, options: tuple[Any, ...]) -> None:
        for option in options:
            if isinstance(option, bool):
                self._distinct = option
            elif option is not None:
                self._enclosing = str(option)

    def reset(self) -> None:
        """See Aggregator."""
        self._elements.clear()
        self._counts.clear()

    def value(self) -> Any:
        """See Aggregator."""
        array = [
            element
            for key, element in self._elements.items()
            for _ in range(1 if self._distinct else self._counts[key])
        ]
        whole = array if self._enclosing is None else {self._enclosing: array}
        return whole if self._as_object else json_documents.text(whole)

    def is_empty(self) -> bool:
        """See Aggregator."""
        return not self._elements

    def snapshot(self) -> PlainState:
        """See Aggregator."""
        counted = [(key, count) for key, count in self._counts.items()]
        return (counted, self._enclosing, self._distinct)

    def restore(self, state: PlainState) -> None:
        """See Aggregator."""
        counted, self._enclosing, self._distinct = state
        self._counts = dict(counted)
        self._elements = {key: json_documents.parse(key) for key, _ in counted}


def _element(json: Any) -> Any:
    if json is None:
        return None
    element = json_documents.parse_lenient(json) if isinstance(json, str) else json
    if not isinstance(element, dict):
        raise EventError("json:group wants JSON objects")
    return element


def build_list_collect(arguments: Sequence[Argument]) -> Aggregator:
    """list:collect(value [, is.distinct])."""
    return ListCollect()


def build_list_merge(arguments: Sequence[Argument]) -> Aggregator:
    """list:merge(list [, is.distinct])."""
    return ListMerge()


def build_map_collect(arguments: Sequence[Argument]) -> Aggregator:
    """map:collect(key, value)."""
    return MapCollect()


def build_map_merge(arguments: Sequence[Argument]) -> Aggregator:
    """map:merge(map)."""
    return MapMerge()


def build_json_group(arguments: Sequence[Argument]) -> Aggregator:
    """json:group(json [, enclosing.element] [, distinct])."""
    return JsonGroup(as_object=False)


def build_json_group_as_object(arguments: Sequence[Argument]) -> Aggregator:
    """json:groupAsObject(json [, enclosing.element] [, distinct])."""
    return JsonGroup(as_object=True)
