"""Placement: stable, level, and the same answer for the same facts."""

from __future__ import annotations

from dataclasses import replace

from lockstep_services.coordinator.board import (
    Board,
    Facts,
    HandOver,
    Node,
    Reason,
    Rules,
    Wanted,
)
from lockstep_services.coordinator.placement import (
    Decision,
    Placed,
    decide,
    foresee,
    unready,
    waiting_for,
)


def facts(
    alive: list[str] | list[Node], wanted: list[Wanted], placements: dict[str, list[str]]
) -> Facts:
    """Everything that is placed on a living node is ready, and the first of them leads."""
    nodes = [Node(one, one) if isinstance(one, str) else one for one in alive]
    living = {node.name for node in nodes}
    there = {unit: [n for n in names if n in living] for unit, names in placements.items()}
    return Facts(
        nodes, wanted, placements,
        ready={unit: frozenset(names) for unit, names in there.items()},
        leaders={unit: names[0] for unit, names in there.items() if names},
    )  # fmt: skip


def place(
    alive: list[str],
    wanted: list[Wanted],
    placements: dict[str, list[str]],
    min_processors: int = 1,
) -> list[Placed]:
    """What is placed anew when nothing is moved."""
    rules = Rules(min_processors=min_processors, may_move=False)
    return list(decide(facts(alive, wanted, placements), rules).placed)


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
    assert changes == [Placed("x", ("a",), Reason.RELEASED)]


def test_an_app_waits_for_the_first_processor() -> None:
    """No processor: nothing is recorded. Earlier releases kept an empty placement meanwhile."""
    assert place([], [Wanted("x", 2)], {}) == []
    assert place([], [Wanted("x", 2)], {"x": []}) == []
    assert place(["a"], [Wanted("x", 2)], {"x": []}) == [Placed("x", ("a",), Reason.NEW_APP)]


def test_nothing_is_placed_below_the_minimum() -> None:
    """min_processors guards against placing all on the first that starts."""
    assert place(["a"], [Wanted("x", 2)], {"x": []}, min_processors=2) == []


def test_a_removed_app_is_taken_from_its_nodes() -> None:
    """A placement without deployment goes, also an empty one that an earlier release has kept."""
    assert place(["a"], [], {"x": ["a"]}) == [Placed("x", (), Reason.APP_REMOVED)]
    assert place(["a"], [], {"x": []}) == [Placed("x", (), Reason.APP_REMOVED)]


def test_what_is_foreseen_comes_to_an_end_where_something_goes() -> None:
    """What has no nodes is not there any more."""
    before = facts(["a"], [Wanted("x", 1)], {"x": ["a"], "gone": ["a"], "old": []})
    moves, after = foresee(before, Rules())
    assert (moves, after.placements) == ([], {"x": ["a"]})


def test_silent_nodes_stay_while_nobody_can_replace_them() -> None:
    """A deaf coordinator must not take an app from processors that live."""
    assert place([], [Wanted("x", 2)], {"x": ["a", "b"]}) == []
    assert place(["b"], [Wanted("x", 2)], {"x": ["a", "b"]}) == []
    changes = place(["b", "c", "d"], [Wanted("x", 2)], {"x": ["a", "b"]})
    assert changes == [Placed("x", ("b", "c"), Reason.NODE_LOST)]


APPS = [Wanted("x", 2), Wanted("y", 2)]


def test_a_node_that_joins_gets_its_share_step_by_step() -> None:
    """The new replica is there and ready before the lead goes over; the old one goes last."""
    before = facts(["a", "b", "c"], APPS, {"x": ["b", "a"], "y": ["b", "a"]})
    (begun,) = decide(before, Rules(max_moves=1)).placed
    assert begun == Placed("x", ("c", "a", "b"), Reason.LOAD)
    moving = replace(before, placements={**before.placements, "x": begun.nodes})
    assert not decide(moving, Rules())  # it is not ready yet, and nothing else moves meanwhile
    ready = replace(moving, ready={**moving.ready, "x": frozenset("abc")})
    (handed,) = decide(ready, Rules()).hand_overs
    assert handed == HandOver("x", "b", "a", Reason.RELEASED)
    led = replace(ready, leaders={**ready.leaders, "x": "a"})
    assert decide(led, Rules(max_moves=1)).placed[0] == Placed("x", ("c", "a"), Reason.RELEASED)


