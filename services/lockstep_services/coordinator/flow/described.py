"""The flow of an app as programs get it, for the coordinator's OpenAPI document."""

from __future__ import annotations

from typing import Final, TypedDict

from lockstep.frame.openapi import Described


class FlowNode(TypedDict):
    """`kind`: source, stream, query, table, window, aggregation, trigger, sink, presenter,
    archive. `group`: in whose box it stands; null: outside of all."""

    id: str
    kind: str
    name: str
    group: str | None
    detail: str


class FlowEdge(TypedDict):
    """`per_s`: events or rows in a second, lately; null: not counted. `lag`: of what is there and
    was not taken yet, in `lag_of` (records, rows); null: none is known. Latencies are in
    milliseconds from the door's taking an event until it had come over this edge; null: not
    measured. `carried_by`: nodes of the suite. `state`: ok, lag, trouble."""

    from_node: str
    to_node: str
    per_s: float | None
    lag: int | None
    lag_of: str
    latency_p50_ms: int | None
    latency_p99_ms: int | None
    carried_by: list[str]
    state: str
    trouble: str | None


class FlowPartition(TypedDict):
    """`node`: who leads it; null: nobody."""

    partition: int
    node: str | None
    events_per_s: int
    rows_per_s: float
    lag: int
    busy_permille: int
    latency_p50_ms: int
    latency_p99_ms: int
    trouble: str | None


class FlowGroup(TypedDict):
    """Queries that run together, in each of these partitions."""

    group: str
    partitions: list[FlowPartition]


class Flow(TypedDict):
    """`silent`: processes that carry something of the app and did not say what passes."""

    app: str
    version: str
    measured_ms: int
    groups: list[FlowGroup]
    nodes: list[FlowNode]
    edges: list[FlowEdge]
    silent: list[str]


FLOW: Final = (
    Described("GET", "/v1/apps/{app}/flow", "What passes through it: a graph with rates.", Flow),
)
