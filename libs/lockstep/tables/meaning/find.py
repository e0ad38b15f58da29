"""Finding a table's rows: by primary key or hash index where the condition allows, else by scan."""

from __future__ import annotations

from typing import Any

from lockstep.tables.meaning.conditions import Match
from lockstep.tables.meaning.hash_index import Row
from lockstep.tables.meaning.row_store import RowStore


class Finder:
    """Finds the rows that match an event; the way to them is chosen once."""

    def __init__(self, rows: RowStore, match: Match, may_index: bool) -> None:
        self._rows = rows
        self._match = match
        fixed = {equality.attribute for equality in match.equalities}
        self._by_primary = bool(rows.primary) and fixed.issuperset(rows.primary)
        self._used: tuple[int, ...] = ()
        if self._by_primary:
            self._used = rows.primary
        elif fixed:
            self._used = self._choose(tuple(sorted(fixed)), may_index)
        # A combined key takes null for the text `null`, so its rows are looked at once more.
        combined = self._by_primary and len(rows.primary) > 1
        self._is_exact = match.exact and fixed == set(self._used) and not combined

    def _choose(self, fixed: tuple[int, ...], may_index: bool) -> tuple[int, ...]:
        """All fixed attributes if they are or may be indexed together, else one that is indexed."""
        if self._rows.index(fixed, build=may_index):
            return fixed
        for attribute in fixed:
            if self._rows.index((attribute,), build=False):
                return (attribute,)
        return ()

    def find(self, event: Any) -> list[Row]:
        """The matching rows in the table's order."""
        if not self._used:
            return self._rows.chosen(lambda rows: self._match.rows(event, rows))
        candidates, is_exact = self._candidates(event)
        return candidates if is_exact else self._match.rows(event, candidates)

    def contains(self, event: Any) -> bool:
        """Whether any row matches."""
        if not self._used:
            return self._match.any(event, self._rows.unordered())
        candidates, is_exact = self._candidates(event)
        return bool(candidates) if is_exact else self._match.any(event, candidates)

    def _candidates(self, event: Any) -> tuple[list[Row], bool]:
        """Rows that hold all that match, and whether these already are the ones that match."""
        used = self._used
        key = self._match.key(event, used)
        for value in key:
            if value is None or value != value:
                return [], True  # nothing is equal to null or to a not-a-number
        if self._by_primary:
            return self._rows.by_key(key), self._is_exact
        return self._rows.by_values(used, key), self._is_exact
