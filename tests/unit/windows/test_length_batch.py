"""lengthBatch(n [, true]) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.windows.length_batch.columns import LengthBatchWindow, PassingLengthBatch
from tests.unit.columns.flows import chunks, keyed, longs, setup, shown, step


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


def test_events_that_pass_leave_together() -> None:
    """In front of the event behind a full batch, in the chunk of that event."""
    window = PassingLengthBatch(setup(), 2)
    assert shown(window.flow(step(chunks([1, 2, 3], [4, 5])))) == [
        ["C1@100", "C2@100", "X1@100", "X2@100", "R", "C3@100"],
        ["C4@200", "X3@200", "X4@200", "R", "C5@200"],
    ]
    window.settle()
    assert len(window.held) == 1
    assert shown(window.flow(step(chunks([6, 7], at=[300])))) == [
        ["C6@300", "X5@300", "X6@300", "R", "C7@300"]
    ]


def test_each_realm_passes_its_own_batches() -> None:
    """Where nobody wants what leaves the mark alone is there."""
    window = PassingLengthBatch(setup(wants_expired=False, keyed=True), 1)
    stream = keyed(chunks([1], [2], [3]), 1, 0, 1)
    assert shown(window.flow(step(stream))) == [["C1@100"], ["C2@200"], ["R", "C3@300"]]


def test_of_batches_of_nothing_each_event_leaves_at_once() -> None:
    """And nothing is held."""
    window = PassingLengthBatch(setup(), 0)
    assert shown(window.flow(step(chunks([1, 2])))) == [
        ["C1@100", "X1@100", "R", "C2@100", "X2@100", "R"]
    ]
    window.settle()
    assert len(window.held) == 0
    assert window.store(0) is None


def test_what_passed_is_stored() -> None:
    """It leaves with what comes behind the restoring."""
    window, other = PassingLengthBatch(setup(), 2), PassingLengthBatch(setup(), 2)
    window.flow(step(chunks([1])))
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    assert shown(other.flow(step(chunks([2, 3], at=[200])))) == [
        ["C2@200", "X1@200", "X2@200", "R", "C3@200"]
    ]
