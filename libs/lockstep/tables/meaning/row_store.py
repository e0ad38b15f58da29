"""The rows of a table in their order: a list, or a map by primary key (semantics 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from lockstep.events import StreamSchema
from lockstep.operators.contract import PlainState
from lockstep.plan import java
from lockstep.tables.meaning.hash_index import HashIndex, Row
from lockstep.tables.meaning.order import bucket_mask, key_hash

Key = tuple[Any, ...]

FEW: Final = 4
"""Fewer rows than this part of a table are put in order alone."""

Journal = list[tuple[Row | None, Row | None]]
"""What was changed, in order: (the row before, the row after)."""


class RowStore:
    """Rows by number. `primary` are the attribute positions of the key; none means a list."""

    def __init__(
        self, schema: StreamSchema, primary: tuple[int, ...], indexed: tuple[int, ...]
    ) -> None:
        self.primary = primary
        self.is_sorted = len(primary) == 1 and schema.types[primary[0]].is_numeric
        self._rows: dict[int, Row] = {}
        self._by_key: dict[Key, Row] = {}
        self._indexes: dict[tuple[int, ...], HashIndex] = {
            (attribute,): HashIndex((attribute,), ()) for attribute in indexed
        }
        self._next_number = 0
        self._peak_rows = 0
        self._order: list[int] | None = None
        self._hashes: dict[int, int] = {}
        self._journal: Journal | None = None

    def __len__(self) -> int:
        return len(self._rows)

    # --- reading ---------------------------------------------------------------------------------

    def key(self, data: tuple[Any, ...]) -> Key:
        """The primary key of a row; in a combined key a null counts as the text `null`."""
        return primary_key(data, self.primary)

    def has_key(self, key: Key) -> bool:
        """Whether a row has this primary key."""
        return key in self._by_key

    def content(self) -> list[Row]:
        """All rows in the table's order."""
        if not self.primary:
            return list(self._rows.values())
        if self._order is None:
            self._order = [row.number for row in self._arranged(self._rows.values())]
        rows = self._rows
        return [rows[number] for number in self._order]

    def chosen(self, choose: Callable[[Iterable[Row]], list[Row]]) -> list[Row]:
        """The rows that `choose` picks, in the table's order. Behind a change nobody knows that
        order yet. Then a few rows are put in order alone: else a scan behind each change would sort
        the whole table each time."""
        if not self.primary or self._order is not None:
            return choose(self.content())
        found = choose(self._rows.values())
        if len(found) * FEW < len(self._rows):
            return self._arranged(found)
        numbers = {row.number for row in found}
        return [row for row in self.content() if row.number in numbers]

    def unordered(self) -> Iterable[Row]:
        """All rows in the order in which they came."""
        return self._rows.values()

    def by_key(self, key: Key) -> list[Row]:
        """The row of a primary key, or nothing."""
        row = self._by_key.get(key)
        return [] if row is None else [row]

    def by_values(self, attributes: tuple[int, ...], values: Key) -> list[Row]:
        """The rows with these values in an indexed set of attributes, in the table's order."""
        rows = self._indexes[attributes].rows(values)
        return self._arranged(rows) if self.primary and len(rows) > 1 else rows

    def index(self, attributes: tuple[int, ...], *, build: bool) -> bool:
        """Whether there is a hash index over exactly these attributes; `build` makes it so."""
        if attributes not in self._indexes and build:
            self._indexes[attributes] = HashIndex(attributes, self._rows.values())
        return attributes in self._indexes

    def _arranged(self, rows: Iterable[Row]) -> list[Row]:
        """Map order: by value for one numeric key, else by bucket, then by arrival."""
        if self.is_sorted:
            position = self.primary[0]
            return sorted(rows, key=lambda row: java.rank(row.data[position]))
        mask, hashes = bucket_mask(self._peak_rows), self._hashes
        rows = list(rows)
        for row in rows:
            if row.number not in hashes:
                hashes[row.number] = key_hash(tuple(row.data[i] for i in self.primary))
        return sorted(rows, key=lambda row: (hashes[row.number] & mask, row.number))

    # --- changing --------------------------------------------------------------------------------

    def add(self, timestamp_ms: int, data: tuple[Any, ...]) -> Row:
        """Appends a row; its key must be free."""
        row = Row(timestamp_ms, data, number=self._next_number)
        self._next_number += 1
        self._put_in(row)
        self._peak_rows = max(self._peak_rows, len(self._rows))
        if self._journal is not None:
            self._journal.append((None, row))
        return row

    def _put_in(self, row: Row) -> None:
        self._rows[row.number] = row
        if self.primary:
            self._by_key[self.key(row.data)] = row
            self._order = None
        for index in self._indexes.values():
            index.add(row)

    def remove(self, row: Row) -> None:
        """Takes a row out."""
        del self._rows[row.number]
        if self.primary:
            del self._by_key[self.key(row.data)]
            self._hashes.pop(row.number, None)
            self._order = None
        for index in self._indexes.values():
            index.remove(row)
        if self._journal is not None:
            self._journal.append((row, None))

    def replace(self, row: Row, data: tuple[Any, ...], timestamp_ms: int) -> Row:
        """Gives a row other values of the same key, in its old place."""
        new = Row(timestamp_ms, data, number=row.number)
        self._rows[row.number] = new
        if self.primary:
            self._by_key[self.key(data)] = new
        for index in self._indexes.values():
            index.replace(row, new)
        if self._journal is not None:
            self._journal.append((row, new))
        return new

    # --- state -----------------------------------------------------------------------------------

    def snapshot(self) -> PlainState:
        """The most rows there ever were, and the rows by number."""
        return (self._peak_rows, [(row.timestamp_ms, row.data) for row in self._rows.values()])

    def restore(self, state: PlainState) -> None:
        peak_rows, rows = state
        self._rows, self._by_key, self._hashes, self._order = {}, {}, {}, None
        self._indexes = {key: HashIndex(key, ()) for key in self._indexes}
        self._next_number = 0
        for timestamp_ms, data in one_row_per_key(rows, self.primary):
            self.add(timestamp_ms, data)
        self._peak_rows = peak_rows


