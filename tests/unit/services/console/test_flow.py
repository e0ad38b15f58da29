"""A flow drawn: where its parts stand, and what its edges say."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from lockstep_services.console.flow_graph import lines_of, look_of, rate, summary, words_of
from lockstep_services.console.flow_layout import NODE_PX, Layout, shape_of
from lockstep_services.console.pages.flow import edge_row, said_of, silence

OK: dict[str, Any] = {
    "per_s": 12.5, "lag": 0, "lag_of": "records", "latency_p50_ms": None, "latency_p99_ms": None,
    "carried_by": ["p-1"], "state": "ok", "trouble": None,
}  # fmt: skip
PARTITION: dict[str, Any] = {"partition": 0, "node": "p-1", "events_per_s": 1_200, "lag": 0}


def flow_of(*edges: tuple[str, str], groups: dict[str, str] | None = None) -> dict[str, Any]:
    """A flow of nodes by name: `s` sources, `q` queries, `o` sinks, others streams."""
    kinds = {"s": "source", "q": "query", "o": "sink"}
    names = dict.fromkeys(name for edge in edges for name in edge)
    inside = groups or {}
    return {
        "app": "A", "silent": [],
        "groups": [
            {"group": one, "partitions": [PARTITION, {**PARTITION, "partition": 1}]}
            for one in dict.fromkeys(inside.values())
        ],
        "nodes": [
            {"id": name, "kind": kinds.get(name[0], "stream"), "name": name,
             "group": inside.get(name), "detail": ""}
            for name in names
        ],
        "edges": [{"from_node": begin, "to_node": end, **OK} for begin, end in edges],
    }  # fmt: skip


CHAIN = flow_of(
    ("s1", "In"), ("In", "q1"), ("q1", "Mid"), ("Mid", "q2"), ("Mid", "q3"), ("q2", "Out"),
    ("q3", "Out"), ("Out", "o1"), ("In", "q4"), ("q4", "Mid"), ("Out", "o2"),
    groups={"q1": "a", "Mid": "a", "q4": "a", "q2": "b", "q3": "b", "Out": "b"},
)  # fmt: skip


def test_events_go_from_left_to_right() -> None:
    """Every edge but those that lead back; all sinks stand in the last column."""
    spots = Layout(CHAIN).spots
    assert all(spots[one["from_node"]][0] < spots[one["to_node"]][0] for one in CHAIN["edges"])
    assert spots["o1"][0] == spots["o2"][0] == max(x for x, _ in spots.values())


def test_nothing_stands_on_anything_else() -> None:
    """Neither nodes, nor boxes, nor the figures of edges."""
    layout = Layout(CHAIN)
    width, height = NODE_PX
    for (x1, y1), (x2, y2) in combinations(layout.spots.values(), 2):
        assert abs(x1 - x2) >= width or abs(y1 - y2) >= height
    one, other = layout.boxes
    assert one.y + one.height <= other.y
    labels = [(curve.x, curve.y) for curve in layout.curves]
    for (x1, y1), (x2, y2) in combinations(labels, 2):
        assert x1 != x2 or abs(y1 - y2) >= 30


def test_a_box_holds_what_its_group_runs_and_nothing_else() -> None:
    """Its head has a line for each partition."""
    layout = Layout(CHAIN)
    for area in layout.boxes:
        assert area.lines == 2
        for node in CHAIN["nodes"]:
            x, y = layout.spots[node["id"]]
            is_in = area.x <= x < area.x + area.width and area.y <= y < area.y + area.height
            assert is_in == (node["group"] == area.group), node["id"]


def test_a_query_that_feeds_itself_is_drawn_all_the_same() -> None:
    """The edge that leads back goes below."""
    flow = flow_of(("s1", "In"), ("In", "q1"), ("q1", "In"), groups={"q1": "a"})
    layout = Layout(flow)
    assert layout.spots["In"][0] < layout.spots["q1"][0]
    assert layout.curves[2].y > layout.spots["q1"][1] + NODE_PX[1]


def test_the_whole_graph_fits_its_sheet() -> None:
    """Whatever is in it."""
    layout = Layout(CHAIN)
    width, height = layout.size
    assert all(x + NODE_PX[0] <= width and y + NODE_PX[1] <= height
               for x, y in layout.spots.values())  # fmt: skip
    assert Layout(flow_of()).size[0] > 0


def test_figures_do_not_move_the_graph() -> None:
    """Another query does."""
    busier = {**CHAIN, "edges": [{**one, "per_s": 99.0, "lag": 9} for one in CHAIN["edges"]]}
    assert shape_of(busier) == shape_of(CHAIN)
    assert shape_of(flow_of(("s1", "In"))) != shape_of(CHAIN)


@pytest.mark.parametrize(
    ("change", "look", "words"),
    [
        ({}, "ok", ("12.5/s", "")),
        ({"per_s": 0.0}, "idle", ("0/s", "")),
        ({"per_s": None}, "idle", ("not counted", "")),
        ({"lag": 7}, "ok", ("12.5/s", "7 wait")),
        ({"latency_p99_ms": 1_250}, "ok", ("12.5/s", "p99 1.2 s")),
        ({"state": "lag", "lag": 20_000}, "lag", ("12.5/s", "late: 20.0k wait")),
        ({"state": "trouble", "lag": 7, "trouble": "503"}, "trouble",
         ("12.5/s", "trouble, 7 wait")),
        ({"state": "trouble", "lag": None, "trouble": "503"}, "trouble", ("12.5/s", "trouble")),
    ],
)  # fmt: skip
def test_an_edge_says_in_words_what_its_colour_says(
    change: dict[str, Any], look: str, words: tuple[str, str]
) -> None:
    """Not everybody tells colours apart."""
    edge = {**OK, **change}
    assert (look_of(edge), words_of(edge)) == (look, words)


def test_what_is_wrong_is_said_above_the_graph_too() -> None:
    """Trouble first, each with its reason, as it may stand where one has to scroll to."""
    flow = flow_of(("In", "q1"), ("Out", "o1"))
    flow["edges"][0] |= {"state": "lag", "lag": 20_000}
    flow["edges"][1] |= {"state": "trouble", "trouble": "it answered 503"}
    assert said_of(flow) == [
        ("trouble", "Out to sink o1: it answered 503"),
        ("lag", "In to query q1: 20.0k records wait"),
    ]
    assert "1 late, 1 in trouble" in summary(flow)
    row = edge_row(flow["edges"][1], {"Out": "Out", "o1": "sink o1"})
    assert row[-1].content == "trouble: it answered 503"


def test_a_box_names_who_leads_and_how_many_more() -> None:
    """Many partitions do not make a box of many lines."""
    nine = [{**PARTITION, "partition": n} for n in range(9)]
    group: dict[str, Any] = {"group": "a", "partitions": nine}
    group["partitions"][1] |= {"node": None}
    group["partitions"][2] |= {"lag": 5}
    lines = lines_of(group)
    assert lines[:3] == ["0: p-1, 1,200 events/s", "1: nobody leads",
                         "2: p-1, 1,200 events/s, lag 5"]  # fmt: skip
    assert lines[-1] == "and 3 more"
    assert len(lines) == 7


def test_who_does_not_answer_is_named() -> None:
    """So that a figure that is too low is not believed."""
    assert silence({"silent": []}) == ""
    assert silence({"silent": ["receiver-2"]}).endswith("do not answer: receiver-2")
    assert rate(None) == "not counted"
