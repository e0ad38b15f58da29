"""What the readers of a query's rows ask of how it is cut: whether they count what was sent
together, and whether they go by its rows' times. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from lockstep.plan.fleet.contract import Together
from lockstep.plan.fleet.partitions import partition_counts_sends
from lockstep.plan.fleet.traits import (
    Keyed,
    Trait,
    Whole,
    counts_sends,
    declared,
    holds_rows_back,
    streams_of,
    window_of,
)
from lockstep.plan.nodes import PlanNode, QueryNode
from lockstep.siddhiql.catalogue.windows import Reach
from lockstep.siddhiql.checked import CheckedPattern, CheckedQuery
from lockstep.siddhiql.trees import below

_LETS_GO: Final = "and what is old is let go by later rows of any key"


def node_counts_sends(node: PlanNode) -> bool:
    """Whether what was sent together matters to its rows."""
    if isinstance(node, QueryNode):
        return counts_sends(node.query)
    return partition_counts_sends(node)


def for_readers(trait: Trait, ahead: Iterable[PlanNode]) -> Trait:
    """How a node can be cut, given all nodes that its rows lead to. Where one of them counts what
    was sent together, its own input has to be cut as on one node."""
    if not isinstance(trait, tuple) or not any(map(node_counts_sends, ahead)):
        return trait
    return tuple(_told(option) for option in trait)


def _told(option: Keyed) -> Keyed:
    if option.together is not None:
        return option
    if not option.wraps:
        return replace(option, together=Together.RUNS)
    if option.passes_sends or option.joins_sends:
        return replace(option, together=Together.KEYS)
    return option


def in_time(node: PlanNode, trait: Trait, late: Mapping[str, str], *, meets: bool) -> Trait:
    """The same, given the streams whose rows may bear earlier times than rows before them, each
    with the node that holds them back.

    What is old is let go by rows of any key on one node, and by those of its own key where it is
    cut. `meets`: events of a send have times of their own, and come to it by several streams.
    """
    if not isinstance(trait, tuple) or not isinstance(node, QueryNode) or not trait[0].wraps:
        return trait
    if not _has_within(node.query) and not _has_clock(node.query):
        return trait
    for stream in node.reads:
        if stream in late:
            return Whole(f"{late[stream]} holds rows of '{stream}' back, {_LETS_GO}")
    if meets and _has_within(node.query):
        return Whole(f"one event comes by several of its streams, {_LETS_GO}")
    return trait


def _has_within(query: CheckedQuery) -> bool:
    return isinstance(query.input, CheckedPattern) and any(
        getattr(one, "within_ms", None) is not None for one in below(query.query.input)
    )


def _has_clock(query: CheckedQuery) -> bool:
    windows = [call for stream in streams_of(query) if (call := window_of(stream)) is not None]
    return any(declared(call).reach is Reach.CLOCK for call in windows)


def node_holds_rows_back(node: PlanNode, *, is_playback: bool) -> bool:
    """Whether some of its rows may come behind rows with later times."""
    queries = (node,) if isinstance(node, QueryNode) else node.queries
    return any(holds_rows_back(one.query, is_playback=is_playback) for one in queries)
