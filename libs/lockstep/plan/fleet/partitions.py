"""How a value partition of the app's own can be cut: by its keys, unless it shares something."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from lockstep.plan.fleet.contract import CUTS_TABLES, Together
from lockstep.plan.fleet.keys import attribute, carried, is_pure, plain, text_of
from lockstep.plan.fleet.tables import tables_within, uses_tables_alone
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


def partition_trait(node: PartitionNode, checked: CheckedApp, rules: int) -> Trait:
    """How a partition can be cut, by the rules of that number (contract.RULES)."""
    keys: dict[str, Key] = {}
    for key in node.partition.partition.keys:
        if isinstance(key, ast.RangeKey):
            return Whole("its keys are ranges, and an event may be in several of them")
        if key.stream in checked.windows or key.stream in checked.triggers:
            return Whole(f"it takes its events from '{key.stream}', which is no stream")
        if not is_pure(key.expression):
            return Whole("its key is not said by the event alone")
        keys[key.stream] = plain(key.expression)
    if not keys.keys() & set(node.reads):
        return Whole("none of its queries reads a stream that it has a key for")
    known, written = _carries(node, keys)
    ways: list[dict[str, str]] = [{}]
    for query in node.queries:
        if rules >= CUTS_TABLES and uses_tables_alone(query.query):
            found = tables_within(query.query, _names(query.query, known), checked)
            if isinstance(found, Whole):
                return Whole(f"{query.name}: {found.because}")
            ways = list(_agreeing(ways, found))
            continue
        reason = shared_state(query.query)
        if reason is not None:
            return Whole(f"{query.name}: {reason}")
    if not ways:
        return Whole("its queries find rows of one table by different keys")
    broadcast = tuple(
        name for name in node.reads if name not in keys and name not in checked.tables
    )
    # A key's events of one send go through all queries run by run, and so do their tables' rows.
    counts = partition_counts_sends(node) or bool(ways[0])
    together = Together.RUNS if counts else None
    return tuple(Keyed(keys, written, False, together, broadcast, tables=tables) for tables in ways)


def _names(query: CheckedQuery, known: Known) -> set[str]:
    """The attributes of what a query reads that are the key."""
    sources = [one.input.source for one in streams_of(query)]
    keys = [key for source in sources for key in known.get(source, ())]
    return {key.name for key in keys if isinstance(key, ast.Variable)}


def _agreeing(
    ways: Iterable[dict[str, str]], more: Iterable[dict[str, str]]
) -> Iterator[dict[str, str]]:
    """The tables of both, where no table has two keys."""
    seen = set()
    for one, other in product(ways, more):
        both = one | other
        if all(one.get(table, key) == key for table, key in other.items()):
            text = tuple(sorted(both.items()))
            if text not in seen:
                seen.add(text)
                yield both


def partition_counts_sends(node: PartitionNode) -> bool:
    """Whether what comes out depends on how a send is cut at changes of the key."""
    queries = [one.query for one in node.queries]
    if any(map(counts_sends, queries)):
        return True
    targets = [one.output.name for one in queries]
    sources = [name for one in node.queries for name in one.reads]
    return len(set(targets)) < len(targets) or len(set(sources)) < len(sources)


def _carries(node: PartitionNode, keys: Mapping[str, Key]) -> tuple[Known, Known]:
    """What is the key: of all that it reads, and of its rows, where that is the same in all queries
    that write a stream."""
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
    outer = {name: found for name, found in written.items() if not name.startswith("#")}
    return known, outer


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
