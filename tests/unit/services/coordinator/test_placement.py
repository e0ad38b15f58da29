"""Placement: stable, level, and the same answer for the same facts."""

from lockstep_services.coordinator.placement import Placed, Reason, Wanted, decide


def place(
    alive: list[str],
    wanted: list[Wanted],
    placements: dict[str, list[str]],
    min_processors: int = 1,
) -> list[Placed]:
    """`decide` with a default minimum."""
    return decide(alive, wanted, placements, min_processors=min_processors)


def test_a_new_app_goes_to_as_many_nodes_as_it_wants() -> None:
    """Two replicas on three nodes, the first by name."""
    assert place(["c", "a", "b"], [Wanted("x", 2)], {}) == [Placed("x", ("a", "b"), Reason.NEW_APP)]


def test_nothing_changes_while_everybody_lives() -> None:
    """The decision is a fixed point."""
    assert place(["a", "b"], [Wanted("x", 2)], {"x": ["b", "a"]}) == []


def test_a_lost_node_is_replaced_and_the_survivor_leads() -> None:
    """The living standby moves to the front."""
    changes = place(["b", "c"], [Wanted("x", 2)], {"x": ["a", "b"]})
    assert changes == [Placed("x", ("b", "c"), Reason.NODE_LOST)]


def test_leaders_are_spread() -> None:
    """Four apps with one replica on two nodes: two each."""
    changes = place(["a", "b"], [Wanted(app, 1) for app in "wxyz"], {})
    assert sorted(change.nodes[0] for change in changes) == ["a", "a", "b", "b"]


def test_a_joining_node_takes_missing_replicas_only() -> None:
    """What is complete stays where it is."""
    placements = {"x": ["a"], "y": ["a"]}
    changes = place(["a", "b"], [Wanted("x", 2), Wanted("y", 1)], placements)
    assert changes == [Placed("x", ("a", "b"), Reason.NODE_JOINED)]


def test_fewer_replicas_give_up_the_last() -> None:
    """The leader is kept."""
    changes = place(["a", "b"], [Wanted("x", 1)], {"x": ["a", "b"]})
    assert changes == [Placed("x", ("a",), Reason.REPLICAS_CHANGED)]


def test_an_app_waits_for_the_first_processor() -> None:
    """No processor: an empty placement is recorded once, then filled."""
    assert place([], [Wanted("x", 2)], {}) == [Placed("x", (), Reason.NEW_APP)]
    assert place([], [Wanted("x", 2)], {"x": []}) == []
    assert place(["a"], [Wanted("x", 2)], {"x": []}) == [Placed("x", ("a",), Reason.NEW_APP)]


def test_nothing_is_placed_below_the_minimum() -> None:
    """min_processors guards against placing all on the first that starts."""
    assert place(["a"], [Wanted("x", 2)], {"x": []}, min_processors=2) == []


def test_a_removed_app_is_taken_from_its_nodes() -> None:
    """A placement without deployment becomes empty."""
    assert place(["a"], [], {"x": ["a"]}) == [Placed("x", (), Reason.APP_REMOVED)]


def test_silent_nodes_stay_while_nobody_can_replace_them() -> None:
    """A deaf coordinator must not take an app from processors that live."""
    assert place([], [Wanted("x", 2)], {"x": ["a", "b"]}) == []
    assert place(["b"], [Wanted("x", 2)], {"x": ["a", "b"]}) == []
    changes = place(["b", "c", "d"], [Wanted("x", 2)], {"x": ["a", "b"]})
    assert changes == [Placed("x", ("b", "c"), Reason.NODE_LOST)]
