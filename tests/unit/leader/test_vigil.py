"""Who counts as dead, from who was seen connected when."""

from __future__ import annotations

from lockstep.leader.vigil import Observed, Vigil

OWN, PEER = "own", "peer"
GRACE_MS, DISTRUST_MS = 50, 1_000
BOTH, ALONE = (OWN, PEER), (OWN,)


def look(
    vigil: Vigil, now_ms: int, *connected: str, connection: int = 1, watched: str = PEER
) -> Observed:
    """What one look brings."""
    return vigil.observe(now_ms, connection, {watched}, connected)


def dead_peer() -> Vigil:
    """Which has seen its peer die at 60."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    look(vigil, 0, *BOTH)
    look(vigil, 10, *ALONE)
    assert look(vigil, 60, *ALONE).newly_dead == {PEER}
    return vigil


def test_a_closed_connection_that_does_not_come_back_is_a_death() -> None:
    """After the grace; it is new once, and remembered."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    assert look(vigil, 0, *BOTH) == Observed(frozenset(), frozenset(), frozenset())
    assert not look(vigil, 10, *ALONE).dead
    assert not look(vigil, 59, *ALONE).dead
    assert look(vigil, 60, *ALONE) == Observed(frozenset({PEER}), frozenset({PEER}), frozenset())
    assert look(vigil, 70, *ALONE) == Observed(frozenset({PEER}), frozenset(), frozenset())


def test_a_connection_that_comes_back_in_time_is_none() -> None:
    """The grace begins anew with each closing."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    for now_ms in range(0, 1_000, 100):
        look(vigil, now_ms, *BOTH)
        assert not look(vigil, now_ms + 40, *ALONE).dead
        assert not look(vigil, now_ms + 80, *ALONE).dead


def test_who_was_never_seen_cannot_die() -> None:
    """It may have come by another release, or may not be able to appear."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    for now_ms in range(0, 1_000, 10):
        assert not look(vigil, now_ms, *ALONE).dead


def test_who_is_not_connected_itself_says_nothing() -> None:
    """The lease server was started again: nobody is connected, or only who came back already."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    look(vigil, 0, *BOTH)
    for now_ms in range(10, 200, 10):
        assert not look(vigil, now_ms).dead
    for now_ms in range(200, 400, 10):
        assert not look(vigil, now_ms, *ALONE, connection=2).dead


def test_what_was_seen_over_another_connection_does_not_count() -> None:
    """Even if no look fell between the two connections."""
    vigil = Vigil(OWN, GRACE_MS, DISTRUST_MS)
    look(vigil, 0, *BOTH)
    for now_ms in range(10, 400, 10):
        assert not look(vigil, now_ms, *ALONE, connection=2).dead


def test_who_was_taken_for_dead_wrongly_is_not_again_for_a_while() -> None:
    """So the lead does not go to and fro with a connection that keeps breaking."""
    vigil = dead_peer()
    assert look(vigil, 100, *BOTH).returned == {PEER}
    for now_ms in range(110, 100 + DISTRUST_MS, 10):
        assert not look(vigil, now_ms, *ALONE).dead
    look(vigil, 100 + DISTRUST_MS, *ALONE)
    assert look(vigil, 100 + DISTRUST_MS + GRACE_MS, *ALONE).newly_dead == {PEER}


def test_the_dead_are_looked_for_until_they_are_forgotten() -> None:
    """A wrong guess shows although nobody waits for that process any more."""
    vigil = dead_peer()
    assert vigil.asks_about({"other"}) == {OWN, PEER, "other"}
    assert look(vigil, 1_000, *BOTH, watched="other").returned == {PEER}
    vigil = dead_peer()
    look(vigil, 60 + DISTRUST_MS, *ALONE, watched="other")
    assert vigil.asks_about({"other"}) == {OWN, "other"}