def primary_key(data: tuple[Any, ...], primary: tuple[int, ...]) -> Key:
    """The values of a key; every NaN is the same."""
    if len(primary) == 1:
        return (java.key(data[primary[0]]),)
    return tuple("null" if data[i] is None else java.key(data[i]) for i in primary)


def one_row_per_key(rows: PlainState, primary: tuple[int, ...]) -> PlainState:
    """The saved rows. States from before NaN was one key may have several of it: the first stays,
    as where a key is taken."""
    if not any(data[i] != data[i] for _, data in rows for i in primary):
        return rows
    found: dict[Key, Any] = {}
    for row in rows:
        found.setdefault(primary_key(row[1], primary), row)
    return list(found.values())


@contextmanager
def noted(store: RowStore, journal: Journal | None = None) -> Iterator[Journal]:
    """Everything that the block changes, as it comes; in `journal`, if there is one."""
    journal = [] if journal is None else journal
    store._journal = journal
    try:
        yield journal
    finally:
        store._journal = None


@contextmanager
def undone_on_error(store: RowStore) -> Iterator[None]:
    """When the block raises, what it has changed is as it was before."""
    journal: Journal = []
    store._journal = journal
    number, peak_rows = store._next_number, store._peak_rows
    try:
        yield
    except BaseException:
        store._journal = None
        for before, after in reversed(journal):
            _undo(store, before, after)
        store._rows = dict(sorted(store._rows.items()))  # each row in its old place
        store._next_number, store._peak_rows = number, peak_rows
        raise
    finally:
        store._journal = None


def _undo(store: RowStore, before: Row | None, after: Row | None) -> None:
    if before is None:
        assert after is not None
        store.remove(after)
    elif after is None:
        store._put_in(before)
    else:
        store.replace(after, before.data, before.timestamp_ms)
