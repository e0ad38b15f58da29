"""Which input positions a coordinator has set aside: a pure decision from heartbeats."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from lockstep.control import GroupStatus
from lockstep.events import Life
from lockstep.store import Deployment, Exclusion, Origin
from lockstep_services.coordinator.excluding import Blocked, undecided

WANTED = Deployment("A", "text", "v", Life(100, 3), 2, 0)
BLOCKED = GroupStatus(
    "A", "main@1", 0, "v", 100, "active", position=11, log_end=20, generation=3, unfoldable=12
)  # fmt: skip


def excluding(number: int, position: int = 12) -> Deployment:
    """What is wanted once the position was set aside."""
    life = Life(100, number)
    origin = Origin().excluding(Exclusion("main@1", 0, position, life))
    return replace(WANTED, life=life, origin=origin)


def test_what_a_leading_replica_cannot_fold_is_decided_once() -> None:
    """Until its state begins anew; of other units and positions nothing is decided by that."""
    one = Blocked("A", "main@1", 0, 12)
    assert undecided([WANTED], [BLOCKED, BLOCKED]) == [one]
    assert undecided([excluding(4)], [BLOCKED]) == []
    assert undecided([excluding(4, position=9)], [BLOCKED]) == [one]
    assert undecided([excluding(3)], [BLOCKED]) == [one]
    other = replace(one, partition=1)
    assert undecided([excluding(4)], [replace_status(BLOCKED, partition=1)]) == [other]


def test_who_does_not_lead_decides_nothing() -> None:
    """A standby waits for the leader; an app that is not deployed any more needs nothing."""
    assert undecided([WANTED], [replace_status(BLOCKED, role="passive")]) == []
    assert undecided([WANTED], [replace_status(BLOCKED, unfoldable=0)]) == []
    assert undecided([], [BLOCKED]) == []
    assert undecided([replace(WANTED, life=Life(200, 1))], [BLOCKED]) == []


def replace_status(status: GroupStatus, **changes: object) -> GroupStatus:
    """With other fields."""
    return structs.replace(status, **changes)
