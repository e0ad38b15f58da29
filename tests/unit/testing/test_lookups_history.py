"""What the trial of look-ups takes for an answer that a table has given."""

from __future__ import annotations

from tests.e2e.lookups_tables import History


def changed() -> History:
    """Of ten rows: row 3 becomes version 100, goes, and comes back as 101; row 12 comes."""
    history = History(10)
    history.note({3: 100}, 1_000, 1_010)
    history.note({3: None, 12: 102}, 2_000, 2_010)
    history.note({3: 101}, 3_000, 3_010)
    return history


def test_an_answer_holds_from_its_commit_to_the_next_one() -> None:
    """While a transaction is committed the old and the new version are both right."""
    history = changed()
    assert history.had_within(3, 3, 900, 950)
    assert history.had_within(3, 3, 1_005, 1_006)
    assert history.had_within(3, 100, 1_005, 1_006)
    assert not history.had_within(3, 3, 1_011, 1_500)
    assert not history.had_within(3, 100, 900, 999)
    assert history.had_within(3, None, 2_020, 2_500)
    assert not history.had_within(3, None, 3_011, 4_000)
    assert not history.had_within(3, 77, 0, 9_000)


def test_rows_that_were_never_there_have_no_version() -> None:
    """Before they come, and where nothing ever was."""
    history = changed()
    assert history.had_within(12, None, 0, 500)
    assert history.had_within(99, None, 0, 500)
    assert not history.had_within(99, 99, 0, 500)
    assert not history.had_within(5, None, 0, 9_000)


def test_a_copy_may_be_late_and_never_goes_back() -> None:
    """Old versions count, those of the future do not, nor any before what was seen already."""
    history = changed()
    assert history.next_had(3, 3, 0, 9_000) == 0
    assert history.next_had(3, None, 0, 9_000) == 2
    assert history.next_had(3, 100, 2, 9_000) is None
    assert history.next_had(3, 101, 0, 2_500) is None
    assert history.next_had(3, 101, 2, 3_000) == 3


def test_the_rows_are_those_of_the_last_transactions() -> None:
    """Changed, new and untouched ones."""
    rows = changed().rows
    assert (rows[3], rows[12], rows[5], len(rows)) == (101, 102, 5, 11)
