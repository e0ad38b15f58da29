"""Hash indexes over a table's rows: by values of some attributes, rows in order of arrival."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lockstep.operators.contract import StreamEvent


class Row(StreamEvent):
    """A table's row. `number` grows with every insert and stays with the row through updates."""

    number: int = 0


class HashIndex:
    """Rows by the values of `attributes`; null is a value like others here."""

    __slots__ = ("_buckets", "_disordered", "attributes")

    def __init__(self, attributes: tuple[int, ...], rows: Iterable[Row]) -> None:
        self.attributes = attributes
        self._buckets: dict[tuple[Any, ...], dict[int, Row]] = {}
        self._disordered = False
        for row in rows:
            self.add(row)

    def _key(self, row: Row) -> tuple[Any, ...]:
        data = row.data
        return tuple(data[attribute] for attribute in self.attributes)

    def add(self, row: Row) -> None:
        """Takes a row in."""
        bucket = self._buckets.setdefault(self._key(row), {})
        if bucket and row.number < next(reversed(bucket)):
            self._disordered = True
        bucket[row.number] = row

    def remove(self, row: Row) -> None:
        """Takes a row out."""
        key = self._key(row)
        bucket = self._buckets[key]
        del bucket[row.number]
        if not bucket:
            del self._buckets[key]

    def replace(self, old: Row, new: Row) -> None:
        """Puts a row of the same number in the place of another."""
        key = self._key(old)
        if key == self._key(new):
            self._buckets[key][new.number] = new
        else:
            self.remove(old)
            self.add(new)

    def rows(self, key: tuple[Any, ...]) -> list[Row]:
        """The rows with these values, by number."""
        bucket = self._buckets.get(key)
        if bucket is None:
            return []
        rows = list(bucket.values())
        if self._disordered and len(rows) > 1:
            rows.sort(key=lambda row: row.number)
        return rows
