"""Windows on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.columns.order import places_of
from lockstep.windows.hopping.columns import HoppingWindow
from lockstep.windows.length.columns import LengthWindow
from lockstep.windows.length_batch.columns import LengthBatchWindow
from lockstep.windows.session.columns import SessionWindow
from lockstep.windows.time.columns import TimerTimeWindow, TimeWindow
from lockstep.windows.time_batch.columns import TimeBatchWindow
from tests.unit.columns.flows import chunks, keyed, longs, moves, setup, shown, step


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
    assert places_of(flow.order) == [(200, 5, 0, 0), (300, 5, 0, 0)]
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


def test_hopping() -> None:
    """At each hop the events of the last t; what waits longer than a hop comes twice."""
    window = HoppingWindow(setup(), 200, 100)
    stream = chunks([1], [2], at=[100, 250])
    flow = window.flow(step(stream, moves(stream, until=1000)))
    assert shown(flow) == [
        ["R", "C1@100"],
        ["X1@300", "R", "C1@100", "C2@250"],
        ["X1@400", "X2@400", "R", "C2@250"],
        ["X2@500", "R"],
    ]
    window.settle()
    assert len(window.held) == 0
    assert window.due_ms() is None


def test_sessions_end_by_a_timer_with_their_own_times() -> None:
    """In one chunk, when nothing came for the gap; an event that ends the old one stands behind."""
    window = SessionWindow(setup(), 150)
    stream = chunks([1], [2], [3], at=[100, 200, 500])
    flow = window.flow(step(stream, moves(stream)))
    assert shown(flow) == [["C1@100"], ["C2@200"], ["X1@100", "X2@200"], ["C3@500"]]
    assert flow.now.tolist() == [100, 200, 350, 500]
    assert window.timers(0) == [(650, 0)]
    window.settle()
    later = step(chunks([4], at=[700], first_moment=9), moves(chunks([4], at=[700]), leaps=True))
    assert shown(window.flow(later))[0] == ["X3@500"]


def test_late_events_join_a_session_in_front_or_are_dropped() -> None:
    """Not more than the gap before its start; what is too late leaves no row behind."""
    window = SessionWindow(setup(), 100)
    stream = chunks([1, 2, 3], at=[500])
    stream.times[:] = [500, 450, 200]
    assert shown(window.flow(step(stream))) == [["C1@500", "C2@450"]]
    window.settle()
    assert len(window.held) == 2
    stream = chunks([4], at=[900])
    assert shown(window.flow(step(stream, moves(stream))))[0] == ["X2@450", "X1@500"]
