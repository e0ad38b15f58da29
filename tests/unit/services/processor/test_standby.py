"""Who is meant to lead, and who waits."""

from lockstep.frame import GroupStatus, Heartbeat
from services.processor.standby import candidates, defers


def status(role: str, *, ready: bool, standby: str = "hot") -> GroupStatus:
    """Another replica's."""
    return GroupStatus("A", "main", 0, "v", 0, role, 5, 9, ready=ready, standby=standby)


def test_one_that_is_not_ready_waits_for_one_that_is() -> None:
    """While one lives, for as long as it may take to get the lead; a leader is no standby."""
    ready, syncing = status("passive", ready=True), status("syncing", ready=False)
    assert defers([syncing, ready], leaderless_ms=10, patience_ms=10)
    assert not defers([syncing, ready], leaderless_ms=11, patience_ms=10)
    assert not defers([syncing], leaderless_ms=0, patience_ms=10)
    assert not defers([status("active", ready=True)], leaderless_ms=0, patience_ms=10)


def test_a_lead_is_handed_to_a_hot_standby_before_a_warm_one() -> None:
    """Ready ones alone, by name among equals."""
    beats = [Heartbeat(node, "processor", "", 0, 1) for node in ("a", "b", "c", "d")]
    groups = [
        status("backup", ready=True, standby="warm"),
        status("active", ready=True),
        status("passive", ready=True),
        status("syncing", ready=False),
    ]
    assert candidates(list(zip(beats, groups, strict=True))) == ["c", "a"]
