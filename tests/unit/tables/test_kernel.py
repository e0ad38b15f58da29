"""Writes of keyed tables in order, and reads at any moment between them."""

from __future__ import annotations

import numpy as np

from lockstep.tables.kernel import (
    DELETE,
    INSERT,
    NOTHING,
    UPDATE,
    UPSERT,
    find_origins,
    read,
    write,
)
from tests.unit.columns.flows import longs

KINDS = longs(INSERT, INSERT, UPDATE, UPSERT, DELETE, DELETE, UPDATE, INSERT)
KEYS = longs(0, 0, 1, 1, 0, 0, 0, 0)
PLACES = longs(10, 11, 12, 13, -1, -1, 14, 15)


def test_what_each_write_changes() -> None:
    """Insertions of keys that are there, and updates and deletions of others, change nothing."""
    latest, number = longs(-1, -1), longs(0, 0)
    previous, next_number = write(KINDS, KEYS, PLACES, latest, number, 3)
    assert previous.tolist() == [-1, NOTHING, NOTHING, -1, 10, NOTHING, NOTHING, -1]
    assert latest.tolist() == [15, 13]
    # A row that went and came again stands behind all others.
    assert number.tolist() == [5, 4]
    assert next_number == 6


def test_reads_see_what_was_written_before() -> None:
    """Each its own moment; afterwards the table is as after all writes."""
    latest = longs(-1, -1)
    previous, _ = write(KINDS, KEYS, PLACES, latest, longs(0, 0), 0)
    before = longs(0, 1, 2, 4, 5, 7, 8, 8)
    key = longs(0, 0, 1, 1, 0, 0, 0, -1)
    found = read(key, before, KEYS, PLACES, previous, latest)
    assert found.tolist() == [-1, 10, -1, 13, -1, -1, 15, -1]
    assert latest.tolist() == [15, 13]


def test_values_that_rows_keep() -> None:
    """From write to write, as far back as the row goes; not over a deletion."""
    place = longs(5, 6, -1, 7, 8)
    previous = longs(2, 5, 6, -1, 7)
    keeps = np.array([True, True, False, True, True])
    origin = np.arange(9, dtype=np.int64)
    find_origins(keeps, place, previous, origin)
    assert origin[place[[0, 1, 3, 4]]].tolist() == [2, 2, 7, 7]
