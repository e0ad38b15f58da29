"""session(gap) on columns: what enters, what leaves, in which chunk and when."""

from __future__ import annotations

from lockstep.windows.session.columns import SessionWindow
from tests.unit.columns.flows import chunks, moves, setup, shown, step


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
