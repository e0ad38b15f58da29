"""What goes from group to group must arrive as on one node; where it would not, a node is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockstep.plan.fleet.contract import Together
from lockstep.plan.fleet.drafts import Draft, Keep
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.reading import node_counts_sends
from lockstep.plan.fleet.traits import Keyed, has_timers


class Crossing:
    """Looks at finished groups. Its checks raise Keep."""

    def __init__(
        self,
        graph: Graph,
        chosen: Mapping[str, Keyed],
        drafts: Sequence[Draft],
        main: set[str],
    ) -> None:
        self._graph = graph
        self._chosen = chosen
        self._drafts = drafts
        self._main = main

    def check_exports(self) -> None:
        """One group gives out a stream, so that its rows have one order."""
        for stream in self._graph.plan.exported:
            writers = set(self._graph.writers(stream))
            self._check_nulls(stream, writers)
            if not any(
                writers <= nodes for nodes in (self._main, *(one.nodes for one in self._drafts))
            ):
                raise Keep(tuple(sorted(writers)), f"others write '{stream}', too, cut otherwise")

    def _check_nulls(self, stream: str, writers: set[str]) -> None:
        """A plain query gives out what has no key, too, which its reader's group may leave out."""
        keyed = set(self._chosen)
        if self._graph.behind(stream) & keyed:
            return
        for draft in self._drafts:
            short = {name for name, need in draft.feeds.items() if need.key and not need.is_all}
            for name in (writers - keyed - self._main) & draft.nodes:
                if short & self._graph.origins[name]:
                    raise Keep((name,), f"'{stream}' is given out, with events that have no key")

    def check_channels(self) -> None:
        order: dict[int, set[int]] = {}
        for place, draft in enumerate(self._drafts):
            for stream in draft.channels:
                order.setdefault(place, set()).update(self._check(stream, draft))
        for stream in {read for name in self._main for read in self._graph.reads(name)} | {
            one.input.input.source for one in self._graph.plan.checked.aggregations.values()
        }:
            if self._graph.writers(stream) and not set(self._graph.writers(stream)) <= self._main:
                order.setdefault(-1, set()).update(self._check(stream, None))
        for place in order:
            if _reaches(order, place, place):
                names = self._drafts[place].nodes if place >= 0 else _nodes_of(order, self._drafts)
                raise Keep(self._keyed(names), "its rows come back to it through other groups")

    def _check(self, stream: str, reader: Draft | None) -> set[int]:
        """The groups that a stream comes from; Keep where its order would be another one."""
        graph = self._graph
        writers = set(graph.writers(stream))
        readers = tuple(
            sorted(
                one
                for one in graph.readers(stream)
                if one in (self._main if reader is None else reader.nodes)
            )
        )
        sources = {
            i for i, one in enumerate(self._drafts) if writers & one.nodes and one is not reader
        }
        blamed = self._keyed(set(readers)) or readers
        if reader is None:
            blamed = self._keyed({one for one in graph.behind(stream) if one not in self._main})
        if writers <= self._main and reader is not None:
            sources = {-1}
        elif len(sources) != 1 or not all(writers <= self._drafts[i].nodes for i in sources):
            raise Keep(blamed, f"'{stream}' comes from several groups")
        inside = frozenset(graph.ahead(stream)) & frozenset(
            self._main if reader is None else reader.nodes
        )
        for nodes, roots in graph.meetings(
            inside
            | frozenset(
                one
                for node in inside
                for written in graph.writes(node)
                for one in graph.writers(written)
            )
        ):
            if roots & graph.roots(stream) and set(nodes) & inside:
                raise Keep(blamed, f"'{stream}' meets other rows of the same events at {nodes[0]}")
        if -1 in sources:
            if (
                graph.is_timed(stream)
                and reader is not None
                and any(has_timers(graph.nodes[one]) for one in reader.nodes)
            ):
                raise Keep(blamed, f"time brings rows of '{stream}' and moves its own windows")
            return sources
        self._check_cut_writer(stream, self._drafts[next(iter(sources))], blamed, readers)
        return sources

    def _keyed(self, names: set[str]) -> tuple[str, ...]:
        return tuple(name for name in self._chosen if name in names)

    def _check_cut_writer(
        self, stream: str, draft: Draft, blamed: tuple[str, ...], readers: tuple[str, ...]
    ) -> None:
        graph = self._graph
        to = f"'{stream}' goes to {', '.join(readers) or 'an aggregation'}, which is not cut alike"
        if graph.is_timed(stream):
            raise Keep(blamed, f"{to}, and rows of different keys that time brings have no order")
        if graph.roots(stream) & draft.channels.keys():
            raise Keep(blamed, f"{to}, and it came through another group already")
        for name in graph.behind(stream) & draft.nodes:
            keyed = self._chosen.get(name)
            if keyed is not None and (keyed.broadcast or keyed.passes_sends):
                raise Keep(blamed, f"{to}, and rows of different keys that one send brings mix")
            if keyed is not None and keyed.joins_sends and self._is_counted(stream):
                raise Keep(blamed, f"{to}, and rows that one send brings are added up together")
        if any(need.together is Together.KEYS for need in draft.feeds.values()) or any(
            True for _ in graph.meetings(frozenset(draft.nodes))
        ):
            raise Keep(blamed, f"{to}, and several queries answer to one event")

    def _is_counted(self, stream: str) -> bool:
        """Whether what was sent together matters to who reads it, near or far."""
        return any(node_counts_sends(self._graph.nodes[name]) for name in self._graph.ahead(stream))

    def check_sends(self) -> None:
        """What one send brings from two sides keeps its order only where a key's events are one
        delivery; a partition that tells neighbours apart cannot have that. Nor can it read what a
        group makes of a send of one key, as rows of other keys stand in between on one node."""
        for draft in self._drafts:
            for name in self._keyed(draft.nodes):
                if self._chosen[name].passes_sends or self._chosen[name].joins_sends:
                    self._check_neighbours(name, draft)
            for nodes, roots in self._graph.meetings(frozenset(draft.nodes)):
                for stream in sorted(roots & {*draft.feeds, *draft.channels}):
                    feeds = draft.feeds if stream in draft.feeds else draft.channels
                    need = feeds[stream]
                    if need.key is None:
                        continue
                    if need.together is Together.RUNS:
                        plain = all(one not in self._chosen for one in nodes)
                        raise Keep(
                            nodes if plain else self._keyed(draft.nodes),
                            f"what was sent together meets again at {' and '.join(nodes)}",
                        )
                    need.together = Together.KEYS

    def _check_neighbours(self, name: str, draft: Draft) -> None:
        for stream in self._graph.writes(name):
            for reader in self._keyed(set(self._graph.ahead(stream)) & draft.nodes):
                keyed = self._chosen[reader]
                if not keyed.wraps and keyed.together is Together.RUNS:
                    raise Keep((name,), f"what it brings of one send is cut by key in {reader}")


def _reaches(order: dict[int, set[int]], start: int, goal: int) -> bool:
    seen: set[int] = set()
    left = list(order.get(start, ()))
    while left:
        one = left.pop()
        if one == goal:
            return True
        if one not in seen:
            seen.add(one)
            left += order.get(one, ())
    return False


def _nodes_of(order: dict[int, set[int]], drafts: Sequence[Draft]) -> set[str]:
    return {
        name
        for place in order
        if place >= 0 and _reaches(order, place, place)
        for name in drafts[place].nodes
    }
