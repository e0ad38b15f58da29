"""What is said of an app as a whole."""

from __future__ import annotations

import pytest

from lockstep.control import GroupStatus, Heartbeat
from lockstep_services.coordinator.status import Replica, summary
from tests.fleets import fleet_view

VIEW = fleet_view({"one": 2, "two": 1}, layout=3)
UNITS = [one.key for one in VIEW.units]
FIRST, SECOND, THIRD = (("one~3", 0), ("one~3", 1), ("two~3", 0))


def said(*led: tuple[str, int], carried: tuple[tuple[str, int], ...]) -> list[Replica]:
    """By a processor about what it carries, some of which it leads."""
    beat = Heartbeat("processor-1", "processor", "", 0, 1_000)
    return [
        (
            beat,
            GroupStatus(VIEW.name, *place, "v", 1, "active" if place in led else "passive", 0, 0),
        )
        for place in carried
    ]


@pytest.mark.parametrize(
    ("led", "expected"),
    [((), "passive"), ((FIRST, THIRD), "passive"), ((FIRST, SECOND, THIRD), "active")],
)
def test_a_fleet_is_active_when_somebody_leads_each_unit(
    led: tuple[tuple[str, int], ...], expected: str
) -> None:
    """One of them without a leader holds up those behind it."""
    assert summary(VIEW.deployment, UNITS, said(*led, carried=(FIRST, SECOND, THIRD))) == expected


def test_units_of_another_layout_do_not_count() -> None:
    """They go on until those of the present one have begun."""
    former = (("one~2", 0), ("one~2", 1), ("two~2", 0))
    assert summary(VIEW.deployment, UNITS, said(*former, carried=former)) == "inactive"
