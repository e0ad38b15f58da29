"""Rows of tumbling windows: what is collected, and the last batch."""

from __future__ import annotations

from typing import Any

from lockstep.columns.column import Longs
from lockstep.windows.batches import grown_lines
from lockstep.windows.length_batch.columns import LengthBatchWindow
from tests.unit.columns.flows import chunks, keyed, longs, setup, shown, step


def values(window: LengthBatchWindow, places: Longs) -> list[Any]:
    """The rows at these places."""
    return window.held.columns(places)[0].to_pylist()


def test_each_realm_collects_and_keeps_its_last_batch() -> None:
    """Aggregates hold the last batch; both are kept."""
    window = LengthBatchWindow(setup(keyed=True), 2)
    window.flow(step(keyed(chunks([1, 2, 3], [4]), 1, 0)))
    assert values(window, window.inside(1)) == [1, 2]
    assert values(window, window.waiting(1)) == [3]
    assert values(window, window.keeps(0)) == [4]
    assert values(window, window.inside(0)) == []


def test_where_nobody_wants_what_leaves_only_the_mark_comes() -> None:
    """The last batch is kept, for the snapshot; the one before it is not."""
    window = LengthBatchWindow(setup(wants_expired=False), 2)
    assert shown(window.flow(step(chunks([1, 2, 3])))) == [["R", "C1@100", "C2@100"]]
    window.settle()
    assert shown(window.flow(step(chunks([4], at=[200])))) == [["R", "C3@100", "C4@200"]]
    window.settle()
    assert values(window, window.keeps(0)) == [3, 4]
    assert len(window.held) == 2


def test_tables_grow_and_keep_their_lines() -> None:
    """At least twice as many; new lines hold what is asked for."""
    table = longs(1, 2).reshape(1, 2)
    assert grown_lines(table, 1) is table
    grown = grown_lines(table, 2, -1)
    assert grown.tolist() == [[1, 2], [-1, -1]]