def test_moves_are_counted_from_their_beginning_to_their_end() -> None:
    """A unit that moves two replicas counts once."""
    board = Board(facts(["a", "b", "c", "d"], APPS, {"x": ["a", "b"], "y": ["a", "b", "c"]}))
    assert board.moving == 1
    board.move("x", "a", "c", Reason.LOAD)
    board.move("x", "b", "d", Reason.LOAD)
    assert board.moving == 2
    board.release("x")
    board.release("x")
    assert board.moving == 1
    board.release("y")
    assert board.moving == 0


def test_a_move_whose_new_node_dies_is_taken_back() -> None:
    """The old replica was still there."""
    moving = facts(["a", "b"], APPS[:1], {"x": ["c", "b", "a"]})
    assert decide(moving, Rules()).placed == (Placed("x", ("b", "a"), Reason.NODE_LOST),)


def test_load_counts_and_not_replicas_alone() -> None:
    """The busy one stays alone; two idle ones go together."""
    wanted = [Wanted("busy", 1), Wanted("x", 1), Wanted("y", 1)]
    there = facts(["a", "b"], wanted, {"busy": ["a"], "x": ["a"], "y": ["b"]})
    moves, after = foresee(replace(there, loads={"busy": 800, "x": 0, "y": 0}), Rules())
    assert [(move.app, move.source, move.to) for move in moves] == [("x", "a", "b")]
    assert not decide(after, Rules())


def test_a_new_replica_goes_where_least_load_is() -> None:
    """However few replicas the other has."""
    there = facts(["a", "b"], [Wanted("v", 1), Wanted("x", 1), Wanted("y", 1), Wanted("z", 1)],
                  {"x": ["b"], "y": ["a"], "z": ["a"]})  # fmt: skip
    loads = {"x": 900, "y": 10, "z": 10}
    (placed,) = decide(replace(there, loads=loads), Rules(may_move=False)).placed
    assert placed.nodes == ("a",)


def test_nothing_goes_to_a_host_that_is_busy_with_other_things() -> None:
    """Not for levelness alone."""
    nodes = [Node("a", "a", cpu_percent=50), Node("b", "b", cpu_percent=95)]
    there = facts(nodes, [Wanted("x", 1), Wanted("y", 1)], {"x": ["a"], "y": ["a"]})
    assert not decide(there, Rules())
    assert decide(there, Rules(cpu_max_percent=96)).levels


def test_hosts_that_are_as_full_are_levelled() -> None:
    """All are at work: a percent more in one look at an idle processor's host is chance."""
    apps = [Wanted(name, 2) for name in "uvwxyz"]
    placed = {name: ["a", "b"] for name in "uvwxyz"}
    for cpu_percent, moves in ((97, True), (98, True), (99, True), (100, False)):
        nodes = [Node("a", "a", cpu_percent=94), Node("b", "b", cpu_percent=94)]
        idle = Node("c", "c", cpu_percent=cpu_percent)
        assert bool(decide(facts([*nodes, idle], apps, placed), Rules()).placed) is moves


def test_leads_are_levelled_by_hand_over() -> None:
    """Replicas that are level stay where they are."""
    there = facts(["a", "b"], APPS, {"x": ["a", "b"], "y": ["a", "b"]})
    assert decide(there, Rules()) == Decision((), (HandOver("x", "a", "b", Reason.LOAD),))


def test_a_lead_does_not_move_within_a_host_that_is_full() -> None:
    """It would cost as much in the other process."""
    placed = {"x": ["a", "b"], "y": ["a", "b"]}
    full = [Node("a", "one", cpu_percent=100), Node("b", "one", cpu_percent=99)]
    assert not decide(facts(full, APPS, placed), Rules())
    free = [Node("a", "one", cpu_percent=80), Node("b", "one", cpu_percent=80)]
    assert decide(facts(free, APPS, placed), Rules()).levelled == {"x"}
    apart = [Node("a", "one", cpu_percent=100), Node("b", "two", cpu_percent=90)]
    assert decide(facts(apart, APPS, placed), Rules()).levelled == {"x"}


