"""`output snapshot every t`: the present state again and again (semantics 14.3), on the wall
clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lockstep.operators.contract import CURRENT, EXPIRED, Context, JoinedEvent, PlainState
from lockstep.plan import java
from lockstep.rates.by_time.meaning import PeriodicRate
from lockstep.rates.limiter import RateBase, loaded, saved
from lockstep.rates.snapshot.kind import ONE_BY_ONE, Inside, Shows, kind_of
from lockstep.rates.snapshot.stored import last_rows
from lockstep.selection.meaning import Gone, Row
from lockstep.siddhiql.checked import CheckedQuery


def build_snapshot_rate(query: CheckedQuery, every_ms: int, context: Context) -> RateBase:
    """The limiter of the query's kind of snapshot."""
    kind = kind_of(query)
    match kind.shows:
        case Shows.LAST | Shows.NEWEST:
            return LastRows(every_ms, context, forgets=kind.shows is Shows.NEWEST)
        case Shows.GROUPS:
            return GroupsInWindow(every_ms, context, kind.aggregated, kind.inside)
        case Shows.CONTENT:
            return WindowContent(every_ms, context, kind.aggregated, kind.inside)


def _identity(origin: Any) -> Any:
    """What tells that an expired event is the one that came in before."""
    if isinstance(origin, JoinedEvent):
        left, right = origin.left, origin.right
        return java.key((left.data if left else None, right.data if right else None))
    return java.key(origin.data)


class LastRows(PeriodicRate):
    """The last row of each group, for ever; `forgets` it when the group's last event was an
    expiry.
    """

    def __init__(self, every: int, context: Context, *, forgets: bool) -> None:
        super().__init__(every, context)
        self._forgets = forgets
        self._last: dict[Any, Row] = {}

    def process(self, chunk: list[Row]) -> None:
        """Keeps the last current row per group."""
        for row in chunk:
            if row.kind == CURRENT:
                self._last[row.key] = row
            elif self._forgets:
                self._last.pop(row.key, None)

    def tick(self) -> None:
        """Emits the kept rows."""
        if self._last:
            self.emit(list(self._last.values()))

    def snapshot(self) -> PlainState:
        """The kept rows in order of their groups."""
        return [saved(row) for row in self._last.values()]

    def restore(self, state: PlainState) -> None:
        self._last = {row.key: row for row in map(loaded, last_rows(state))}


class WindowContent(PeriodicRate):
    """A row per event inside the window; aggregated columns show their latest values in every
    row.
    """

    def __init__(
        self,
        every: int,
        context: Context,
        aggregated: Sequence[bool],
        how: Inside = ONE_BY_ONE,
    ) -> None:
        super().__init__(every, context)
        self._aggregated = aggregated
        self._how = how
        self._inside: list[tuple[Any, Row]] = []
        self._latest: dict[Any, tuple[Any, ...]] = {}
        self._counts: Counter[Any] = Counter()

    def process(self, chunk: list[Row]) -> None:
        """Current rows enter, expired ones take their likeness out; a group without rows inside is
        forgotten."""
        touched = {row.key for row in chunk}
        for row in chunk:
            if not isinstance(row, Gone):
                self._latest[row.key] = row.data
        for identity, row in self._in_turn(chunk):
            if row.kind == EXPIRED or self._how.key is not None:
                touched |= self._remove(identity, row.key)
            if row.kind != EXPIRED:
                self._inside.append((identity, row))
                self._counts[row.key] += 1
        for key in touched:
            if not self._counts[key]:
                self._counts.pop(key, None)
                self._latest.pop(key, None)

    def _in_turn(self, chunk: list[Row]) -> list[tuple[Any, Row]]:
        """The rows with their identities; what left in front of itself stands behind itself."""
        rows = [(_identity(row.origin), row) for row in chunk]
        if not self._how.early:
            return rows
        if rows and isinstance(chunk[0].origin, JoinedEvent):
            # An event leaves with all its pairs before it comes with them.
            return sorted(rows, key=lambda each: each[1].kind)
        for at, ((left, before), (came, row)) in enumerate(pairwise(list(rows))):
            leaves = before.kind == EXPIRED and row.kind == CURRENT
            if leaves and before.key == row.key and left == came:
                rows[at], rows[at + 1] = rows[at + 1], rows[at]
        return rows

    def _remove(self, identity: Any, key: Any) -> set[Any]:
        """Takes the oldest likeness out, if there is one; gives its group."""
        wanted = self._likeness(identity, key)
        for index, (held, row) in enumerate(self._inside):
            if self._likeness(held, row.key) == wanted:
                del self._inside[index]
                self._counts[row.key] -= 1
                return {row.key}
        return set()

    def _likeness(self, identity: Any, key: Any) -> Any:
        if self._how.key is None:
            return (key, identity)
        return [identity[attribute] for attribute in self._how.key]

    def tick(self) -> None:
        """Emits the content."""
        out = [self._shown(row) for row in self.rows()]
        if out:
            self.emit(out)

    def rows(self) -> list[Row]:
        """The rows to show, in order."""
        return [row for _, row in self._inside]

    def _shown(self, row: Row) -> Row:
        latest = self._latest[row.key]
        data = tuple(
            new if aggregated else own
            for own, new, aggregated in zip(row.data, latest, self._aggregated, strict=True)
        )
        return Row(row.timestamp_ms, data, CURRENT, row.key, None)

    def snapshot(self) -> PlainState:
        """The rows inside with their identities, and the latest values by group, groups in order
        of their oldest row inside."""
        inside = [(identity, saved(row)) for identity, row in self._inside]
        return (inside, [(key, self._latest[key]) for key in self._groups()])

    def restore(self, state: PlainState) -> None:
        inside, latest = state
        self._inside = [(java.key(identity), loaded(row)) for identity, row in inside]
        if self._how.key is not None:
            # Earlier revisions kept those before the latest of a key, too.
            self._inside = self._latest_of_keys()
        self._counts = Counter(row.key for _, row in self._inside)
        # Earlier revisions kept the values of groups that had left, too.
        self._latest = {key: data for key, data in latest if key in self._counts}

    def _latest_of_keys(self) -> list[tuple[Any, Row]]:
        latest: dict[Any, tuple[Any, Row]] = {}
        for identity, row in self._inside:
            key = tuple(self._likeness(identity, row.key))
            latest.pop(key, None)
            latest[key] = (identity, row)
        return list(latest.values())

    def _groups(self) -> dict[Any, Row]:
        """The newest row of each group inside, groups in order of their oldest."""
        return {row.key: row for _, row in self._inside}


class GroupsInWindow(WindowContent):
    """One row per group that has events in the window: its newest event with the latest values."""

    def rows(self) -> list[Row]:
        """Groups in order of their oldest event inside."""
        return list(self._groups().values())
