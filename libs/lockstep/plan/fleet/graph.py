"""An app's nodes and what goes between them: who writes a stream, what can cause its rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from lockstep.plan.fleet.partitions import partition_trait
from lockstep.plan.fleet.queries import query_trait
from lockstep.plan.fleet.reading import for_readers, in_time, node_holds_rows_back
from lockstep.plan.fleet.traits import Trait, node_shows_timers, streams_of
from lockstep.plan.nodes import AppPlan, PlanNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedApp, CheckedJoin
from lockstep.siddhiql.trees import below


class Graph:
    """The nodes of a plan by name, in order of the text. Tables, named windows and aggregations
    are streams here, too: who writes them and who reads them. `rules`: by which nodes may be cut
    (contract.RULES)."""

    def __init__(self, plan: AppPlan, rules: int) -> None:
        self.plan = plan
        self._rules = rules
        self.nodes: dict[str, PlanNode] = {node.name: node for node in plan.nodes}
        self._known_roots: dict[str, frozenset[str]] = {}
        self._writers = _turned({name: node.written for name, node in self.nodes.items()})
        self._readers = _turned({name: self.reads(name) for name in self.nodes})
        self.origins: dict[str, frozenset[str]] = {
            name: frozenset(root for one in self.reads(name) for root in self.roots(one))
            for name in self.nodes
        }
        """The streams whose events may at once reach a node, by its name."""
        self._ahead = {one: frozenset(nodes) for one, nodes in _turned(self.origins).items()}
        self.traits: dict[str, Trait] = self._traits()

    def _traits(self) -> dict[str, Trait]:
        found, is_playback = {}, self.plan.checked.is_playback
        holding = [
            name
            for name, node in self.nodes.items()
            if node_holds_rows_back(node, is_playback=is_playback)
        ]
        for name, node in self.nodes.items():
            late = {
                stream: held_back[0]
                for stream in node.reads
                if (held_back := self._of_behind(holding, stream))
            }
            roots = [self.roots(one) for one in self.reads(name)]
            meets = is_playback and any(True for _ in _common(roots))
            trait = in_time(node, _trait(node, self.plan.checked, self._rules), late, meets=meets)
            ahead = {each for stream in node.written for each in self.ahead(stream)}
            found[name] = for_readers(trait, [self.nodes[each] for each in ahead])
        return found

    def _of_behind(self, nodes: Sequence[str], stream: str) -> list[str]:
        behind = self.behind(stream) if nodes else frozenset()
        return [one for one in nodes if one in behind]

    @property
    def stores(self) -> frozenset[str]:
        """Tables, named windows, aggregations and triggers."""
        checked = self.plan.checked
        return frozenset(
            [*checked.tables, *checked.windows, *checked.aggregations, *checked.triggers]
        )

    def users(self, store: str) -> tuple[str, ...]:
        """The nodes that read or write a store."""
        found = {*self.readers(store), *self.writers(store)}
        return tuple(name for name in self.nodes if name in found)

    def reads(self, node: str) -> tuple[str, ...]:
        """Streams and stores that a node reads."""
        return self._reads[node]

    @cached_property
    def _reads(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for name, node in self.nodes.items():
            queries = (node,) if isinstance(node, QueryNode) else node.queries
            asked = [
                one.table
                for query in queries
                for one in below(query.query.query)
                if isinstance(one, ast.InTable)
            ]
            found[name] = tuple(dict.fromkeys([*node.reads, *asked]))
        return found

    def writes(self, node: str) -> tuple[str, ...]:
        """Streams and stores that a node writes."""
        return self.nodes[node].written

    def writers(self, stream: str) -> tuple[str, ...]:
        """The nodes that write a stream."""
        return self._writers.get(stream, ())

    def readers(self, stream: str) -> tuple[str, ...]:
        """The nodes that read a stream."""
        return self._readers.get(stream, ())

    def roots(self, stream: str) -> frozenset[str]:
        """The streams whose events may at once bring rows of this one, itself among them."""
        found = self._known_roots.get(stream)
        if found is None:
            found = self._known_roots[stream] = frozenset(self._reached(stream))
        return found

    def _reached(self, stream: str) -> set[str]:
        found, left = {stream}, [stream]
        while left:
            one = left.pop()
            sources = {read for writer in self.writers(one) for read in self.reads(writer)}
            aggregation = self.plan.checked.aggregations.get(one)
            if aggregation is not None:
                sources.add(aggregation.input.input.source)
            left += sources - found
            found |= sources
        return found

    def is_timed(self, stream: str) -> bool:
        """Whether time alone may bring rows of a stream."""
        return any(node_shows_timers(self.nodes[one]) for one in self.behind(stream)) or any(
            root in self.plan.checked.triggers for root in self.roots(stream)
        )

    def behind(self, stream: str) -> frozenset[str]:
        """The nodes whose rows lead to a stream."""
        roots = self.roots(stream)
        return frozenset(name for one in roots for name in self.writers(one))

    def ahead(self, stream: str) -> frozenset[str]:
        """The nodes that rows of a stream lead to."""
        return self._ahead.get(stream, frozenset())

    def meetings(self, nodes: frozenset[str]) -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
        """Where what one event brings comes together from two sides: (the nodes, the streams that
        it may have come from)."""
        for name in sorted(nodes):
            for roots in _common([self.roots(read) for read in self._subscribed(name)]):
                yield (name,), roots
        for stream in sorted({written for name in nodes for written in self.writes(name)}):
            writers = [name for name in self.writers(stream) if name in nodes]
            for roots in _common([self.origins[name] for name in writers]):
                yield tuple(writers), roots

    def _subscribed(self, name: str) -> tuple[str, ...]:
        node = self.nodes[name]
        if isinstance(node, QueryNode) and isinstance(node.query.input, CheckedJoin):
            return tuple(one.input.source for one in streams_of(node.query))
        if isinstance(node, QueryNode):
            return self.reads(name)
        # What only a partition itself puts into a table comes from no other side.
        own = {one for one in self.plan.checked.tables if self.writers(one) == (name,)}
        return tuple(one for one in self.reads(name) if one not in own)


def _trait(node: PlanNode, checked: CheckedApp, rules: int) -> Trait:
    if isinstance(node, QueryNode):
        return query_trait(node.query, checked, rules)
    return partition_trait(node, checked, rules)


def _turned(streams: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """From the streams of each node to the nodes of each stream, in order of the text."""
    found: dict[str, dict[str, None]] = {}
    for node, named in streams.items():
        for one in named:
            found.setdefault(one, {})[node] = None
    return {stream: tuple(nodes) for stream, nodes in found.items()}


def _common(sides: list[frozenset[str]]) -> Iterator[frozenset[str]]:
    for place, one in enumerate(sides):
        for other in sides[place + 1 :]:
            if one & other:
                yield one & other
