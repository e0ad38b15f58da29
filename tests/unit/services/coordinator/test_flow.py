"""What an app's graph consists of, and which figures its edges have."""

from __future__ import annotations

from typing import Any

import msgspec

from lockstep.control import AppView, FlowTold, GroupStatus, Heartbeat, SinkStatus, UnitFlow
from lockstep.control import view_of as view_of_deployment
from lockstep.events import Life
from lockstep.plan import Plans, plan_of
from lockstep.store import Deployment
from lockstep_services.coordinator.flow.figures import LAGS_FROM, Figures, Heard
from lockstep_services.coordinator.flow.structure import Structure, Way

PARTS = """@app:name('A')
@source(type='kafka', topic.list='t', group.id='g', bootstrap.servers='h:1', @map(type='json'))
define stream In (k string, v long);
define trigger Tick at every 5 sec;
define window Lately (k string, v long) length(5);
define table Kept (k string, v long);
@sink(type='log') define stream Out (k string, v long);
define aggregation Sums from In select k, sum(v) as total group by k aggregate every sec;
partition with (k of In)
begin
  @info(name='one') from In select k, v insert into #Inner;
  @info(name='two') from #Inner select k, v insert into Lately;
end;
@info(name='three') from Lately select k, v insert into Out;
@info(name='four') from Tick select 'x' as k, 1L as v insert into Kept;
"""
CUT = """@app:name('A') define stream In (k string, v long);
partition with (k of In)
begin
  @info(name='sum') from In select k, sum(v) as total insert into Sums;
end;
"""
LEADER = GroupStatus("A", "main", 0, "v", 1, "active", 9, 10)
TOLD = {
    ("processor", "p"): FlowTold(
        units=(UnitFlow("main", 0, {"In": 10.0}, {"one": 10.0, "three": 4.0}),)
    ),
    ("receiver", "r"): FlowTold(taken={"In": 12.0}),
    ("presenter", "s"): FlowTold(shown={"Out": 4.0}, waits=7, latency_p50_ms=3, latency_p99_ms=30),
}


def view_of(text: str) -> AppView:
    """An app of one unit."""
    plan = plan_of(text)
    return AppView(Deployment(plan.name, text, "v", Life(1, 1), 1, 0), plan)


def beat(node: str, service: str = "processor", **more: Any) -> Heartbeat:
    """Of a living process."""
    return Heartbeat(node, service, "http://h", 1, 1_000, **more)


def edges_of(
    structure: Structure,
    told: dict[tuple[str, str], FlowTold | None],
    leaders: list[GroupStatus],
    sinks: tuple[SinkStatus, ...] = (),
) -> dict[tuple[str, str], Any]:
    """By where they lead from and to."""
    replicas = [(beat("p"), one) for one in leaders]
    heard = Heard.of(replicas, told, [beat("d", "publisher", sinks=sinks)], "A")
    found = Figures(structure, heard).edges()
    return {(one["from_node"], one["to_node"]): one for one in found}


def test_all_parts_of_an_app_are_there_once() -> None:
    """Streams inside of a partition are called after it; what a group writes stands in its box."""
    parts = {part.id: part for part in Structure(view_of(PARTS)).parts}
    assert {name: part.kind for name, part in parts.items()} == {
        "source:In": "source", "In": "stream", "query:one": "query", "query:two": "query",
        "partition_1/#Inner": "stream", "Lately": "window", "query:three": "query",
        "Out": "stream", "Tick": "trigger", "query:four": "query", "Kept": "table",
        "Sums": "aggregation", "sink:Out.0.log": "sink", "presenter": "presenter",
    }  # fmt: skip
    assert parts["source:In"].name == "HTTP, bus, kafka"
    assert parts["partition_1/#Inner"].name == "#Inner"
    outside = {name for name, part in parts.items() if part.group is None}
    assert outside == {"source:In", "In", "Tick", "sink:Out.0.log", "presenter"}


def test_a_written_stream_has_a_door_only_while_something_is_sent_to_it() -> None:
    """Anybody may send to it; nobody draws what nobody does."""
    view = view_of(PARTS)
    assert "source:Out" not in {part.id for part in Structure(view).parts}
    assert "source:Out" in {part.id for part in Structure(view, {"Out"}).parts}


def test_what_is_counted_has_figures_and_what_is_not_has_none() -> None:
    """A look-up lets nothing through, nor does anybody count triggers."""
    edges = edges_of(Structure(view_of(PARTS)), dict(TOLD), [LEADER])
    rates = {place: one["per_s"] for place, one in edges.items()}
    assert rates["source:In", "In"] == 12.0
    assert rates["In", "query:one"] == rates["query:one", "partition_1/#Inner"] == 10.0
    assert rates["partition_1/#Inner", "query:two"] == 10.0
    assert rates["query:two", "Lately"] == 0.0
    assert rates["Lately", "query:three"] is rates["Tick", "query:four"] is None
    assert rates["Out", "presenter"] == 4.0
    assert edges["Out", "presenter"]["latency_p99_ms"] == 30
    assert (edges["Out", "presenter"]["lag"], edges["Out", "presenter"]["lag_of"]) == (7, "records")
    assert edges["In", "query:one"]["lag"] == 1
    assert edges["Out", "sink:Out.0.log"]["trouble"] == "no publisher delivers to it"


