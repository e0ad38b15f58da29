"""Chains of a table's rows: writes in order, and reads at any moment between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.columns.order import Order
from lockstep.tables import kernel as tables
from lockstep.tables.program_kernel import Values
from lockstep.tables.store import Journal
from tests.unit.columns.flows import longs

ALL, BY_KEY = 0, 1
_NONE = np.zeros(0, np.int64)
ASKED = tables.Asked(0, np.zeros(0, np.int64), np.zeros(0, np.int64))
UNSEEN = Values(
    *(_NONE, _NONE.reshape(0, 2), _NONE.reshape(0, 2), _NONE, _NONE.reshape(0, 0)),
    *(_NONE.reshape(0, 0, 2), _NONE.reshape(0, 0)),
    *(_NONE.reshape(0, 0, 2), _NONE.reshape(0, 2), _NONE, _NONE.reshape(0, 0)),
    *(np.zeros((0, 0), np.bool_), _NONE.reshape(0, 0), np.zeros((0, 0), np.bool_)),
    *(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.bool_)),
)
"""Nothing is tested, and nobody looks at values."""


def links() -> tables.Links:
    """Two indexes, of two keys, and room for twelve rows."""
    ends = (np.full((2, 2), -1, np.int64) for _ in range(2))
    return tables.Links(*ends, *(np.full((2, 12), -1, np.int64) for _ in range(3)))


def writes(*each: tuple[int, int]) -> tables.Writes:
    """(kind, key) of each; changes leave the key."""
    kinds, keys = longs(*(kind for kind, _ in each)), longs(*(key for _, key in each))
    new = np.stack([np.zeros(len(each), np.int64), keys])
    changed = np.full((2, len(each)), -1, np.int64)
    return tables.Writes(kinds, np.full(len(each), BY_KEY, np.int64), keys, new, changed)


STEPS = (
    (tables.INSERT, 0),
    (tables.INSERT, 0),
    (tables.UPDATE, 1),
    (tables.UPSERT, 1),
    (tables.UPDATE, 0),
    (tables.DELETE, 0),
)


def found_by(
    wanted: Any, when: Any, entries: Any, own: tables.Links, *, each: int = 9, room: int = 99
) -> tuple[list[int], list[int], int, bool]:
    """(reads, places, the first read that was answered, whether one found too many)."""
    answers = tables.Answers(*(np.zeros(room, np.int64) for _ in range(2)))
    arguments = wanted, when, len(wanted), np.array(entries), own, each, answers
    found, first, over = tables.read(BY_KEY, *arguments)
    return answers.reads[:found].tolist(), answers.places[:found].tolist(), first, over


def made(
    primary: int, steps: tuple[tuple[int, int], ...] = STEPS
) -> tuple[tables.Links, list[list[int]], int]:
    """(the links behind the steps, the entries, how many writes were refused)."""
    own, entries, counts = links(), np.zeros((20, 3), np.int64), longs(0, 0, 0)
    done = tables.write(
        writes(*steps), own, UNSEEN, ASKED, primary, 0, np.arange(12), entries, counts
    )
    assert done == len(steps)
    return own, entries[: counts[0]].tolist(), int(counts[2])


def test_what_each_write_changes() -> None:
    """In a list an update changes all rows of a key; a primary key has one."""
    own, entries, refused = made(-1)
    assert entries == [
        [0, -1, 0],
        [1, -1, 1],
        [3, -1, 2],
        [4, 0, 3],
        [4, 1, 4],
        [5, 3, -1],
        [5, 4, -1],
    ]
    assert (tables.chain(ALL, 0, own).tolist(), refused) == ([2], 0)
    _, entries, refused = made(BY_KEY)
    assert entries == [[0, -1, 0], [3, -1, 1], [4, 0, 2], [5, 2, -1]]
    assert refused == 1


def test_without_room_it_stops_in_front_of_a_write() -> None:
    """And goes on there when there is more."""
    own, entries, counts = links(), np.zeros((20, 3), np.int64), longs(0, 0, 0)
    spare = np.arange(12)
    assert tables.write(writes(*STEPS), own, UNSEEN, ASKED, -1, 0, spare[:4], entries, counts) == 4
    assert tables.write(writes(*STEPS), own, UNSEEN, ASKED, -1, 4, spare, entries, counts) == 6
    assert entries[: counts[0]].tolist() == made(-1)[1]


def test_reads_see_what_was_written_before() -> None:
    """Each its own moment; afterwards the table is as after all writes."""
    own, entries, _ = made(-1)
    before = [each.copy() for each in own]
    wanted, when = longs(0, 0, 0, 1, 0, 0, -1), longs(0, 1, 2, 4, 5, 6, 6)
    reads, places, first, over = found_by(wanted, when, entries, own)
    pairs = sorted(zip(reads, places, strict=True))
    assert pairs == [(1, 0), (2, 0), (2, 1), (3, 2), (4, 3), (4, 4)]
    assert (first, over) == (0, False)
    for one, other in zip(own, before, strict=True):
        np.testing.assert_array_equal(one[:, :2], other[:, :2])
    assert tables.chain(ALL, 0, own).tolist() == [2]


def test_reads_stop_at_their_limits() -> None:
    """Of all together in front of the read that has no room; of one at once."""
    own, entries, _ = made(-1)
    wanted, when = longs(0, 0, 0), longs(2, 2, 2)
    reads, _, first, over = found_by(wanted, when, entries, own, room=5)
    assert (reads, first, over) == ([2, 2, 1, 1], 1, False)
    assert found_by(wanted, when, entries, own, room=1)[2] == 3
    assert found_by(wanted, when, entries, own, each=1)[3]


def test_a_row_that_changes_its_key_goes_to_the_other_chain() -> None:
    """And back for those that read before."""
    own, entries, counts = links(), np.zeros((20, 3), np.int64), longs(0, 0, 0)
    both = writes((tables.INSERT, 0), (tables.UPDATE, 0))
    both.changed[BY_KEY, 1] = 1
    tables.write(both, own, UNSEEN, ASKED, -1, 0, np.arange(12), entries, counts)
    assert tables.chain(BY_KEY, 1, own).tolist() == [1]
    assert found_by(longs(0, 1), longs(1, 2), entries[:2], own)[1] == [1, 0]


def test_what_was_changed_elsewhere_is_followed() -> None:
    """To the same links."""
    own, entries, _ = made(-1)
    other = links()
    keys = np.array([[0] * 7, [0, 0, 1, 0, 0, 0, 0]])
    tables.follow(np.array(entries), keys, other)
    np.testing.assert_array_equal(own.head, other.head)
    np.testing.assert_array_equal(own.tail, other.tail)


def test_numbers_and_the_most_rows_there_ever_were() -> None:
    """A changed row keeps its number."""
    _, entries, _ = made(-1)
    numbers = tables.Numbers(np.zeros(12, np.int64), longs(5, 0, 0))
    tables.number_rows(np.array(entries), numbers)
    assert numbers.number[:5].tolist() == [5, 6, 7, 5, 6]
    assert numbers.totals.tolist() == [8, 1, 3]
    journal = Journal(np.array(entries), Order(np.arange(7)), 1, 0)
    assert journal.peaks.tolist() == [1, 2, 3, 3, 3, 3, 3]


def test_what_is_left_of_a_slice() -> None:
    """Places that are free again, in the order in which they went; rows that came and stay."""
    _, entries, _ = made(-1)
    gone, freed, lines = np.zeros(12, np.bool_), np.zeros(7, np.int64), np.zeros(7, np.int64)
    went, stay = tables.settle(np.array(entries), gone, freed, lines)
    old, new = np.array(entries).T[1:]
    assert freed[:went].tolist() == old[old >= 0].tolist()
    assert set(new[lines[:stay]].tolist()) == set(new[new >= 0].tolist()) - set(old.tolist())


def test_values_that_rows_keep() -> None:
    """From change to change, as far back as the row goes; and how often it was changed."""
    entries = np.array([[0, 2, 5], [1, 5, 6], [2, 6, -1], [3, -1, 7], [4, 7, 8]])
    origin = np.arange(9, dtype=np.int64)
    tables.find_origins(np.array([True, True, False, True, True]), entries, origin)
    assert origin[[5, 6, 7, 8]].tolist() == [2, 2, 7, 7]
    assert tables.depths(entries, np.zeros(9, np.int64)).tolist() == [1, 2, 0, 0, 1]
