"""What a presenter remembers of an app: the last rows of each stream, the present rows of each
table.

Fed from the output log in order; a row seen before is ignored, so reading a log twice is harmless.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.events import Operation, OutputId, OutputRow, StreamSchema
from lockstep.events.outputs import RowsOfColumns, in_columns
from lockstep.execute.fitting import fitted_rows
from lockstep.frame.bodies import whole_number

RATE_WINDOW_MS: Final = 10_000
MAX_NUMBER: Final = 10**18
"""Of an identity; far more than any log has records."""

TRIMMED: Final = (
    "older changes had been trimmed from the output log before this presenter read it"
    " (publisher.keep_records, publisher.keep_bytes)"
)
RESHAPED: Final = "changes by an earlier version of the app, which had other columns, are left out"
FORGOTTEN: Final = (
    "of the rows it read, a presenter keeps the {} that changed last (presenter.table_rows)"
)
ALL_ROWS: Final = "To see all, ask the app with an on-demand query, or the database of its @store."


def identity(output_id: OutputId) -> str:
    """An output's identity as clients see it: "position.ordinal"."""
    return f"{output_id.position}.{output_id.ordinal}"


def parse_identity(text: str) -> OutputId | None:
    """The identity that a client sends back, or None when it is none of ours."""
    position, dot, ordinal = text.partition(".")
    found = whole_number(position, MAX_NUMBER), whole_number(ordinal, MAX_NUMBER)
    if not dot or found[0] is None or found[1] is None:
        return None
    return OutputId(found[0], found[1])


@dataclass(frozen=True, slots=True)
class Shown:
    """A row as it is handed out."""

    id: OutputId
    timestamp_ms: int
    data: tuple[Any, ...]

    def as_json(self, names: Sequence[str]) -> dict[str, Any]:
        """With attribute names."""
        return {
            "id": identity(self.id),
            "timestamp_ms": self.timestamp_ms,
            "event": dict(zip(names, self.data, strict=True)),
        }


@dataclass(frozen=True, slots=True)
class Fresh:
    """Rows not seen before: the last ones, and how many came before them and were only counted."""

    rows: list[Shown]
    skipped: int = 0

    @property
    def count(self) -> int:
        """All of them."""
        return len(self.rows) + self.skipped


class StreamModel:
    """The last rows of a stream, at most `history_rows`.

    `hand_on_rows` (at least the history): so many of the rows that come at once are made and handed
    on; of more, the first are only counted. `kept_from`: rows in front of this one may have been
    trimmed before they were read; None: none was.
    """

    def __init__(self, schema: StreamSchema, history_rows: int, hand_on_rows: int = 0) -> None:
        self.schema = schema
        self.kept_from: OutputId | None = None
        self._hand_on_rows = max(history_rows, hand_on_rows)
        self.total = 0
        self._rows: deque[Shown] = deque(maxlen=history_rows)
        self._recent: deque[tuple[int, int]] = deque()

    def add(self, rows: RowsOfColumns, now_ms: int | None) -> Fresh:
        """Takes rows in order; gives those not seen before. `now_ms` is monotonic; None: they are
        history, which is no part of the present rate.

        Rows that an earlier version of the app published are shown as the stream is now, and those
        that do not fit are not shown.
        """
        rows, _ = fitted_rows(rows, self.schema)
        if self._rows:
            rows = rows[rows.up_to(self._rows[-1].id) :]
        if not rows:
            return Fresh([])
        last = rows[max(0, len(rows) - self._hand_on_rows) :]
        shown = [Shown(row.id, row.timestamp_ms, row.data) for row in last]
        self._rows.extend(shown)
        self.total += len(rows)
        if now_ms is not None:
            self._recent.append((now_ms, len(rows)))
        return Fresh(shown, len(rows) - len(shown))

    def cut(self, kept_from: OutputId) -> None:
        """Rows in front of this one were trimmed before they were read."""
        self.kept_from = kept_from

    def latest(self, limit: int) -> list[Shown]:
        """The newest rows, newest first."""
        count = min(limit, len(self._rows))
        return [self._rows[-1 - i] for i in range(count)]

    def after(self, seen: OutputId) -> tuple[list[Shown], bool]:
        """Rows behind an identity, oldest first; and whether rows in between may be forgotten."""
        found = [row for row in self._rows if row.id > seen]
        is_cut = self.kept_from is not None and seen < self.kept_from
        full = len(self._rows) == self._rows.maxlen
        return found, is_cut or (full and bool(self._rows) and self._rows[0].id > seen)

    @property
    def last_id(self) -> OutputId | None:
        """Identity of the newest row."""
        return self._rows[-1].id if self._rows else None

    def rate_per_s(self, now_ms: int) -> float:
        """Rows per second over the last ten seconds."""
        while self._recent and self._recent[0][0] < now_ms - RATE_WINDOW_MS:
            self._recent.popleft()
        return sum(count for _, count in self._recent) / (RATE_WINDOW_MS / 1000)


class TableModel:
    """The present rows of a stored table by key, at most `max_rows` (the oldest change goes
    first).
    """

    def __init__(self, schema: StreamSchema, key: Sequence[str], max_rows: int) -> None:
        self.schema = schema
        self._is_trimmed = False
        self._is_reshaped = False
        self.key = tuple(key) or schema.names
        self.forgotten = 0
        self.changes = 0
        self._at = tuple(schema.names.index(name) for name in self.key)
        self._rows: dict[tuple[Any, ...], Shown] = {}
        self._max_rows = max_rows
        self._last: OutputId | None = None

    def add(self, rows: Sequence[OutputRow]) -> None:
        """Takes changes in order; those seen before are ignored, and those of an earlier version
        that do not fit the table as it is now."""
        fitting, misfits = fitted_rows(in_columns(rows), self.schema)
        self._is_reshaped = self._is_reshaped or bool(misfits)
        for row in fitting:
            if self._last is not None and row.id <= self._last:
                continue
            if len(row.data) not in (len(self.schema.names), len(self.key)):
                self._is_reshaped = True
                continue
            self._last = row.id
            self.changes += 1
            # A deletion may bear the key's values alone.
            whole = len(row.data) == len(self.schema.names)
            values = (row.data[i] for i in self._at) if whole else row.data
            key = tuple(_hashable(value) for value in values)
            self._rows.pop(key, None)
            if row.operation is not Operation.DELETE:
                self._rows[key] = Shown(row.id, row.timestamp_ms, row.data)
        while len(self._rows) > self._max_rows:
            del self._rows[next(iter(self._rows))]
            self.forgotten += 1

    def is_like(self, other: TableModel) -> bool:
        """Of the same columns, by the same key."""
        return self.schema == other.schema and self.key == other.key

    def cut(self, _kept_from: OutputId) -> None:
        """Changes were trimmed before they were read."""
        self._is_trimmed = True

    @property
    def missing(self) -> str | None:
        """Why rows may be missing, and where all of them are, for people to read. None: these are
        all rows, as every change was read and none was forgotten."""
        forgotten = FORGOTTEN.format(self._max_rows)
        reasons = [
            reason
            for reason, is_so in (
                (TRIMMED, self._is_trimmed), (RESHAPED, self._is_reshaped),
                (forgotten, self.forgotten),
            )
            if is_so
        ]  # fmt: skip
        return f"Rows may be missing: {'; '.join(reasons)}. {ALL_ROWS}" if reasons else None

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, limit: int) -> Iterator[Shown]:
        """Present rows, last changed first."""
        for number, key in enumerate(reversed(self._rows)):
            if number >= limit:
                return
            yield self._rows[key]


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
