"""The groups that the planner finds by itself: it cuts only where the rows of each key stay what
they are on one node. What turns out to be too much is kept whole, and it begins again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lockstep.plan.fleet.choosing import choose
from lockstep.plan.fleet.crossing import Crossing
from lockstep.plan.fleet.drafts import Draft, Keep
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.growth import Growth
from lockstep.plan.fleet.placing import main_of, place_free
from lockstep.plan.fleet.traits import Keyed, Whole
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.stream_annotations import has_fault_stream


@dataclass(frozen=True)
class Found:
    """Cut groups in order of the text, and the nodes of the whole one with the reasons why."""

    groups: tuple[Draft, ...]
    main: frozenset[str]
    chosen: dict[str, Keyed]
    because: dict[str, str]


def find_groups(graph: Graph) -> Found:
    """The groups of an app without @dist."""
    whole = {
        name: trait.because for name, trait in graph.traits.items() if isinstance(trait, Whole)
    }
    for name, because in _faulty(graph).items():
        whole.setdefault(name, because)
    while True:
        try:
            return _attempt(graph, whole)
        except Keep as keep:
            fresh = [name for name in keep.nodes if name not in whole]
            for name in fresh or [name for name in graph.nodes if name not in whole]:
                whole.setdefault(name, keep.because)


def _faulty(graph: Graph) -> dict[str, str]:
    """Readers of streams whose failed events go to a fault stream: a whole send fails together."""
    faulty = {
        one.name
        for one in graph.plan.checked.app.definitions
        if isinstance(one, ast.StreamDefinition) and has_fault_stream(one)
    }
    return {
        name: f"events of '{stream}' that fail go to '!{stream}' with all that was sent with them"
        for stream in sorted(faulty)
        for name in graph.readers(stream)
    }


def _attempt(graph: Graph, whole: Mapping[str, str]) -> Found:
    """One round: what is whole is given."""
    chosen = choose(graph, whole)
    growth = Growth(graph, whole, chosen)
    for name in chosen:
        growth.provide_all(name)
    growth.join_neighbours()
    growth.join_users()
    growth.join_writers()
    main = main_of(graph, whole)
    drafts = growth.drafts()
    place_free(graph, whole, drafts, main)
    crossing = Crossing(graph, chosen, drafts, main)
    crossing.check_exports()
    crossing.check_channels()
    crossing.check_sends()
    return Found(tuple(drafts), frozenset(main), chosen, dict(whole))
