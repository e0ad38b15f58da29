"""How much of the log a slice takes: as much as may be, but no more than folds in a bounded time.

So an app whose events are heavy takes many short turns instead of few long ones, and neighbours on
the same cores get theirs in between. How the log is cut changes no result (invariant 2). Pure.
"""

from __future__ import annotations


class SliceSize:
    """Records per slice: halved when one took longer than the target, doubled when a full one was
    far below it.
    """

    def __init__(self, *, limit: int, target_ms: int) -> None:
        self._limit = limit
        self._target_ms = target_ms
        self.records = limit

    def took(self, duration_ms: int, records: int) -> None:
        """A slice of so many records took so long."""
        if duration_ms > self._target_ms:
            self.records = max(1, min(self.records, records) // 2)
        elif records >= self.records and duration_ms * 4 <= self._target_ms:
            self.records = min(self._limit, self.records * 2)
