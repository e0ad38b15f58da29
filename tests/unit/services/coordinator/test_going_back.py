"""Of which revision an app's state at a position is, and which record is behind a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
from hypothesis import given

from lockstep.events import Generation, Life, TickRecord
from lockstep.events.codec import EncodedEntry, encode_columns, encode_record
from lockstep.events.columns import EventColumns
from lockstep.history.going_back import clock_of, first_later
from lockstep.store import Revision, beginnings, needed, revision_id
from lockstep_services.coordinator.going_back import state_at

DEPLOYED_MS = 100


def revision(life: int, position: int, created_ms: int, *, verified: bool = True) -> Revision:
    """One of a life, at a position, stored at a time."""
    name = f"A.{DEPLOYED_MS}.{life}.{position}.{created_ms}"  # an earlier release's
    return Revision(name, "A", "main", 0, f"v{life}", position, created_ms, 1, verified, 1)


def begun(life: int, position: int) -> Generation:
    """What the output log says."""
    return Generation(Life(DEPLOYED_MS, life), position)


def found(
    there: Sequence[Revision], now: Generation | None, position: int, to_ms: int | None
) -> tuple[int, int] | None:
    """Life and position of the state."""
    one = state_at(there, now, position, to_ms)
    return None if one is None else (one.life.number, one.position)


def test_it_is_the_newest_one_in_front_of_the_position_that_was_verified() -> None:
    """What comes behind it is folded."""
    there = [revision(1, 0, 1), revision(1, 5, 50), revision(1, 7, 70, verified=False),
             revision(1, 9, 90)]  # fmt: skip
    assert found(there, begun(1, 0), 8, 80) == (1, 5)
    assert found(there, None, 9, 80) == (1, 9)
    assert found(there[1:], begun(1, 0), 4, 40) is None


def test_a_later_life_holds_from_its_beginning_on() -> None:
    """An earlier life's late revision, and one of a life that never began, are no state of then."""
    there = [revision(1, 3, 30), revision(1, 12, 121), revision(2, 10, 100), revision(3, 11, 115)]
    assert found(there, begun(2, 10), 12, 120) == (2, 10)
    assert found(there, begun(2, 10), 9, 90) == (1, 3)
    assert found([revision(2, 6, 60), *there], begun(2, 10), 9, 90) == (1, 3)


def test_where_a_life_began_at_that_very_position_the_time_decides() -> None:
    """Nothing came in between the time and the upgrade, or the restore: the state of before."""
    there = [revision(1, 3, 30), revision(2, 10, 100), revision(3, 20, 200)]
    assert found(there, begun(3, 20), 10, 99) == (1, 3)
    assert found(there, begun(3, 20), 10, 100) == (2, 10)
    assert found(there, begun(3, 20), 20, 199) == (2, 10)
    assert found(there, begun(3, 20), 20, None) == (3, 20)


def test_before_the_app_was_there_it_had_no_state() -> None:
    """And then it had an empty one."""
    there = [revision(1, 0, 100)]
    assert found(there, begun(1, 0), 0, 99) is None
    assert found(there, begun(1, 0), 0, 100) == (1, 0)


@given(
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=12),
    dropped=st.sets(st.integers(0, 12)),
    position=st.integers(0, 40),
)
def test_no_deletion_makes_a_time_one_of_another_life(
    steps: list[tuple[bool, int]], dropped: set[int], position: int
) -> None:
    """What people may delete leaves the life of a time known, or no state of it."""
    there, life, at, now = [revision(1, 0, 0)], 1, 0, begun(1, 0)
    for goes_over, ahead in steps:
        at += ahead
        if goes_over:
            life += 1
            now = begun(life, at)
        there.append(revision(life, at, 10 * at + len(there)))
    stays = {one.id for one in (*needed(there), *beginnings(there))}
    kept = [one for i, one in enumerate(there) if i not in dropped or one.id in stays]
    before = state_at(there, now, position, 10 * position + 9)
    after = state_at(kept, now, position, 10 * position + 9)
    assert before is not None
    assert after is None or after.life == before.life


def events(position: int, clock_ms: int, *times: int) -> EncodedEntry:
    """A record with events of these times."""
    count = len(times)
    columns = EventColumns(
        stream="In", clock_ms=clock_ms, has_timestamps=True,
        batch=pa.RecordBatch.from_pydict({"v": list(range(count))}),
        chunk_lengths=np.array([count], np.int32), constant_ms=0,
        timestamps_ms=pa.array(times, pa.int64()),
    )  # fmt: skip
    return EncodedEntry(position, encode_columns(columns))


def test_a_record_is_behind_a_time_by_the_door_or_by_its_latest_event() -> None:
    """A tick has no event, so in playback it is behind no time."""
    tick = EncodedEntry(3, encode_record(TickRecord(3_000)))
    there = [events(1, 1_000, 10, 30), events(2, 2_000, 20), tick, events(4, 4_000, 40)]
    assert first_later(there, 2_000, is_playback=False) == 3
    assert first_later(there, 4_000, is_playback=False) is None
    assert first_later(there, 30, is_playback=True) == 4
    assert first_later(there, 29, is_playback=True) == 1
    assert clock_of(tick, is_playback=True) == 0


def test_a_beginning_that_never_stood_is_no_state_to_go_back_to() -> None:
    """Though it is of the life that the log bears, and further on."""
    stands = begun(2, 8)
    told = [
        replace(one, id=revision_id("A", state, one.position, "u"))
        for one, state in (
            (revision(2, 8, 80), stands),
            (revision(2, 10, 100), stands),
            (revision(2, 11, 90), begun(2, 11)),
        )
    ]
    assert state_at(told, stands, 12, None) == told[1]