def test_who_folds_a_past_is_left_alone() -> None:
    """Another leader would begin it anew; a drained node gives it away all the same."""
    there = facts(["a", "b"], APPS, {"x": ["a", "b"], "y": ["a", "b"]})
    folding = replace(there, staying=frozenset({"x", "y"}))
    assert decide(folding, Rules()) == Decision((), ())
    drained = replace(folding, nodes=[Node("a", "a", is_drained=True), Node("b", "b")])
    assert {one.app for one in decide(drained, Rules()).hand_overs} == {"x", "y"}


def test_a_drained_node_gives_everything_away() -> None:
    """Leads at once; replicas as soon as there is room; nothing new comes."""
    nodes = [Node("a", "a", is_drained=True), Node("b", "b")]
    there = facts(nodes, APPS[:1], {"x": ["a", "b"]})
    assert decide(there, Rules()) == Decision((), (HandOver("x", "a", "b", Reason.NODE_DRAINED),))
    roomy = replace(there, nodes=[*nodes, Node("c", "c")])
    moves, after = foresee(roomy, Rules())
    assert after.placements["x"] == ("c", "b")
    assert after.leaders["x"] == "b"
    assert {move.reason for move in moves} == {Reason.NODE_DRAINED}
    new = facts(nodes, [Wanted("new", 2)], {})
    assert decide(new, Rules()).placed == (Placed("new", ("b",), Reason.NEW_APP),)


def test_a_drain_goes_on_while_other_apps_are_not_ready() -> None:
    """It takes nobody a ready replica."""
    nodes = [Node("a", "a", is_drained=True), Node("b", "b"), Node("c", "c")]
    there = facts(nodes, APPS, {"x": ["a", "b"], "y": ["b", "c"]})
    there = replace(there, ready={"x": frozenset("b"), "y": frozenset()})
    (placed,) = decide(there, Rules()).placed
    assert placed == Placed("x", ("c", "b", "a"), Reason.NODE_DRAINED)


def test_replicas_do_not_share_a_host_while_another_is_there() -> None:
    """Nor a zone; where there is no other, they do."""
    same = [Node("a", "h1", "z1"), Node("b", "h1", "z1")]
    assert decide(facts(same, APPS[:1], {}), Rules()).placed[0].nodes == ("a", "b")
    three = [*same, Node("c", "h2", "z1"), Node("d", "h3", "z2")]
    assert decide(facts(three, APPS[:1], {}), Rules()).placed[0].nodes == ("a", "d")
    there = facts(three[:3], APPS[:1], {"x": ["a", "b"]})
    assert decide(there, Rules(may_level=False)).placed[0] == Placed(
        "x", ("c", "b", "a"), Reason.HOST_SHARED
    )
    there = facts(three, APPS[:1], {"x": ["a", "c"]})
    assert decide(there, Rules(may_level=False)).placed[0].reason is Reason.ZONE_SHARED


def test_nothing_moves_while_something_is_not_ready() -> None:
    """Or silent, or led by nobody; whoever asks is told which."""
    there = facts(["a", "b", "c"], APPS, {"x": ["a", "b"], "y": ["a", "b"]})
    assert decide(there, Rules())
    for disturbed in (
        replace(there, ready={**there.ready, "y": frozenset("a")}),
        replace(there, leaders={"x": "a"}),
        replace(there, placements={**there.placements, "y": ["a", "c", "b"]}),
    ):
        assert unready(disturbed) == ["y"]
        assert not decide(disturbed, Rules()).levels
    assert unready(there) == []


def test_what_is_waited_for() -> None:
    """Processors that are to start, or room for further replicas."""
    nodes = [Node("a", "a"), Node("b", "b", is_drained=True)]
    assert waiting_for(Wanted("x", 2), [], nodes, min_processors=3) == (
        "2 more processors: 1 of coordinator.min_processors = 3 can take replicas"
    )
    assert waiting_for(Wanted("x", 2), ["a"], nodes, min_processors=1) == (
        "1 more processor: 1 of 2 replicas have no processor of their own"
    )
    assert waiting_for(Wanted("x", 1), ["a"], nodes, min_processors=3) is None
    assert waiting_for(Wanted("x", 1), [], nodes, min_processors=1) is None
