"""What a join looks for the other side in: a window's content, a table, an aggregation, nothing.

Windows whose content follows from what they emit keep a hash index for equalities; it holds the
same rows in the same order as a scan of the content (semantics 7.17, 9).
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from typing import Any, Protocol

from lockstep.operators.contract import CURRENT, EXPIRED, StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import Leaves
from lockstep.tables.meaning import Match, SomeFailedError

Condition = Callable[[Any], bool]
_Bucket = deque[StreamEvent] | OrderedDict[int, StreamEvent]
"""The oldest first. Where they leave in any order, by the identity of their rows: what leaves has
the very row that came, and no other event inside has it, as it would have the same key."""


class Findable(Protocol):
    """Where the rows of a side are found."""

    def find(self, event: Any) -> list[Any]:
        """The rows that the event of the other side joins with, in order. SomeFailedError."""

    def observe(self, chunk: list[StreamEvent]) -> None:
        """Hears what the side's window emits, before anything is looked for."""

    def invalidate(self) -> None:
        """The content was restored: what was derived from it is worthless."""


class Nothing:
    """A side without a window: it triggers but is never found."""

    def find(self, event: Any) -> list[Any]:
        """Nothing."""
        return []

    def observe(self, chunk: list[StreamEvent]) -> None:
        """Nothing to learn."""

    def invalidate(self) -> None:
        """Nothing to forget."""


class Scanned(Nothing):
    """Looks at all that `content` gives and `keeps` lets through."""

    def __init__(
        self, content: Callable[[], Iterable[Any]], match: Match, keeps: list[Condition]
    ) -> None:
        self._content = content
        self._match = match
        self._keeps = keeps

    def find(self, event: Any) -> list[Any]:
        if not self._keeps:
            return self._match.rows(event, self._content(), goes_on=True)
        rows, failed = self._sifted()
        try:
            found = self._match.rows(event, rows, goes_on=True)
        except SomeFailedError as some:
            found, failed = some.found, failed or some.error
        if failed is not None:
            raise SomeFailedError(found, failed)
        return found

    def _sifted(self) -> tuple[list[Any], BaseException | None]:
        """The rows that pass all filters, and the first error of the others."""
        rows: list[Any] = []
        failed: BaseException | None = None
        for row in self._content():
            try:
                if all(condition(row) for condition in self._keeps):
                    rows.append(row)
            except PROCESSING_ERRORS as error:
                failed = failed or error
        return rows, failed


class FoundInTable(Nothing):
    """A table: found by its keys and indexes; a filter written on the side applies to its rows."""

    def __init__(self, table: Any, match: Match, keeps: list[Condition]) -> None:
        self._find = table.finder(match).find
        self._keeps = keeps

    def find(self, event: Any) -> list[Any]:
        return list(kept(self._find(event), self._keeps))


class Keyed:
    """A window's content by the values that the condition fixes.

    A window that fails in the middle of a chunk holds events that it has not emitted: their number
    tells, and the index is built anew.
    """

    def __init__(
        self, content: Callable[[], Collection[StreamEvent]], match: Match, leaves: Leaves | None
    ) -> None:
        self._content = content
        self._match = match
        self._attributes = tuple(equality.attribute for equality in match.equalities)
        self._follows = leaves in (Leaves.IN_ORDER, Leaves.IN_ANY_ORDER)
        self._by_identity = leaves is Leaves.IN_ANY_ORDER
        self._buckets: dict[tuple[Any, ...], _Bucket] | None = None
        self._followed = 0

    def _key(self, event: StreamEvent) -> tuple[Any, ...]:
        data = event.data
        return tuple(data[attribute] for attribute in self._attributes)

    def observe(self, chunk: list[StreamEvent]) -> None:
        """Follows a sliding window by event; forgets a batch window's last batch."""
        if not self._follows:
            self._buckets = None
        if self._buckets is None:
            return
        for event in chunk:
            if event.kind == CURRENT:
                self._enter(self._buckets, event)
                self._followed += 1
            elif event.kind == EXPIRED:
                self._drop(self._buckets, event)

    def _enter(self, buckets: dict[tuple[Any, ...], _Bucket], event: StreamEvent) -> None:
        bucket = buckets.get(key := self._key(event))
        if bucket is None:
            bucket = buckets[key] = OrderedDict() if self._by_identity else deque()
        if isinstance(bucket, OrderedDict):
            bucket[id(event.data)] = event
        else:
            bucket.append(event)

    def _drop(self, buckets: dict[tuple[Any, ...], _Bucket], event: StreamEvent) -> None:
        self._followed -= 1
        key = self._key(event)
        bucket = buckets.get(key)
        if bucket is None:
            return
        if not isinstance(bucket, OrderedDict):
            bucket.popleft()
        elif bucket.pop(id(event.data), None) is None:
            self._followed = -1  # the index is built anew
        if not bucket:
            del buckets[key]

    def find(self, event: Any) -> list[Any]:
        key = self._match.key(event, self._attributes)
        for value in key:
            if value is None or value != value:
                return []  # nothing is equal to null or to a not-a-number
        bucket = self._current().get(key, ())
        candidates = bucket.values() if isinstance(bucket, OrderedDict) else bucket
        if self._match.exact:
            return list(candidates)
        return self._match.rows(event, candidates, goes_on=True)

    def _current(self) -> dict[tuple[Any, ...], _Bucket]:
        buckets = self._buckets
        if buckets is not None and (not self._follows or self._followed == len(self._content())):
            return buckets
        buckets = self._buckets = {}
        content = list(self._content())
        for held in content:
            self._enter(buckets, held)
        self._followed = len(content)
        return buckets

    def invalidate(self) -> None:
        self._buckets = None


def kept(rows: Iterable[Any], conditions: list[Condition]) -> Iterable[Any]:
    """The rows that pass all conditions."""
    if not conditions:
        return rows
    return [row for row in rows if all(condition(row) for condition in conditions)]


def in_window(window: Any, call: ast.FunctionCall, match: Match) -> Findable:
    """Where the content of a side's own window is found."""
    declared = declared_window(call)
    if match.equalities and declared.emits_changes:
        return Keyed(window.content, match, declared.leaves)
    return Scanned(window.content, match, [])
