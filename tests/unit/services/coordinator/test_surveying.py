"""What heartbeats say about nodes and units, and what a replica counts for."""

from __future__ import annotations

from typing import Any

from lockstep.control import GroupStatus, Heartbeat, PastStatus
from lockstep_services.coordinator.board import Wanted
from lockstep_services.coordinator.surveying import facts_of, load_of


def status(unit: str = "App", **changes: Any) -> GroupStatus:
    """Of a ready standby."""
    told = {"role": "passive", "ready": True, **changes}
    return GroupStatus(unit, "main", 0, "v", 1, position=0, log_end=0, **told)


def beat(node: str, *groups: GroupStatus, **changes: Any) -> Heartbeat:
    """Of a processor."""
    return Heartbeat(node, "processor", "", 0, 1_000, groups=groups, **changes)


def test_what_living_processors_say() -> None:
    """Who is ready, who leads by the latest epoch, and the largest load of a unit's replicas."""
    beats = [
        beat("a", status(role="active", epoch=3, busy_permille=200), host="h1", zone="z"),
        beat("b", status(role="active", epoch=4, busy_permille=250), cpu_percent=7),
        beat("c", status(ready=False)),
    ]
    facts = facts_of(beats, [Wanted("App", 3)], {"App": ["a", "d"]}, ["b"], believed=["a", "d"])
    assert [(node.name, node.host, node.zone) for node in facts.nodes] == [
        ("a", "h1", "z"), ("b", "b", ""), ("c", "c", ""), ("d", "d", ""),
    ]  # fmt: skip
    assert [node.name for node in facts.nodes if node.is_drained] == ["b"]
    assert facts.ready == {"App": frozenset({"a", "b"})}
    assert (facts.leaders, facts.loads) == ({"App": "b"}, {"App": 250})


def test_who_folds_a_past_stays() -> None:
    """Until it goes on from there."""
    for phase, staying in (("folding", {"App"}), ("going over", {"App"}), ("done", set())):
        beats = [beat("a", status(role="active", past=PastStatus(1, phase)))]
        assert facts_of(beats, [Wanted("App", 1)], {"App": ["a"]}, []).staying == staying


def test_what_a_replica_counts_for() -> None:
    """Its time or its events, whichever says more, and what it holds."""
    assert load_of(status()) == 0
    assert load_of(status(busy_permille=300, events_per_s=1_000)) == 300
    assert load_of(status(busy_permille=300, events_per_s=50_000)) == 500
    assert load_of(status(busy_permille=300, state_rows=2_000_000)) == 400
