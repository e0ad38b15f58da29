"""When a server of the cluster is left for another one."""

from __future__ import annotations

from lockstep.bus.nats.serving import LEAVE_AFTER_S, LEAVE_AGAIN_AFTER_S, Serving


def test_a_server_is_left_once_nothing_has_gone_well_for_a_while() -> None:
    """Counted from when the first thing that failed was asked."""
    serving = Serving()
    serving.arrived(100.0)
    assert not serving.should_leave(100.5, 100.5 + LEAVE_AFTER_S / 2)
    assert serving.should_leave(101.9, 100.5 + LEAVE_AFTER_S)


def test_what_goes_well_begins_the_count_anew() -> None:
    """One good answer, and the server has its time again."""
    serving = Serving()
    serving.arrived(0.0)
    assert not serving.should_leave(1.0, 1.1)
    serving.served()
    assert not serving.should_leave(2.0, 1.0 + LEAVE_AFTER_S)
    assert serving.should_leave(2.1, 2.0 + LEAVE_AFTER_S)


def test_what_another_server_left_undone_does_not_count() -> None:
    """It was asked before we came."""
    serving = Serving()
    serving.arrived(10.0)
    assert not serving.should_leave(9.9, 60.0)
    assert not serving.should_leave(60.0, 60.1)


def test_servers_are_not_left_one_after_another() -> None:
    """All may be waiting for a leader; later it may be tried again."""
    serving = Serving()
    serving.arrived(0.0)
    assert serving.should_leave(0.0, LEAVE_AFTER_S)
    serving.arrived(2.0)
    assert not serving.should_leave(2.0, LEAVE_AFTER_S + LEAVE_AGAIN_AFTER_S - 0.1)
    assert serving.should_leave(3.0, LEAVE_AFTER_S + LEAVE_AGAIN_AFTER_S)
