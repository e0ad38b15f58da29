"""Windows on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.execute.columnar.order import places_of
from lockstep.execute.columnar.windows.length import LengthWindow
from lockstep.execute.columnar.windows.length_batch import LengthBatchWindow
from lockstep.execute.columnar.windows.time import TimerTimeWindow, TimeWindow
from lockstep.execute.columnar.windows.time_batch import TimeBatchWindow
from tests.unit.execute.columnar.flows import chunks, longs, moves, setup, shown, step


def test_length() -> None:
    """The oldest leaves in front of the new one, at the clock; from slice to slice."""
    window = LengthWindow(setup(), 2)
    assert shown(window.flow(step(chunks([1], [2, 3])))) == [
        ["C1@100"],
        ["C2@200", "X1@200", "C3@200"],
    ]
    window.settle()
    assert shown(window.flow(step(chunks([4], at=[300])))) == [["X2@300", "C4@300"]]
    assert len(window.inside(0)) == 2


def test_time() -> None:
    """What is out by the clock leaves in front of an event, or when the slice is over."""
    window = TimeWindow(setup(wants_expired=False), 150)
    stream = chunks([1], [2], [3])
    flow = shown(window.flow(step(stream, moves(stream, until=360))))
    assert flow[:3] == [["C1@100"], ["C2@200"], ["X1@300", "C3@300"]]
    assert flow[3:] == [["X2@360"]]
    assert window.due_ms() == 450


def test_time_whose_timers_are_seen() -> None:
    """A chunk per timer, at the moment of the clock's move, below its due time and owner."""
    window = TimerTimeWindow(setup(), 150)
    stream = chunks([1], [2], [3])
    flow = window.flow(step(stream, moves(stream, until=360)))
    assert shown(flow) == [["C1@100"], ["C2@200"], ["X1@250"], ["C3@300"], ["X2@350"]]
    assert flow.order.moments.tolist() == [1, 3, 4, 5, 6]
    assert places_of(flow.order)[2] == (250, 5, 0)
    assert flow.now.tolist() == [100, 200, 250, 300, 350]
    assert window.timers(0) == [450]


def test_timers_in_playback_look_at_the_clock_that_leapt() -> None:
    """Everything that is out by then leaves with the first of them."""
    window = TimerTimeWindow(setup(), 50)
    stream = chunks([1, 2], [3], at=[100, 500])
    flow = window.flow(step(stream, moves(stream, leaps=True)))
    assert shown(flow) == [["C1@100", "C2@100"], ["X1@500", "X2@500"], ["C3@500"]]


def test_a_late_event_leaves_its_timer_behind() -> None:
    """It is gone with the next event of its chunk, but the timer that it asked for waits still."""
    window = TimerTimeWindow(setup(), 50)
    stream = chunks([1, 2], at=[100])
    stream.times[0] = 20
    window.flow(step(stream))
    assert window.timers(0) == [70, 150]
    again = TimerTimeWindow(setup(), 50)
    again.load_timers([150, 70])
    assert again.timers(0) == [70, 150]


def test_length_batch() -> None:
    """Full batches leave with the one before, across chunks and slices."""
    window = LengthBatchWindow(setup(), 2)
    assert shown(window.flow(step(chunks([1, 2, 3], [4])))) == [
        ["R", "C1@100", "C2@100"],
        ["X1@200", "X2@200", "R", "C3@100", "C4@200"],
    ]
    window.settle()
    assert shown(window.flow(step(chunks([5], at=[300])))) == []


def test_time_batch() -> None:
    """A batch per boundary, while there is something to emit at it."""
    window = TimeBatchWindow(setup(), 100, None)
    stream = chunks([1], [2], at=[100, 150])
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [["R", "C1@100", "C2@150"], ["X1@300", "X2@300", "R"]]
    assert flow.now.tolist() == [200, 300]
    assert places_of(flow.order) == [(200, 5, 0), (300, 5, 0)]
    assert window.due_ms() is None


def test_what_a_window_stores_it_takes_back() -> None:
    """In the reference's form, with what still waits."""
    window = LengthBatchWindow(setup(), 2)
    window.flow(step(chunks([1, 2, 3])))
    other = LengthBatchWindow(setup(), 2)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    assert shown(other.flow(step(chunks([4], at=[200])))) == [
        ["X1@200", "X2@200", "R", "C3@100", "C4@200"]
    ]
