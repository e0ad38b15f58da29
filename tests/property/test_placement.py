"""Placement on random fleets: it comes to rest and stays there, is level, moves little, keeps to
hosts and zones, and never takes a unit a ready replica that it needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from lockstep_services.coordinator.board import GAP_MIN, REPLICA_LOAD, Facts, Node, Rules, Wanted
from lockstep_services.coordinator.placement import decide, foresee, unready

MOVING_AT_ONCE = st.integers(1, 4)


@st.composite
def fleets(draw: st.DrawFn, *, alike: bool = False, labels: bool = True) -> Facts:
    """Some nodes and units, placed anyhow: also on nodes that are gone."""
    hosts = st.sampled_from(["h1", "h2", "h3", "h4"])
    nodes = [
        Node(
            f"n{number}",
            draw(hosts) if labels else f"n{number}",
            draw(st.sampled_from(["", "z1", "z2"])) if labels else "",
            is_drained=labels and draw(st.integers(0, 5)) == 0,
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    names = [f"n{number}" for number in range(7)]
    wanted = [
        Wanted(f"u{number}", draw(st.integers(1, 3))) for number in range(draw(st.integers(0, 8)))
    ]
    lists = st.lists(st.sampled_from(names), unique=True, max_size=4)
    placements = {one.app: draw(lists) for one in wanted if draw(st.booleans())}
    loads = {one.app: 50 if alike else draw(st.integers(0, 2_000)) for one in wanted}
    return Facts(nodes, wanted, placements, loads=loads)


def node_loads(facts: Facts) -> Counter[str]:
    """Of those that may carry something."""
    open_nodes = [node.name for node in facts.nodes if not node.is_drained]
    loads = Counter(dict.fromkeys(open_nodes, 0))
    for unit, nodes in facts.placements.items():
        loads.update({node: REPLICA_LOAD + facts.loads[unit] for node in nodes if node in loads})
    return loads


@given(fleets(), MOVING_AT_ONCE)
def test_it_comes_to_rest_and_the_same_facts_change_nothing(facts: Facts, at_once: int) -> None:
    """However the fleet stood before; the order in which facts are told does not matter."""
    rules = Rules(max_moves=at_once)
    assert decide(facts, rules) == decide(
        replace(facts, nodes=facts.nodes[::-1], wanted=facts.wanted[::-1]), rules
    )
    _, rest = foresee(facts, rules)
    assert not decide(rest, rules)
    living = {node.name for node in facts.nodes}
    there = [n for n in facts.nodes if not n.is_drained]
    for one in facts.wanted:
        nodes = rest.placements.get(one.app, ())
        assert len(nodes) <= one.replicas
        assert len(set(nodes) & living) >= min(one.replicas, len(there))


@given(fleets(labels=False))
def test_nodes_are_level(facts: Facts) -> None:
    """No two differ by more than the limit, or than what moving a replica would turn around; a node
    that has its share of all replicas gets no more."""
    rules = Rules()
    _, rest = foresee(facts, rules)
    assume(not unready(rest))  # somebody silent is waited for
    loads = node_loads(rest)
    counts = Counter(node for nodes in rest.placements.values() for node in nodes)
    share = -(-sum(counts.values()) // len(loads))
    limit = max(GAP_MIN, sum(loads.values()) * rules.gap_percent // (100 * len(loads)))
    for low, high in ((a, b) for a in loads for b in loads if loads[b] - loads[a] > limit):
        gap = loads[high] - loads[low]
        could = [
            REPLICA_LOAD + facts.loads[unit]
            for unit, nodes in rest.placements.items()
            if high in nodes and low not in nodes
        ]
        assert counts[low] >= share or all(2 * weight > gap for weight in could)


@given(fleets(labels=False, alike=True), MOVING_AT_ONCE)
def test_a_join_moves_no_more_than_its_share(facts: Facts, at_once: int) -> None:
    """And all of it to the node that joins."""
    rules = Rules(max_moves=at_once)
    _, rest = foresee(facts, rules)
    assume(all(len(rest.placements.get(one.app, ())) == one.replicas for one in facts.wanted))
    joined = replace(rest, nodes=[*rest.nodes, Node("new", "new")])
    moves, _ = foresee(joined, rules)
    replicas = [move for move in moves if not move.lead]
    total = sum(one.replicas for one in facts.wanted)
    assert len(replicas) <= -(-total // len(joined.nodes))
    assert {move.to for move in replicas} <= {"new"}


@given(fleets(), st.data())
def test_a_loss_moves_only_what_was_lost(facts: Facts, data: st.DataObject) -> None:
    """Units that had nothing there stay as they are, and the others keep what lives."""
    _, rest = foresee(facts, Rules())
    gone = data.draw(st.sampled_from([node.name for node in facts.nodes]))
    left = replace(rest, nodes=[node for node in rest.nodes if node.name != gone])
    for placed in decide(left, Rules()).placed:
        before = rest.placements.get(placed.app, ())
        assert gone in before
        assert set(before) - {gone} <= set(placed.nodes)


@given(fleets())
def test_hosts_and_zones_are_shared_only_where_there_is_no_other(facts: Facts) -> None:
    """At rest no replica could go to a host without one while it shares its own."""
    _, rest = foresee(facts, Rules())
    nodes = {node.name: node for node in facts.nodes}
    for one in facts.wanted:
        placed = [nodes[name] for name in rest.placements.get(one.app, ()) if name in nodes]
        hosts = Counter(node.host for node in placed)
        free = [n for n in facts.nodes if not n.is_drained and n.host not in hosts]
        assert max(hosts.values(), default=1) == 1 or not free
        zones = Counter(node.zone for node in placed)
        apart = [node for node in free if node.zone not in zones]
        assert max(zones.values(), default=1) == 1 or not apart


@given(fleets(), st.data(), MOVING_AT_ONCE)
def test_a_move_takes_no_ready_replica_that_is_needed(
    facts: Facts, data: st.DataObject, at_once: int
) -> None:
    """Whatever gets ready when, and whoever leads: a living replica goes only while as many others
    as are wanted are ready, and it does not lead. Only so many moves are under way."""
    rules = Rules(max_moves=at_once)
    living = {node.name for node in facts.nodes}
    wanted = {one.app: one.replicas for one in facts.wanted}
    for _ in range(5):
        ready, leaders = {}, {}
        for unit, nodes in facts.placements.items():
            there = [node for node in nodes if node in living]
            ready[unit] = frozenset(node for node in there if data.draw(st.integers(0, 3)))
            if len(there) > 0 and data.draw(st.booleans()):
                leaders[unit] = there[data.draw(st.integers(0, len(there) - 1))]
        facts = replace(facts, ready=ready, leaders=leaders)
        decision = decide(facts, rules)
        for one in decision.hand_overs:
            assert one.to in ready[one.app]
        for placed in decision.placed:
            before = set(facts.placements.get(placed.app, ()))
            going = (before & living) - set(placed.nodes)
            if going:
                staying = ready[placed.app] & set(placed.nodes)
                assert len(staying) >= wanted[placed.app]
                assert leaders[placed.app] not in going
        moving = {
            unit
            for unit in wanted
            if len(set(facts.placements.get(unit, ())) & living) > wanted[unit]
        }
        placements = {**facts.placements, **{one.app: one.nodes for one in decision.placed}}
        then = {
            unit for unit in wanted if len(set(placements.get(unit, ())) & living) > wanted[unit]
        }
        assert len(then) <= max(at_once, len(moving))
        facts = replace(facts, placements=placements)
