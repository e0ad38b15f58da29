"""What the parts of an app share: the tables, named windows, aggregations and models that a query
touches, and the graph of who reads what others write."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from lockstep.plan import AppPlan, PartitionNode, PlanNode
from lockstep.plan.paths import model_path
from lockstep.siddhiql import ast
from lockstep.siddhiql.models import models_in
from lockstep.siddhiql.trees import below

Item = str
"""A node of the plan or a definition, by its path (plan.paths)."""

K = TypeVar("K", bound=Hashable)


def definitions_of(plan: AppPlan) -> dict[str, Item]:
    """The item of each name that stands for something with state of its own."""
    checked = plan.checked
    kinds = (
        ("table", checked.tables),
        ("window", checked.windows),
        ("aggregation", checked.aggregations),
        ("trigger", checked.triggers),
    )
    return {name: f"{kind}/{name}" for kind, named in kinds for name in named}


def touched(node: PlanNode, definitions: Mapping[str, Item]) -> list[Item]:
    """The tables, named windows, aggregations and models whose state a node reads or writes. What
    an instance of a partition has of its own is nobody else's."""
    if not definitions:
        return models_of(node)
    names: list[str] = []
    queries = node.queries if isinstance(node, PartitionNode) else (node,)
    for query in queries:
        names += (*query.reads, query.writes)
        names += _tables_in(query.query.query)
    if isinstance(node, PartitionNode):
        names += _tables_in(node.partition.partition)
    found = [definitions[name] for name in dict.fromkeys(names) if name in definitions]
    # A trigger's stream is a stream: who reads it shares nothing with it.
    shared = [item for item in found if not item.startswith("trigger/")]
    return [*shared, *models_of(node)]


def models_of(node: PlanNode) -> list[Item]:
    """The models of the whole app that a node teaches or asks."""
    if isinstance(node, PartitionNode):
        return []
    uses = models_in(node.query.query.input)
    return list(dict.fromkeys(model_path(use.name) for use in uses))


def _tables_in(tree: Any) -> Iterator[str]:
    """The tables of `condition in Table`, anywhere in a syntax tree."""
    return (each.table for each in below(tree) if isinstance(each, ast.InTable))


class Together:
    """Which items have to be in one place."""

    def __init__(self) -> None:
        self._above: dict[Item, Item] = {}

    def root(self, item: Item) -> Item:
        """The same for all that are together."""
        while (above := self._above.get(item, item)) != item:
            item = above
        return item

    def join(self, items: Sequence[Item]) -> None:
        """They are together from now on."""
        for item in items[1:]:
            one, other = self.root(items[0]), self.root(item)
            if one != other:
                self._above[other] = one


def followers_of(
    reads: Mapping[str, Sequence[str]], writes: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Who reads what each one writes, but for itself; all by name."""
    readers: dict[str, list[str]] = {}
    for name, sources in reads.items():
        for source in sources:
            readers.setdefault(source, []).append(name)
    return {
        name: [
            reader for written in targets for reader in readers.get(written, ()) if reader != name
        ]
        for name, targets in writes.items()
    }


def components(followers: Mapping[K, Sequence[K]]) -> list[list[K]]:
    """The strongly connected components of a graph, each behind those that lead to it; within one,
    and where the graph leaves the choice, in the order of the mapping."""
    finished = _finished(followers)
    leaders: dict[K, list[K]] = {vertex: [] for vertex in followers}
    for vertex, behind in followers.items():
        for each in behind:
            leaders[each].append(vertex)
    found: list[list[K]] = []
    seen: set[K] = set()
    place = {vertex: i for i, vertex in enumerate(followers)}
    for start in reversed(finished):
        if start in seen:
            continue
        seen.add(start)
        component, waiting = [], [start]
        while waiting:
            vertex = waiting.pop()
            component.append(vertex)
            new = [each for each in leaders[vertex] if each not in seen]
            seen.update(new)
            waiting += new
        found.append(sorted(component, key=place.__getitem__))
    return found


def _finished(followers: Mapping[K, Sequence[K]]) -> list[K]:
    """The vertices of a graph in the order in which a search in depth leaves them."""
    left: list[K] = []
    seen: set[K] = set()
    for start in reversed(list(followers)):
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(followers[start]))]
        while path:
            vertex, behind = path[-1]
            following = next((each for each in behind if each not in seen), None)
            if following is None:
                left.append(vertex)
                path.pop()
            else:
                seen.add(following)
                path.append((following, iter(followers[following])))
    return left
