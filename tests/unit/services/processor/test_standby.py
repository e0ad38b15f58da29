"""Who is meant to lead, and who waits."""

from dataclasses import replace

import msgspec

from lockstep.control import GroupStatus, Heartbeat
from lockstep.settings import load_settings
from lockstep_services.processor.replica.standby import (
    Behind,
    Progress,
    candidates,
    defers,
    is_ready,
    nobody_takes,
)


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


def test_who_asks_for_a_hand_over_hears_whether_to_ask_again() -> None:
    """Of a standby that is on its way, yes; where there is none, no."""
    beats = [Heartbeat(node, "processor", "", 0, 1) for node in ("b", "a")]
    others = list(zip(beats, [status("syncing", ready=False)] * 2, strict=True))
    late = "is not ready yet, it is 4 records behind"
    found = nobody_takes(others, None)
    assert (found.message, found.retryable) == (f"'a' {late}; 'b' {late}", True)
    found = nobody_takes(others, "b")
    assert (found.message, found.retryable) == (f"'b' {late}", True)
    failing = msgspec.structs.replace(status("failing", ready=False), trouble="it fails: no room")
    found = nobody_takes([(beats[0], failing)], None)
    assert (found.message, found.retryable) == ("'b' is not ready yet, it fails: no room", True)
    found = nobody_takes(others, "c")
    assert (found.message, found.retryable) == ("'c' is no standby of this app", False)
    found = nobody_takes([], None)
    assert (found.message, found.retryable) == ("there is no standby", False)


def test_a_hot_standby_is_ready_once_it_has_been_at_the_end_it_began_with() -> None:
    """However little that is; later it may be behind by as much as the settings allow."""
    settings = load_settings({"LOCKSTEP_PROCESSOR__READY_LAG_POSITIONS": "100"}).processor
    began_at, goal = 900, 950
    assert not is_ready("hot", Progress(began_at, goal, goal), settings)
    assert not is_ready("hot", Progress(goal - 1, goal + 20, goal), settings)
    assert is_ready("hot", Progress(goal, goal + 100, goal), settings)
    assert not is_ready("hot", Progress(goal, goal + 101, goal), settings)
    assert is_ready("hot", Progress(5_000, 5_000, goal), settings)


def test_a_hot_standby_that_may_hold_back_no_more_is_ready() -> None:
    """It comes no further before somebody publishes: unless others have published more already."""
    settings = load_settings({"LOCKSTEP_PROCESSOR__READY_LAG_MS": "1000"}).processor
    full = Progress(900, 90_000, 80_000, is_full=True)
    assert is_ready("hot", full, settings)
    assert not is_ready("hot", replace(full, is_full=False), settings)
    assert not is_ready("hot", replace(full, behind_ms=1001), settings)


def test_a_warm_standby_is_ready_where_its_revision_is() -> None:
    """It folds nothing before it is promoted."""
    settings = load_settings({"LOCKSTEP_PROCESSOR__WARM_READY_LAG_POSITIONS": "100"}).processor
    assert is_ready("warm", Progress(900, 1_000, 1_000), settings)
    assert not is_ready("warm", Progress(899, 1_000, 1_000), settings)


def test_a_hot_standby_is_not_ready_while_it_is_long_behind_what_is_published() -> None:
    """However few records that is; what is published meanwhile does not count anew."""
    settings = load_settings({"LOCKSTEP_PROCESSOR__READY_LAG_MS": "1000"}).processor
    behind = Behind()
    behind.saw(10, 10, 0)
    assert behind.ms(10, 9_999) == 0
    behind.saw(12, 10, 500)
    behind.saw(20, 11, 1_000)
    assert behind.ms(11, 1_400) == 900
    assert is_ready("hot", Progress(11, 21, 0, behind.ms(11, 1_500)), settings)
    assert not is_ready("hot", Progress(11, 21, 0, behind.ms(11, 1_501)), settings)
    assert behind.ms(12, 1_501) == 0
    behind.saw(30, 12, 1_600)
    assert behind.ms(12, 1_700) == 100
