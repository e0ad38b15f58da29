"""Rows that are found by their primary key alone: writes in order, and reads between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.tables import keyed_kernel as keyed
from lockstep.tables import program_kernel as machine
from lockstep.tables.kernel import DELETE, INSERT, UPDATE, UPSERT, Numbers
from tests.unit.columns.flows import longs
from tests.unit.tables.test_kernel import UNSEEN

KINDS = longs(INSERT, UPSERT, UPDATE, DELETE)
STEPS = ((INSERT, 0), (INSERT, 0), (UPDATE, 1), (UPSERT, 1), (UPDATE, 0), (DELETE, 0), (INSERT, 0))
MADE = [[0, -1, 0], [3, -1, 1], [4, 0, 2], [5, 2, -1], [6, -1, 3]]


def unnumbered() -> Numbers:
    """Room for nine rows."""
    return Numbers(np.zeros(9, np.int64), np.zeros(3, np.int64))


def made(numbers: Numbers | None = None) -> tuple[keyed.Heads, Any, list[int]]:
    """(heads of two keys behind the steps, the entries, what was counted)."""
    heads = keyed.Heads(np.full(2, -1, np.int64), np.full(9, -1, np.int64))
    keys = longs(*(key for _, key in STEPS))
    writers = np.array([KINDS.tolist().index(kind) for kind, _ in STEPS], np.int64)
    entries, counts = np.zeros((9, 3), np.int64), longs(0, 0, 0)
    values = UNSEEN._replace(owner=writers)
    writes, asked = keyed.KeyedWrites(KINDS, keys, keys), keyed.Asked(longs(), longs())
    numbered = numbers or unnumbered()
    keyed.write(writes, heads, asked, values, numbered, np.arange(9), entries, counts)
    return heads, entries[: counts[0]], counts.tolist()


def test_a_key_has_one_row() -> None:
    """An insert of a key that is taken is refused; an update of one that is free does nothing."""
    numbers = unnumbered()
    heads, entries, counts = made(numbers)
    assert numbers.number[:4].tolist() == [0, 1, 0, 2]
    assert numbers.totals.tolist() == [3, 2, 2]
    assert entries.tolist() == MADE
    assert counts == [5, 4, 1]
    assert heads.head.tolist() == [3, 1]


def test_reads_see_what_was_written_before() -> None:
    """Each its own moment; afterwards the table is as after all writes."""
    heads, entries, _ = made()
    wanted, when = longs(0, 0, 1, 1, 0, 0, 0, -1, 0), longs(0, 1, 3, 4, 4, 5, 6, 6, 7)
    places = np.empty(len(wanted), np.int64)
    keyed.read(wanted, when, entries, heads, places)
    assert places.tolist() == [-1, 0, -1, 1, 0, 2, -1, -1, 3]
    assert heads.head.tolist() == [3, 1]


def test_what_was_changed_elsewhere_is_followed() -> None:
    """To the same heads."""
    heads, entries, _ = made()
    other = keyed.Heads(np.full(2, -1, np.int64), np.full(9, -1, np.int64))
    keyed.follow(entries, longs(0, 1, 0, 0, 0), other)
    assert other.head.tolist() == heads.head.tolist()


def test_rows_that_writes_may_find() -> None:
    """Each once, and those of inserts not."""
    heads, _, _ = made()
    wanted = longs(1, 1, -1, 0)
    writes = keyed.KeyedWrites(longs(UPDATE, INSERT), wanted, wanted)
    values = UNSEEN._replace(owner=longs(0, 0, 0, 1))
    places = np.empty(9, np.int64)
    count = keyed.reached(writes, values, heads, np.zeros(2, np.bool_), places)
    assert places[:count].tolist() == [1]


def test_foretold_writes_see_the_row_that_was_there_when_their_chunk_asked() -> None:
    """Inserts that are made where no row was seen: both of the first chunk try, and the second is
    refused; that of the next chunk sees a row and is not made."""
    heads = keyed.Heads(np.full(1, -1, np.int64), np.full(9, -1, np.int64))
    steps = np.array([(machine.UNSEEN, 0)], np.int64)
    values = UNSEEN._replace(
        owner=longs(0, 0, 0),
        tests=np.zeros((1, 2), np.int64),
        guards=np.array([(0, 1)], np.int64),
        moments=longs(0, 0, 1),
        steps=steps,
        stack=np.zeros(2, np.int64),
        real_stack=np.zeros(2),
        nulls=np.zeros(2, np.bool_),
    )
    keys, entries, counts = longs(0, 0, 0), np.zeros((3, 3), np.int64), longs(0, 0, 0)
    writes = keyed.KeyedWrites(longs(INSERT), keys, keys)
    asked = keyed.Asked(longs(-1), longs(-1))
    keyed.write(writes, heads, asked, values, unnumbered(), np.arange(3), entries, counts)
    assert entries[: counts[0]].tolist() == [[0, -1, 0]]
    assert counts.tolist() == [1, 1, 1]
