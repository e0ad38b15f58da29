"""What the queries of an app did since somebody last asked: rows and time. Part of no state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from lockstep.execute.contract import QueryWork


class Work:
    """Counts by query; a slice adds a few numbers, an event nothing."""

    def __init__(self) -> None:
        self.rows: Counter[str] = Counter()
        self._took_ns: Counter[str] = Counter()

    def took(self, query: str, took_ns: int) -> None:
        """A query, or several that are folded together, worked so long."""
        self._took_ns[query] += took_ns

    def take(self) -> QueryWork:
        """What was counted; counting begins anew."""
        names = [name for name in {**self.rows, **self._took_ns} if self._is_worth(name)]
        found = {name: (self.rows[name], self._took_ns[name] // 1_000) for name in names}
        self.rows.clear()
        self._took_ns.clear()
        return found

    def _is_worth(self, name: str) -> bool:
        return bool(self.rows[name] or self._took_ns[name])


def joined_work(parts: Iterable[QueryWork]) -> QueryWork:
    """Of several shards."""
    rows: Counter[str] = Counter()
    took: Counter[str] = Counter()
    for part in parts:
        for name, (count, took_us) in part.items():
            rows[name] += count
            took[name] += took_us
    return {name: (rows[name], took[name]) for name in rows}
