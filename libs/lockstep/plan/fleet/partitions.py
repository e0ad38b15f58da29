"""How a value partition of the app's own can be cut: by its keys, unless it shares something."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.plan.fleet.contract import Together
from lockstep.plan.fleet.keys import attribute, carried, is_pure, plain, text_of
from lockstep.plan.fleet.traits import (
    Key,
    Keyed,
    Trait,
    Whole,
    counts_sends,
    selected_of,
    shared_state,
    streams_of,
    window_of,
)
from lockstep.plan.nodes import PartitionNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
)

Known = Mapping[str, tuple[Key, ...]]


def partition_trait(node: PartitionNode, checked: CheckedApp) -> Trait:
    """How a partition can be cut."""
    keys: dict[str, Key] = {}
    for key in node.partition.partition.keys:
        if isinstance(key, ast.RangeKey):
            return Whole("its keys are ranges, and an event may be in several of them")
        if key.stream in checked.windows or key.stream in checked.triggers:
            return Whole(f"it takes its events from '{key.stream}', which is no stream")
        if not is_pure(key.expression):
            return Whole("its key is not said by the event alone")
        keys[key.stream] = plain(key.expression)
    for query in node.queries:
        reason = shared_state(query.query)
        if reason is not None:
            return Whole(f"{query.name}: {reason}")
    broadcast = tuple(name for name in node.reads if name not in keys)
    together = Together.RUNS if partition_counts_sends(node) else None
    return (Keyed(keys, _carries(node, keys), False, together, broadcast),)


def partition_counts_sends(node: PartitionNode) -> bool:
    """Whether what comes out depends on how a send is cut at changes of the key."""
    queries = [one.query for one in node.queries]
    if any(map(counts_sends, queries)):
        return True
    targets = [one.output.name for one in queries]
    sources = [name for one in node.queries for name in one.reads]
    return len(set(targets)) < len(targets) or len(set(sources)) < len(sources)


def _carries(node: PartitionNode, keys: Mapping[str, Key]) -> Known:
    """What of its rows is the key: the same in all queries that write a stream."""
    known: dict[str, tuple[Key, ...]] = {name: (key,) for name, key in keys.items()}
    written: dict[str, tuple[Key, ...]] = {}
    for _ in range(len(node.queries) + 1):
        written = {}
        for one in node.queries:
            found = tuple(_carried(one.query, known))
            before = written.get(one.writes)
            if before is not None:
                texts = set(map(text_of, found))
                found = tuple(key for key in before if text_of(key) in texts)
            written[one.writes] = found
        known |= {name: found for name, found in written.items() if name.startswith("#")}
    return {name: found for name, found in written.items() if not name.startswith("#")}


def _carried(query: CheckedQuery, known: Known) -> list[Key]:
    match query.input:
        case CheckedStream(input=stream):
            if any(_rewrites(one) for one in streams_of(query)):
                return []
            selected = [(name, plain(each)) for name, each in selected_of(query)]
            return list(carried(known.get(stream.source, ()), selected))
        case CheckedJoin(input=joined, left=left, right=right):
            outer = {ast.JoinType.LEFT_OUTER: {0}, ast.JoinType.RIGHT_OUTER: {1}}
            both = set() if joined.type is ast.JoinType.FULL_OUTER else {0, 1}
            slots = outer.get(joined.type, both)
            sources = {0: left.input.source, 1: right.input.source}
            return _by_slot(query, {slot: sources[slot] for slot in slots}, known)
        case CheckedPattern() as pattern:
            return _by_slot(query, _first_state(pattern), known)


def _rewrites(stream: CheckedStream) -> bool:
    call = window_of(stream)
    return call is not None and call.name == "externalTimeBatch"


def _first_state(pattern: CheckedPattern) -> dict[int, str]:
    """The slot of the first event, where every match has one."""
    element = pattern.input.element
    first = element.elements[0] if isinstance(element, ast.ChainState) else element
    first = first.state if isinstance(first, ast.EveryState) else first
    if isinstance(first, ast.StreamState):
        return {0: pattern.states[0].stream.input.source}
    return {}


def _by_slot(query: CheckedQuery, sources: Mapping[int, str], known: Known) -> list[Key]:
    found: list[Key] = []
    for name, expression in selected_of(query):
        if not isinstance(expression, ast.Variable):
            continue
        ref = query.scope.resolve(expression)
        if ref.slot not in sources or ref.is_list:
            continue
        read = attribute(query.scope.sources[ref.slot].schema.names[ref.attribute])
        if text_of(read) in map(text_of, known.get(sources[ref.slot], ())):
            found.append(attribute(name))
    return found
