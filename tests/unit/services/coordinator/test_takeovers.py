"""What is noted of who took a lead from whom, as heartbeats come in any order, or not at all."""

from __future__ import annotations

from typing import Any

from lockstep.control import GroupStatus, Heartbeat
from lockstep.store import Failover
from lockstep_services.coordinator.takeovers import (
    BEGAN_ANEW,
    CARRIES_NO_MORE,
    GOES_ON,
    NOBODY_LISTENED,
    SILENT,
    STOPPED,
    Takeovers,
    news,
)

SETTLE_MS = 4_000
WALL_MS = 1_000_000
"""The wall clock is ahead of the monotonic one by so much; senders' clocks are elsewhere still."""
SENDER_MS = 77_000_000


class Hall:
    """Processors speak, at times of the listener's monotonic clock."""

    def __init__(self) -> None:
        self.takeovers = Takeovers(settle_ms=SETTLE_MS, max_waiting=3)

    def says(
        self, at_ms: int, node: str, *groups: GroupStatus, process: str = "", draining: bool = False
    ) -> None:
        """One heartbeat."""
        beat = Heartbeat(
            node, "processor", "", SENDER_MS + at_ms, 1_000,
            draining=draining, groups=groups, incarnation=process or f"process of {node}",
        )  # fmt: skip
        self.takeovers.hear(beat, WALL_MS + at_ms, at_ms)

    def known(self, at_ms: int) -> list[Failover]:
        """What is known by then, with a leader before."""
        self.takeovers.settle(at_ms)
        found = [one for one in self.takeovers.waiting if one.from_node]
        self.takeovers.noted(len(self.takeovers.waiting))
        return found


def leads(epoch: int, since_ms: int = 0, **other: Any) -> GroupStatus:
    """A replica that leads since then."""
    turned_ms = SENDER_MS + since_ms if since_ms else 0
    return _status("active", epoch, turned_ms=turned_ms, **other)


def stands_by(epoch: int = 0, since_ms: int = 0, **other: Any) -> GroupStatus:
    """One that does not, since then."""
    turned_ms = SENDER_MS + since_ms if since_ms else 0
    return _status("passive", epoch, turned_ms=turned_ms, **other)


def _status(
    role: str, epoch: int, *, app: str = "x", deployed_ms: int = 5, **more: Any
) -> GroupStatus:
    return GroupStatus(app, "main", 0, "v", deployed_ms, role, 0, 0, epoch=epoch, **more)


def told(one: Failover) -> tuple[Any, ...]:
    """What matters of it."""
    return one.from_node, one.to_node, one.epoch, one.planned, one.why, one.gap_ms


def test_a_hand_over_is_planned_and_its_gap_is_exact() -> None:
    """The old leader says when it ceased, the new one when it began, each by its own clock."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    gave = stands_by(1, 1_500, ended="handed over to b", ended_planned=True)
    hall.says(1_530, "a", gave)
    hall.says(1_700, "b", leads(2, 1_620))
    (found,) = hall.known(1_700)
    assert told(found) == ("a", "b", 2, True, "handed over to b", 120)
    assert found.at_ms == WALL_MS + 1_620


def test_the_word_of_the_old_leader_may_come_second() -> None:
    """The takeover waits for it, but not for ever."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(1_700, "b", leads(2, 1_620))
    assert hall.known(1_700) == []
    gave = stands_by(1, 1_500, ended="handed over to b", ended_planned=True)
    hall.says(1_800, "a", gave)
    (found,) = hall.known(1_800)
    assert told(found) == ("a", "b", 2, True, "handed over to b", 120)


def test_a_leader_that_is_killed_is_missed() -> None:
    """Nobody led since it was last heard, at most; it was not planned."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(2_000, "a", leads(1, 900))
    hall.says(2_900, "b", leads(2, 2_850))
    assert hall.known(2_900) == []
    (found,) = hall.known(2_850 + SETTLE_MS)
    assert told(found) == ("a", "b", 2, False, SILENT, 850)


def test_a_process_that_began_anew_had_died() -> None:
    """It leads again, or another does: both were not planned."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(4_000, "a", leads(2), process="a's next")
    (found,) = hall.known(4_000)
    assert told(found) == ("a", "a", 2, False, BEGAN_ANEW, 3_000)
    hall.says(5_000, "a", stands_by(), process="a's third")
    hall.says(6_000, "b", leads(3))
    (found,) = hall.known(6_000)
    assert told(found) == ("a", "b", 3, False, BEGAN_ANEW, 2_000)