def test_a_sink_that_is_far_behind_is_late_and_one_with_trouble_says_it() -> None:
    """Up to the limit what waits is on its way."""
    structure = Structure(view_of(PARTS))
    for sink, state in (
        (SinkStatus("A", "Out.0.log", 0, LAGS_FROM), "ok"),
        (SinkStatus("A", "Out.0.log", 0, LAGS_FROM + 1), "lag"),
        (SinkStatus("A", "Out.0.log", 0, 1, "it answered 503"), "trouble"),
    ):
        edge = edges_of(structure, dict(TOLD), [LEADER], (sink,))["Out", "sink:Out.0.log"]
        assert edge["state"] == state
        assert edge["carried_by"] == ["d"]


def test_a_source_that_cannot_be_read_says_why() -> None:
    """At the door of its stream, by whichever receiver reads it."""
    told: dict[tuple[str, str], FlowTold | None] = dict(TOLD)
    told["receiver", "q"] = FlowTold(troubles={"In": "the database is away"})
    edge = edges_of(Structure(view_of(PARTS)), told, [LEADER])["source:In", "In"]
    assert (edge["state"], edge["trouble"]) == ("trouble", "the database is away")
    assert edge["per_s"] == 12.0


def test_the_presenter_that_is_furthest_behind_says_what_waits() -> None:
    """One that could not ask the log says nothing, and is not counted as one with no lag."""
    structure = Structure(view_of(PARTS))
    shown = {"Out": 4.0}
    for waits, lag in (([None], None), ([3, None], 3), ([3, 2_000, 0], 2_000)):
        told: dict[tuple[str, str], FlowTold | None] = {
            ("presenter", f"s{number}"): FlowTold(shown=shown, waits=one)
            for number, one in enumerate(waits)
        }
        edge = edges_of(structure, told, [LEADER])["Out", "presenter"]
        assert (edge["lag"], edge["state"]) == (lag, "lag" if lag == 2_000 else "ok")


def test_an_archive_takes_what_comes_and_what_goes() -> None:
    """A side that is not archived has no edge."""
    view = view_of(PARTS)
    output = SinkStatus("A", "archive.output.0a", 5, 8, "no room is left", 9.0, 20, 40)
    for sides, into in ((["output"], {"Out"}), (["input"], {"In"}), ([], set())):
        found = {
            link.begin for link in Structure(view, (), sides).links if link.way is Way.ARCHIVED
        }
        assert found == into
    structure = Structure(view, (), ["output"])
    assert [part.id for part in structure.parts if part.kind == "archive"] == ["archive:output"]
    edge = edges_of(structure, dict(TOLD), [LEADER], (output,))["Out", "archive:output"]
    assert (edge["per_s"], edge["lag"], edge["latency_p99_ms"]) == (None, 3, 40)
    assert (edge["state"], edge["trouble"]) == ("trouble", "no room is left")


def test_a_group_that_nobody_leads_is_in_trouble_and_counts_nothing() -> None:
    """Nor does one whose leader does not answer: it is named instead."""
    structure = Structure(view_of(PARTS))
    told = {**TOLD, ("processor", "p"): None}
    edge = edges_of(structure, told, [])["In", "query:one"]
    assert (edge["per_s"], edge["state"]) == (None, "trouble")
    assert edge["trouble"] == "nobody leads partition 0 of group main"
    assert Heard.of([], told, [], "A").silent == ["p"]
    assert edges_of(structure, {}, [LEADER])["source:In", "In"]["trouble"] == (
        "no receiver is alive"
    )


def test_partitions_of_a_fleet_are_added_up_and_one_that_is_missing_is_not_left_out() -> None:
    """Each partition reads all of the input, so that is not added up. Half of a sum is no sum."""
    deployment = Deployment("A", CUT, "v", Life(1, 2), 1, 0, parallel=2, layout=2)
    structure = Structure(view_of_deployment(deployment, Plans()))
    assert structure.groups == {"by_k": 2}
    one = UnitFlow("by_k~2", 0, {"In": 9.0}, {"sum": 4.0})
    other = UnitFlow("by_k~2", 1, {"In": 9.5}, {"sum": 5.0})
    leaders = [
        msgspec.structs.replace(LEADER, group="by_k~2", partition=number, log_end=9 + number)
        for number in (0, 1)
    ]
    told: dict[tuple[str, str], FlowTold | None] = {
        ("processor", "p"): FlowTold(units=(one,)), ("processor", "q"): FlowTold(units=(other,)),
    }  # fmt: skip
    edges = edges_of(structure, told, leaders)
    assert edges["In", "query:sum"]["per_s"] == 9.5
    assert edges["In", "query:sum"]["lag"] == 1
    assert edges["query:sum", "Sums"]["per_s"] == 9.0
    del told["processor", "q"]
    edges = edges_of(structure, told, leaders)
    assert edges["In", "query:sum"]["per_s"] is None
    assert edges["query:sum", "Sums"]["per_s"] is None
