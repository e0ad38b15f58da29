"""time(t) and timeLength(t, n) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.columns.order import places_of
from lockstep.windows.time.columns import TimerTimeWindow, TimeWindow
from tests.unit.columns.flows import chunks, moves, setup, shown, step


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
    assert places_of(flow.order)[2] == (250, 5, 0, 0)
    assert flow.now.tolist() == [100, 200, 250, 300, 350]
    assert window.timers(0) == [(450, 0)]


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
    assert window.timers(0) == [(70, 0), (150, 0)]
    again = TimerTimeWindow(setup(), 50)
    again.load_timers(0, [(150, 2), (70, 1)])
    assert again.timers(0) == [(70, 0), (150, 0)]


def test_time_length() -> None:
    """As time(t); the oldest leaves in front of the new one when there are too many."""
    window = TimeWindow(setup(wants_expired=False), 1000, 2)
    assert shown(window.flow(step(chunks([1, 2, 3], [4])))) == [
        ["C1@100", "C2@100", "X1@100", "C3@100"],
        ["X2@200", "C4@200"],
    ]
    timed = TimerTimeWindow(setup(), 150, 2)
    stream = chunks([1], [2], [3])
    assert shown(timed.flow(step(stream, moves(stream, until=460)))) == [
        ["C1@100"],
        ["C2@200"],
        ["X1@250"],
        ["C3@300"],
        ["X2@350"],
        ["X3@450"],
    ]
    assert timed.store(0)[1] is False
