"""Passing: the door's times and traces of what waits to be published."""

from __future__ import annotations

from lockstep_services.processor.replica.passing import MOST_SLICES, Passage, Passing


def test_tells_the_oldest_time_and_all_traces() -> None:
    """Of several slices that are published together."""
    passing = Passing()
    passing.folded(3, Passage(100, ("a",)))
    passing.folded(5, Passage(120, ("b",)))
    passing.folded(9, Passage(140))
    assert passing.published(6) == Passage(100, ("a", "b"))
    assert passing.published(9) == Passage(140)
    assert passing.published(9) == Passage()


def test_a_part_of_a_slice_bears_its_time() -> None:
    """The trace goes with the end of the slice alone."""
    passing = Passing()
    passing.folded(5, Passage(100, ("a",)))
    assert passing.published(4) == Passage(100)
    assert passing.published(5) == Passage(100, ("a",))


def test_holds_so_many_and_no_more() -> None:
    """Who is never published forgets the oldest."""
    passing = Passing()
    for position in range(1, MOST_SLICES + 3):
        passing.folded(position, Passage(position))
    assert passing.published(MOST_SLICES + 2) == Passage(3)
