"""Rows that were folded and are not known to be published, in the order of their identity. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter

from lockstep.events import OutputId, OutputRow


class HoldBack:
    """A standby adds and trims; a leader takes from it what it appends, and trims as well.

    Over `limit_rows` it `is_full`: its owner reads no further until it has been trimmed. It never
    drops a row that is not published.
    """

    def __init__(self, limit_rows: int) -> None:
        self._limit_rows = limit_rows
        self._rows: list[OutputRow] = []
        self._trimmed: OutputId | None = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def is_full(self) -> bool:
        """No more may be folded now."""
        return len(self._rows) >= self._limit_rows

    @property
    def up_to(self) -> OutputId | None:
        """The last row held back; None when there is none."""
        return self._rows[-1].id if self._rows else None

    def add(self, rows: Sequence[OutputRow]) -> None:
        """Takes a slice's rows, behind all others; those published already are left out."""
        fresh = rows if self._trimmed is None else rows[_behind(rows, self._trimmed) :]
        if fresh and self._rows and fresh[0].id <= self._rows[-1].id:
            raise ValueError(f"{fresh[0].id} does not follow {self._rows[-1].id}")
        self._rows.extend(fresh)

    def trim(self, up_to: OutputId) -> None:
        """Rows up to this one are published."""
        if self._trimmed is None or up_to > self._trimmed:
            self._trimmed = up_to
            del self._rows[: _behind(self._rows, up_to)]

    def after(self, last: OutputId | None, max_rows: int) -> Sequence[OutputRow]:
        """The first held rows behind an identity."""
        start = 0 if last is None else _behind(self._rows, last)
        return self._rows[start : start + max_rows]


def _behind(rows: Sequence[OutputRow], last: OutputId) -> int:
    return bisect_right(rows, last, key=attrgetter("id"))
