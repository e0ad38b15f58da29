"""Which revisions may never be deleted: those that a replica could have to begin from."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given

from lockstep.events import Generation, Life
from lockstep.store import Revision, needed, revision_id


def _revision(
    position: int, *, verified: bool = True, version: str = "v", generation: int = 1
) -> Revision:
    id_ = f"App.100.{generation}.{position}.{version}{verified}"
    return Revision(id_, "App", "main", 0, version, position, position, 3, verified, 1)


def _begun(position: int, begun: int) -> Revision:
    id_ = revision_id("App", Generation(Life(100, 1), begun), position, "u")
    return replace(_revision(position), id=id_)


def _needed(*revisions: Revision) -> list[int]:
    return sorted(one.position for one in needed(revisions))


def test_the_newest_verified_one_is_needed() -> None:
    """And nothing behind it."""
    assert _needed() == []
    assert _needed(_revision(5)) == [5]
    assert _needed(_revision(5), _revision(9), _revision(7)) == [9]


def test_of_every_state_one_is_needed() -> None:
    """A restored app has begun a new state, an upgraded one as well: whether the newest of them
    counts yet is for the output log to say."""
    assert _needed(_revision(5), _revision(7), _revision(9, generation=2)) == [7, 9]
    assert _needed(_revision(5), _revision(9, version="w")) == [5, 9]
    assert _needed(_begun(5, 4), _begun(7, 4), _begun(9, 9)) == [7, 9]


def test_unverified_ones_are_needed_while_they_may_come_to_count() -> None:
    """Those behind a verified one never will."""
    assert _needed(_revision(5), _revision(7, verified=False)) == [5, 7]
    assert _needed(_revision(3, verified=False), _revision(5)) == [5]
    assert _needed(_revision(3, verified=False)) == [3]


def test_ids_of_another_make_count_by_version() -> None:
    """One state then."""
    strange = [
        Revision(name, "App", "main", 0, "v", at, at, 3, True, 1)
        for at, name in enumerate(("a", "b"))
    ]
    assert [one.id for one in needed(strange)] == ["b"]


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.booleans(), st.sampled_from("vw"), st.integers(1, 3)),
        max_size=12,
    )
)
def test_deleting_the_others_changes_nothing(drawn: list[tuple[int, bool, str, int]]) -> None:
    """What is needed is needed then as well, and each state keeps its newest verified one."""
    there = [
        _revision(at, verified=verified, version=version, generation=generation)
        for at, verified, version, generation in drawn
    ]
    left = needed(there)
    assert needed(left) == left
    states = {(one.version, one.id.split(".")[2]) for one in there if one.verified}
    assert {(one.version, one.id.split(".")[2]) for one in left if one.verified} == states
