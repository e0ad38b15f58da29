"""Which key each node is cut by, where it can be cut by several. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.keys import substituted, text_of
from lockstep.plan.fleet.traits import Free, Keyed
from lockstep.siddhiql import ast


def choose(graph: Graph, whole: Mapping[str, str]) -> dict[str, Keyed]:
    """For each keyed node the option that most others go along with."""
    options = {
        name: trait
        for name, trait in graph.traits.items()
        if isinstance(trait, tuple) and name not in whole
    }
    origins = _Origins(graph)
    votes: Counter[tuple[str, str]] = Counter()
    for trait in options.values():
        votes.update({pair for option in trait for pair in origins.of(option)})

    def weight(option: Keyed) -> int:
        return sum(votes[pair] * times for pair, times in origins.of(option).items())

    return {name: max(trait, key=weight) for name, trait in options.items()}


class _Origins:
    """(stream, key) as the input brings them, as often as ways lead there, as far as plain queries
    lead back; of a table its own."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[tuple[str, str], Counter[tuple[str, str]]] = {}

    def of(self, option: Keyed) -> Counter[tuple[str, str]]:
        """Of what a node would be cut by."""
        found = Counter(option.tables.items())
        for stream, key in option.keys.items():
            found += self._behind(stream, key, frozenset())[0]
        return found

    def _behind(
        self, stream: str, key: ast.Expression, above: frozenset[str]
    ) -> tuple[Counter[tuple[str, str]], bool]:
        """And whether it is the same whatever stands above: no way comes back to it. Then it is
        counted once, as ways may fork and meet at every step."""
        here = (stream, text_of(key))
        known = self._known.get(here)
        if known is not None:
            return known, True
        found, is_same = Counter([here]), True
        for writer in self._graph.writers(stream):
            trait = self._graph.traits[writer]
            if isinstance(trait, Free) and writer not in above:
                through = substituted(key, trait.selected)
                if through is not None:
                    more, holds = self._behind(trait.source, through, above | {writer})
                    found += more
                    is_same &= holds
            elif isinstance(trait, Free):
                is_same = False
            elif isinstance(trait, tuple):
                found += _carried(trait, *here)
        if is_same:
            self._known[here] = found
        return found, is_same


def _carried(options: tuple[Keyed, ...], stream: str, key: str) -> Counter[tuple[str, str]]:
    """What options that carry a key onto a stream are cut by."""
    return Counter(
        pair
        for option in options
        if key in map(text_of, option.carries.get(stream, ()))
        for pair in ((one, text_of(by)) for one, by in option.keys.items())
    )
