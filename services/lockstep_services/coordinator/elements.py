"""What an app consists of, for who draws its flow: the older products' list of elements. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lockstep.plan import AppPlan, PartitionNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.printing import print_node

Element = dict[str, Any]


def elements_of(plan: AppPlan) -> list[Element]:
    """Sources, queries (one element for each stream that they read), functions and sinks."""
    app = plan.checked.app
    texts = {one.name: print_node(one) for one in app.definitions if hasattr(one, "name")}
    return [
        *_connected(app, "source", "outputStream", texts),
        *_queries(plan, texts),
        *_functions(plan),
        *_connected(app, "sink", "inputStream", texts),
    ]


def _connected(app: ast.App, kind: str, side: str, texts: dict[str, str]) -> Iterator[Element]:
    for definition in app.definitions:
        if not isinstance(definition, ast.StreamDefinition):
            continue
        for annotation in definition.annotations:
            if annotation.name.lower() == kind:
                name = definition.name
                stream = {f"{side}Id": name, f"{side}SiddhiApp": texts.get(name, "")}
                yield {kind: annotation.get("type") or "", **stream}


def _queries(plan: AppPlan, texts: dict[str, str]) -> Iterator[Element]:
    for node in plan.nodes:
        if isinstance(node, PartitionNode):
            text = print_node(node.partition.partition)
            for query in node.queries:
                for element in _query(query, texts):
                    yield {**element, "partition": node.name, "partitionSiddhiApp": text}
        else:
            yield from _query(node, texts)


def _query(node: QueryNode, texts: dict[str, str]) -> Iterator[Element]:
    for name in node.reads:
        yield {
            "inputStreamId": name,
            "inputStreamSiddhiApp": texts.get(name, ""),
            "outputStreamId": node.writes,
            "outputStreamSiddhiApp": texts.get(node.writes, ""),
            "queryName": node.name,
            "query": print_node(node.query.query),
        }


def _functions(plan: AppPlan) -> Iterator[Element]:
    for name, function in plan.checked.functions.items():
        yield {"function": name, "functionSiddhiApp": print_node(function)}