def test_a_further_term_of_the_same_process_is_noted() -> None:
    """It lost the lead for a moment; nobody says whether that was wanted."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(1_400, "a", leads(2))
    (found,) = hall.known(1_400)
    assert told(found) == ("a", "a", 2, None, GOES_ON, 400)


def test_who_stops_or_carries_it_no_more() -> None:
    """A process that drains meant it; one that merely dropped the unit says nothing."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(1_500, "a", draining=True)
    hall.says(2_000, "b", leads(2))
    (found,) = hall.known(2_000)
    assert told(found) == ("a", "b", 2, True, STOPPED, 500)
    hall.says(3_000, "b")
    hall.says(3_100, "c", leads(3))
    (found,) = hall.known(3_100)
    assert told(found) == ("b", "c", 3, None, CARRIES_NO_MORE, 100)


def test_a_deposed_leader_that_still_believes_in_itself_changes_nothing() -> None:
    """The later epoch leads; what the earlier one says afterwards is its end."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(9_000, "b", leads(2))
    hall.says(9_100, "a", leads(1))
    ended = stands_by(1, 9_200, ended="epoch 2 has claimed the log")
    hall.says(9_200, "a", ended)
    (found,) = hall.known(9_200)
    assert told(found) == ("a", "b", 2, False, "epoch 2 has claimed the log", 0)
    hall.says(9_300, "b", leads(2))
    assert hall.known(20_000) == []


def test_what_the_leader_ended_earlier_is_not_its_end_now() -> None:
    """Who led two terms ago and leads again is not taken for a standby by its old words."""
    hall = Hall()
    hall.says(1_000, "a", leads(1))
    hall.says(2_000, "b", leads(2))
    hall.says(2_100, "a", stands_by(1, 1_900, ended="handed over to b", ended_planned=True))
    assert [told(one)[:4] for one in hall.known(2_100)] == [("a", "b", 2, True)]
    hall.says(3_000, "a", leads(3, 2_950))
    hall.says(3_010, "b", stands_by(2, 2_900, ended="handed over to a", ended_planned=True))
    assert [told(one) for one in hall.known(3_010)] == [("b", "a", 3, True, "handed over to a", 50)]


def test_an_app_that_was_purged_and_deployed_anew_has_a_first_leader() -> None:
    """Epochs begin again; nobody took the lead from the leader of another app."""
    hall = Hall()
    hall.says(1_000, "a", leads(7))
    hall.says(2_000, "b", leads(1, deployed_ms=6))
    hall.takeovers.settle(2_000)
    assert [one.from_node for one in hall.takeovers.waiting] == ["", ""]


def test_what_nobody_takes_is_bounded() -> None:
    """The oldest go, and it is said how many."""
    hall = Hall()
    for epoch in range(1, 7):
        hall.says(1_000 * epoch, "a", leads(epoch))
    assert hall.takeovers.settle(9_000) == 3
    assert [one.epoch for one in hall.takeovers.waiting] == [4, 5, 6]


def test_units_of_apps_that_are_gone_are_forgotten() -> None:
    """But not of one that is still led: the list of apps may be a moment old."""
    hall = Hall()
    hall.says(1_000, "a", leads(1), leads(1, app="y"))
    hall.says(1_500, "a", leads(1, app="y"))
    hall.takeovers.forget(["z"])
    hall.says(2_000, "b", leads(2), leads(2, app="y"))
    assert [one.app for one in hall.known(99_000)] == ["y"]


def test_a_coordinator_that_began_lately_learns_who_led_from_the_store() -> None:
    """What others noted is no news; what they missed is told as far as it is known."""
    first = Failover("x", "main", 0, 5, 2, 70, "", "b")
    known = Failover("x", "main", 0, 5, 1, 10, "", "a")
    assert news([first], {}) == [first]
    assert news([first], {known.unit: known}) == [
        Failover("x", "main", 0, 5, 2, 70, "a", "b", None, NOBODY_LISTENED)
    ]
    assert news([first], {first.unit: first}) == []
    other = Failover("x", "main", 0, 4, 9, 10, "", "a")
    assert news([first], {other.unit: other}) == [first]
