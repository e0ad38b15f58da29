"""Where plain queries run that no cut query asked for, and what the whole group has. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.plan.fleet.drafts import Draft, Keep, Need
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.traits import Free


def main_of(graph: Graph, whole: Mapping[str, str]) -> set[str]:
    """The nodes of the whole group, with the plain queries that feed them from the input."""
    main = {name for name in graph.nodes if name in whole}
    wanted = [stream for name in main for stream in graph.reads(name)]
    aggregations = graph.plan.checked.aggregations.values()
    wanted += [one.input.input.source for one in aggregations]
    seen: set[str] = set()
    while wanted:
        stream = wanted.pop()
        if stream in seen:
            continue
        seen.add(stream)
        writers = graph.writers(stream)
        if not all(one in main or _feeds_main(graph, whole, one) for one in writers):
            continue  # of several writers one is cut: all of the stream comes from its group
        for writer in writers:
            if writer not in main:
                main.add(writer)
                wanted += graph.reads(writer)
    return main


def _feeds_main(graph: Graph, whole: Mapping[str, str], writer: str) -> bool:
    """A plain query is repeated in the whole group where nothing cut stands in front of it."""
    return isinstance(graph.traits[writer], Free) and all(
        one in whole or isinstance(graph.traits[one], Free)
        for read in graph.reads(writer)
        for one in graph.behind(read)
    )


def place_free(graph: Graph, whole: Mapping[str, str], drafts: list[Draft], main: set[str]) -> None:
    """Plain queries that nobody asked for stand where their input is."""
    left = [name for name, trait in graph.traits.items() if isinstance(trait, Free)]
    left = [name for name in left if name not in main and name not in whole]
    left = [name for name in left if all(name not in one.nodes for one in drafts)]
    while left:
        rest = [name for name in left if not _place(graph, drafts, name, main)]
        if len(rest) == len(left):
            raise Keep(tuple(rest), "its rows come back to it")
        left = rest


def _place(graph: Graph, drafts: list[Draft], name: str, main: set[str]) -> bool:
    """Into the group that its input is in; False while that is not known."""
    trait = graph.traits[name]
    assert isinstance(trait, Free)
    writers = set(graph.writers(trait.source))
    for draft in drafts:
        need = draft.feeds.get(trait.source)
        is_fed = need is not None and need.key is not None and need.is_all
        if writers <= draft.nodes if writers else is_fed:
            draft.nodes.add(name)
            return True
    if not writers:
        for draft in drafts:
            need = draft.feeds.get(trait.source)
            if need is not None and need.key is not None:
                # That group leaves out what has no key, or more.
                drafts.append(Draft({name}, {trait.source: Need(need.key, nulls=True)}))
                return True
    placed = main.union(*(draft.nodes for draft in drafts))
    if not writers <= placed:
        return False
    raise Keep((name,), "no query that is cut by key reads what it reads")
