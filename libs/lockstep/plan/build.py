"""Builds the plan of a checked app: nodes in order, what they read and write, exports, groups."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.plan.nodes import AppPlan, Group, PartitionNode, PlanNode, QueryNode
from lockstep.plan.rules import RULES
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedApp,
    CheckedInput,
    CheckedJoin,
    CheckedPartition,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
)

MAIN = "main"
"""The group of everything that names none."""


def build(checked: CheckedApp) -> AppPlan:
    """The plan of an app, rewritten by the rules of `plan.rules`."""
    nodes: list[PlanNode] = []
    applied: list[str] = []
    for item in checked.execution:
        if isinstance(item, CheckedPartition):
            nodes.append(_partition_node(item, applied))
        else:
            nodes.append(_query_node(item, applied))
    return AppPlan(
        checked=checked,
        nodes=tuple(nodes),
        inputs=tuple(name for name in checked.streams if not name.startswith(("#", "!"))),
        exported=tuple(_exported(checked, nodes)),
        stored=tuple(_stored(checked)),
        groups=tuple(_groups(nodes)),
        applied=tuple(dict.fromkeys(applied)),
        channels=tuple(_streams_with(checked, "channel")),
    )


def sources_of(checked_input: CheckedInput) -> tuple[str, ...]:
    """The names an input reads, in order of subscription, each once."""
    match checked_input:
        case CheckedStream():
            names = [checked_input.input.source]
        case CheckedJoin():
            names = [checked_input.left.input.source, checked_input.right.input.source]
        case CheckedPattern():
            names = [state.stream.input.source for state in checked_input.states]
    return tuple(dict.fromkeys(names))


def _query_node(query: CheckedQuery, applied: list[str]) -> QueryNode:
    for rule in RULES:
        rewritten = rule.rewrite(query)
        if rewritten is not query:
            applied.append(rule.name)
            query = rewritten
    target = getattr(query.query.action, "target", query.output.name)
    group = _group_name(query.query.annotations)
    return QueryNode(query.name, query, sources_of(query.input), target, group)


def _partition_node(partition: CheckedPartition, applied: list[str]) -> PartitionNode:
    queries = tuple(_query_node(query, applied) for query in partition.queries)
    reads = [name for node in queries for name in node.reads if not name.startswith("#")]
    writes = [node.writes for node in queries if not node.writes.startswith("#")]
    return PartitionNode(
        partition.name,
        partition,
        queries,
        tuple(dict.fromkeys(reads)),
        tuple(dict.fromkeys(writes)),
        _group_name(partition.partition.annotations),
    )


def _dist(annotations: Iterable[ast.Annotation], key: str) -> str | None:
    for annotation in annotations:
        if annotation.name.lower() == "dist":
            return annotation.get(key)
    return None


def _group_name(annotations: Iterable[ast.Annotation]) -> str:
    return _dist(annotations, "execGroup") or MAIN


def _groups(nodes: list[PlanNode]) -> list[Group]:
    members: dict[str, list[PlanNode]] = {MAIN: []}
    for node in nodes:
        members.setdefault(node.group, []).append(node)
    if len(members) > 1 and not members[MAIN]:
        del members[MAIN]
    return [
        Group(name, tuple(node.name for node in group), max([1, *map(_parallel, group)]))
        for name, group in members.items()
    ]


def _parallel(node: PlanNode) -> int:
    if isinstance(node, QueryNode):
        annotations = node.query.query.annotations
    else:
        annotations = node.partition.partition.annotations
    return int(_dist(annotations, "parallel") or 1)


def _has(definition: ast.Definition, annotation: str) -> bool:
    return any(a.name.lower() == annotation for a in getattr(definition, "annotations", ()))


def _exported(checked: CheckedApp, nodes: list[PlanNode]) -> list[str]:
    """Streams with a @sink or a @channel, and streams that some query writes and none reads."""
    written: set[str] = set()
    read: set[str] = set()
    for node in nodes:
        written.update(node.written)
        read.update(node.reads)
    for aggregation in checked.aggregations.values():
        read.add(aggregation.input.input.source)
    out = {*_streams_with(checked, "sink"), *_streams_with(checked, "channel"), *(written - read)}
    return [name for name in checked.streams if name in out]


def _streams_with(checked: CheckedApp, annotation: str) -> list[str]:
    return [
        definition.name
        for definition in checked.app.definitions
        if isinstance(definition, ast.StreamDefinition) and _has(definition, annotation)
    ]


def _stored(checked: CheckedApp) -> list[str]:
    tables = [name for name, definition in checked.tables.items() if _has(definition, "store")]
    return [*tables, *checked.bucket_tables]
