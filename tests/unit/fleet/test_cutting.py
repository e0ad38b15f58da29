"""A unit's own of a record: whole, in part, or the moves of the clock alone."""

from __future__ import annotations

import numpy as np
import pytest

from lockstep.events import TickRecord, WriteRecord
from lockstep.fleet import units_of
from lockstep.fleet.asking import Asking, asking_of
from lockstep.fleet.cutting import Cut, Cutter
from lockstep.fleet.keys import key_group_of
from lockstep.fleet.units import Unit
from lockstep.plan.fleet import Together
from tests.unit.fleet.fleets import fleet, record, unit

A, B, C = "1", "0", "5"
"""Of two partitions the first has A and C, the other B."""

PLAYED = "@app:playback\n"


def asking(one: Unit) -> Asking:
    """How all units of its fleet are asked."""
    return asking_of(units_of(one.plan.fleet))


def cut(one: Unit, *chunks: object) -> Cut:
    """The unit's own of a record of these chunks."""
    return Cutter(one, asking(one)).cut(1, record(*chunks))  # type: ignore[arg-type]


def own(found: Cut) -> list[list[int]]:
    """The numbers of the events of each delivery."""
    if found.events is None:
        return []
    return [[event.data[1] for event in chunk] for chunk in found.events.to_record().chunks]


def of(keys: str, at: int = 1) -> list[tuple[str | None, int]]:
    """A chunk; a dot stands for null."""
    return [(None if key == "." else key, at) for key in keys]


def test_the_keys_are_where_the_tests_believe() -> None:
    """A and C in the first half of the key groups."""
    assert [key_group_of(key) < 64 for key in (A, B, C)] == [True, False, True]


def test_a_chunk_is_cut_into_runs() -> None:
    """Events that another partition's stand between are two deliveries; null stands between
    nobody."""
    found = cut(unit(0, 2), of("10.1.5"), of("1"))
    assert own(found) == [[0], [3, 5], [6]]
    assert found.moments.tolist() == [1, 7, 13]
    assert own(cut(unit(1, 2), of("10.1.5"), of("1"))) == [[1]]


def test_all_events_of_a_key_together() -> None:
    """As `group by` has them: each key in the place of its first event."""
    found = cut(unit(0, 2, together=Together.KEYS), of("51015"), of("1"))
    assert own(found) == [[0, 4], [1, 3], [5]]
    assert found.moments.tolist() == [1, 3, 11]


def test_what_does_not_count_is_not_there() -> None:
    """Neither delivered nor between neighbours."""
    assert own(cut(unit(0, 2, where="0"), of("101"))) == [[0, 2]]


def test_a_record_that_is_all_its_own_stays_as_it_is() -> None:
    """And nothing is copied."""
    found = cut(unit(0, 2), of("15"), of("1"))
    assert found.whole is found.events is found.record
    assert found.moments.tolist() == [1, 5]


def test_nothing_of_it() -> None:
    """Live apps need the clock alone, playback apps every move of it."""
    found = cut(unit(1, 2), of("1", 5), of("15", 3))
    assert (found.events, found.moves, found.clock_ms) == (None, None, 100)
    found = cut(unit(1, 2, head=PLAYED), of("1", 5), of("15", 3), of("1", 9))
    assert found.events is None
    assert found.moves is not None
    assert found.moves.moments(np.arange(3)).tolist() == [0, 2, 6]
    assert found.moves.clocks.tolist() == [5, 5, 9]


@pytest.mark.parametrize(
    ("text", "number"), [("select 'a' as k, 1L as n insert into T", 1), ("nonsense", 0)]
)
def test_a_write_goes_to_one_group(text: str, number: int) -> None:
    """To the first that understands it, else to the first, which says what is wrong."""
    units = units_of(fleet(1))
    for one in units:
        found = Cutter(one, asking(one)).cut(1, WriteRecord(text, "id", 7))
        assert (found.whole is not None) == (one.number == number)


def test_a_tick_is_for_everybody() -> None:
    """As it is."""
    one = unit(0, 2)
    assert Cutter(one, asking(one)).cut(1, TickRecord(9)).whole == TickRecord(9)
