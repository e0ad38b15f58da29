"""Patterns and sequences (grammar 8.3, 8.4, semantics 12, 13): states by slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import (
    CheckedHandler,
    CheckedPattern,
    CheckedState,
    CheckedStream,
    SourceKind,
)
from lockstep.siddhiql.checking.streams import check_handler, stream_scope
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Shape, Source
from lockstep.siddhiql.typing import positioned


@dataclass
class _Leaf:
    """A state on its way: what was written, and the schema its handlers leave."""

    stream: ast.StreamInput
    reference: str | None
    is_list: bool
    kind: SourceKind
    source: StreamSchema
    schema: StreamSchema


def _leaves(
    element: ast.StateElement, is_list: bool = False
) -> list[tuple[ast.StreamInput, str | None, bool]]:
    """(stream, reference, is it counted) of all states, in order of writing."""
    match element:
        case ast.StreamState(stream=stream, reference=reference):
            return [(stream, reference, is_list)]
        case ast.AbsentState(stream=stream, for_ms=for_ms):
            if for_ms == 0:
                raise positioned(
                    element.at, "an absence needs more than 0 milliseconds", "for 1 sec"
                )
            return [(stream, None, False)]
        case ast.CountState(state=state):
            return _leaves(state, is_list=True)
        case ast.EveryState(state=inner):
            return _leaves(inner)
        case ast.LogicalState(left=left, right=right):
            return _leaves(left) + _leaves(right)
        case ast.ChainState(elements=elements):
            return [leaf for part in elements for leaf in _leaves(part)]


def check_pattern(
    state: ast.StateInput, symbols: Symbols, inner: dict[str, StreamSchema] | None
) -> CheckedPattern:
    """All states first, then their filters, which may refer to each other."""
    leaves = [
        _leaf(stream, reference, is_list, symbols, inner)
        for stream, reference, is_list in _leaves(state.element)
    ]
    _check_references(leaves)
    sources = tuple(map(_source, leaves))
    scope = symbols.scope(Shape.MATCHED, *sources)
    states = tuple(_state(slot, leaf, sources, symbols) for slot, leaf in enumerate(leaves))
    streams = iter([checked.stream.input for checked in states])
    made = replace(state, element=_rebuilt(state.element, streams))
    return CheckedPattern(made, states, scope)


def _leaf(
    stream: ast.StreamInput,
    reference: str | None,
    is_list: bool,
    symbols: Symbols,
    inner: dict[str, StreamSchema] | None,
) -> _Leaf:
    kind, source = symbols.source(stream.source, stream.at, inner)
    if kind in (SourceKind.TABLE, SourceKind.AGGREGATION):
        raise positioned(
            stream.at,
            f"the {kind.value} {stream.source!r} cannot stand in a pattern",
            "use a stream",
        )
    schema = source
    for handler in stream.handlers:
        if isinstance(handler, ast.StreamFunction):
            scope = stream_scope(symbols, schema, stream.source)
            schema = check_handler(handler, scope, schema, kind, symbols).schema
    return _Leaf(stream, reference, is_list, kind, source, schema)


def _check_references(leaves: list[_Leaf]) -> None:
    seen: set[str] = set()
    for leaf in leaves:
        if leaf.reference is None:
            continue
        if leaf.reference in seen:
            raise positioned(
                leaf.stream.at, f"two events are called {leaf.reference!r}", "rename one of them"
            )
        seen.add(leaf.reference)


def _source(leaf: _Leaf) -> Source:
    """Without a reference the stream's own name serves, where that is unambiguous."""
    name = leaf.stream.source if leaf.reference is None else leaf.reference
    return Source(leaf.schema, (name,), leaf.is_list)


def _state(slot: int, leaf: _Leaf, sources: tuple[Source, ...], symbols: Symbols) -> CheckedState:
    own = sources[slot]
    # In its own filter a state also answers to the name of its stream.
    named = replace(own, names=tuple(dict.fromkeys((*own.names, leaf.stream.source))))
    seen = (*sources[:slot], named, *sources[slot + 1 :])
    scope = symbols.scope(Shape.MATCHED, *seen, preferred=slot)
    schema = leaf.source
    handlers: list[CheckedHandler] = []
    for handler in leaf.stream.handlers:
        checked = check_handler(handler, scope, schema, leaf.kind, symbols)
        handlers.append(checked)
        schema = checked.schema
    stream = replace(leaf.stream, handlers=tuple(checked.handler for checked in handlers))
    made = CheckedStream(stream, leaf.kind, leaf.source, tuple(handlers), schema)
    return CheckedState(slot, made, leaf.reference, leaf.is_list, scope)


def _rebuilt(element: ast.StateElement, streams: Iterator[ast.StreamInput]) -> ast.StateElement:
    """The tree with the streams made ready, taken in order of writing."""
    match element:
        case ast.StreamState() | ast.AbsentState():
            return replace(element, stream=next(streams))
        case ast.CountState(state=state):
            return replace(element, state=replace(state, stream=next(streams)))
        case ast.EveryState(state=inner):
            return replace(element, state=_rebuilt(inner, streams))
        case ast.LogicalState(left=left, right=right):
            made = replace(left, stream=next(streams))
            return replace(element, left=made, right=replace(right, stream=next(streams)))
        case ast.ChainState(elements=elements):
            return replace(element, elements=tuple(_rebuilt(e, streams) for e in elements))
