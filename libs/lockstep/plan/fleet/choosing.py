"""Which key each node is cut by, where it can be cut by several. Pure."""

from __future__ import annotations

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
    votes: dict[tuple[str, str], int] = {}
    for trait in options.values():
        for vote in {pair for option in trait for pair in _pairs(graph, option)}:
            votes[vote] = votes.get(vote, 0) + 1
    return {
        name: max(trait, key=lambda option: sum(votes[pair] for pair in _pairs(graph, option)))
        for name, trait in options.items()
    }


def _pairs(graph: Graph, option: Keyed) -> list[tuple[str, str]]:
    """(stream, key) as the input brings them, as far as plain queries lead back; of a table its
    own."""
    found = list(option.tables.items())
    for stream, key in option.keys.items():
        found += _origins(graph, stream, key, frozenset())
    return found


def _origins(
    graph: Graph, stream: str, key: ast.Expression, above: frozenset[str]
) -> list[tuple[str, str]]:
    found = [(stream, text_of(key))]
    for writer in graph.writers(stream):
        trait = graph.traits[writer]
        if isinstance(trait, Free) and writer not in above:
            through = substituted(key, trait.selected)
            if through is not None:
                found += _origins(graph, trait.source, through, above | {writer})
        elif isinstance(trait, tuple):
            found += [
                pair
                for option in trait
                if text_of(key) in map(text_of, option.carries.get(stream, ()))
                for pair in ((one, text_of(by)) for one, by in option.keys.items())
            ]
    return found
