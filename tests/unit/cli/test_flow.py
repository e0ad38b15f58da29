"""How the flow of an app is printed."""

from __future__ import annotations

from typing import Any

from lockstep.cli.commands.flow import called, edge_row, partition_line

EDGE: dict[str, Any] = {
    "from_node": "Hot", "to_node": "sink:Hot.0.http", "per_s": 1234.5, "lag": 2_000,
    "lag_of": "records", "latency_p50_ms": 4, "latency_p99_ms": 1_250, "carried_by": ["a", "b"],
    "state": "lag", "trouble": None,
}  # fmt: skip
NAMES = {"Hot": "Hot", "sink:Hot.0.http": "sink http"}


def test_an_edge_has_all_of_its_figures_in_a_row() -> None:
    """With the unit of what waits."""
    assert edge_row(EDGE, NAMES) == [
        "Hot", "sink http", "1,234.5", "2,000 records", "4", "1,250", "a, b", "lag",
    ]  # fmt: skip


def test_what_nobody_counts_is_said_and_trouble_is_told() -> None:
    """No figure stands for one that there is not."""
    unknown = {"per_s": None, "lag": None, "latency_p50_ms": None, "latency_p99_ms": None}
    row = edge_row(EDGE | unknown | {"state": "trouble", "trouble": "answered 503"}, NAMES)
    assert row[2:6] == ["not counted", "", "", ""]
    assert row[-1] == "trouble: answered 503"


def test_parts_are_called_by_what_they_are() -> None:
    """Streams by their names alone."""
    assert called({"kind": "stream", "name": "In"}) == "In"
    assert called({"kind": "query", "name": "hot"}) == "query hot"
    assert called({"kind": "presenter", "name": "presenter"}) == "presenter"


def test_a_partition_says_who_leads_it() -> None:
    """Or that nobody does, once."""
    one = {"partition": 1, "node": "p-2", "events_per_s": 1_000, "rows_per_s": 10.0, "lag": 3,
           "trouble": "its windows are full"}  # fmt: skip
    assert partition_line("by_k", one) == (
        "group by_k partition 1: p-2 leads, 1,000 events/s in, 10.0 rows/s out, lag 3 records,"
        " its windows are full"
    )
    assert "nobody leads, 0 events/s" in partition_line(
        "by_k", one | {"node": None, "events_per_s": 0, "trouble": "nobody leads it"}
    )
