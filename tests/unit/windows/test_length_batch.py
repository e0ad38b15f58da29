"""lengthBatch(n) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.windows.length_batch.columns import LengthBatchWindow
from tests.unit.columns.flows import chunks, longs, setup, shown, step


def test_length_batch() -> None:
    """Full batches leave with the one before, across chunks and slices."""
    window = LengthBatchWindow(setup(), 2)
    assert shown(window.flow(step(chunks([1, 2, 3], [4])))) == [
        ["R", "C1@100", "C2@100"],
        ["X1@200", "X2@200", "R", "C3@100", "C4@200"],
    ]
    window.settle()
    assert shown(window.flow(step(chunks([5], at=[300])))) == []


def test_what_a_window_stores_it_takes_back() -> None:
    """In the reference's form, with what still waits."""
    window = LengthBatchWindow(setup(), 2)
    window.flow(step(chunks([1, 2, 3])))
    other = LengthBatchWindow(setup(), 2)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    assert shown(other.flow(step(chunks([4], at=[200])))) == [
        ["X1@200", "X2@200", "R", "C3@100", "C4@200"]
    ]
