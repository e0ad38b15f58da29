"""timeBatch(t [, true]) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.columns.order import places_of
from lockstep.windows.time_batch.columns import PassingTimeBatch, TimeBatchWindow
from tests.unit.columns.flows import chunks, keyed, longs, moves, setup, shown, step


def test_time_batch() -> None:
    """A batch per boundary, while there is something to emit at it."""
    window = TimeBatchWindow(setup(), 100, None)
    stream = chunks([1], [2], at=[100, 150])
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [["R", "C1@100", "C2@150"], ["X1@300", "X2@300", "R"]]
    assert flow.now.tolist() == [200, 300]
    assert places_of(flow.order) == [(200, 5, 0, 0), (300, 5, 0, 0)]
    assert window.due_ms() is None


def test_each_realm_has_its_own_batches() -> None:
    """They close by timers in the order in which the realms asked for them."""
    stream = keyed(chunks([1], [2], [3], at=[100, 100, 150]), 1, 0, 1)
    window = TimeBatchWindow(setup(keyed=True), 100, None)
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [
        ["R", "C1@100", "C3@150"],
        ["R", "C2@100"],
        *[["X1@300", "X3@300", "R"], ["X2@300", "R"]],
    ]
    assert flow.keys is not None
    assert flow.keys.tolist() == [1, 0, 1, 0]
    assert places_of(flow.order)[:2] == [(200, 5, 0, 0), (200, 5, 1, 0)]


def test_events_that_pass_leave_at_the_boundary() -> None:
    """The timer runs while something is inside."""
    window = PassingTimeBatch(setup(), 100, None)
    stream = chunks([1], [2], [3], at=[100, 150, 450])
    flow = window.flow(step(stream, moves(stream, until=460)))
    assert shown(flow) == [["C1@100"], ["C2@150"], ["X1@200", "X2@200", "R"], ["C3@450"]]
    assert flow.now.tolist() == [100, 150, 200, 450]
    assert window.due_ms() == 500


def test_what_passed_leaves_at_its_boundary_after_a_restoring() -> None:
    """With the timer that waits for it."""
    window = PassingTimeBatch(setup(), 100, 30)
    stream = chunks([1], at=[100])
    window.flow(step(stream, moves(stream)))
    other = PassingTimeBatch(setup(), 100, 30)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    other.load_timers(0, window.timers(0))
    stream = chunks([2], at=[200])
    flow = other.flow(step(stream, moves(stream, before=100)))
    assert shown(flow) == [["X1@130", "R"], ["C2@200"]]
    assert other.due_ms() == 230
