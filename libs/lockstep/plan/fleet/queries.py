"""How a query at the top of an app can be cut by key, so that the rows of a key stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lockstep.plan.fleet.contract import CUTS_TABLES, Together
from lockstep.plan.fleet.keys import attribute, conjuncts
from lockstep.plan.fleet.matching import (
    EXACT,
    adds_up_without,
    carrying,
    equal_variables,
    equalities,
    grouped,
    may_be_missing,
)
from lockstep.plan.fleet.tables import table_trait, uses_tables_alone
from lockstep.plan.fleet.traits import (
    Keyed,
    Trait,
    Whole,
    cuts_rows,
    declared,
    free_of,
    has_memory,
    neutral_handlers,
    shared_state,
    window_of,
)
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.windows import Reach
from lockstep.siddhiql.checked import (
    CheckedApp,
    CheckedJoin,
    CheckedPattern,
    CheckedQuery,
    CheckedStream,
)
from lockstep.siddhiql.scope import Scope

_OVER_ALL: Final = "it adds up over all keys: there is no 'group by'"

_PLAYBACK: Final = "in playback an event of any key lets go what is old in its window 'time'"


def query_trait(query: CheckedQuery, checked: CheckedApp, rules: int) -> Trait:
    """How a query can be cut, by the rules of that number (contract.RULES)."""
    by_table = rules >= CUTS_TABLES and uses_tables_alone(query)
    reason = None if by_table else shared_state(query)
    if reason is None and has_memory(query):
        reason = "it calls a function that goes by all calls before, over all keys"
    if reason is None:
        reason = _rate(query)
    if reason is not None:
        return Whole(reason)
    if by_table:
        return table_trait(query, checked)
    match query.input:
        case CheckedStream():
            return _stream(query, query.input, checked, rules)
        case CheckedJoin():
            return _join(query, query.input, checked)
        case CheckedPattern():
            return _pattern(query, query.input)


def _rate(query: CheckedQuery) -> str | None:
    rate = query.query.rate
    if rate is None:
        return None
    if rate.kind is ast.RateKind.FIRST and query.query.selector.group_by:
        return None
    return f"'output {rate.kind.value}' counts the rows or the time of all keys"


# --- one stream ----------------------------------------------------------------------------------


def _stream(query: CheckedQuery, stream: CheckedStream, checked: CheckedApp, rules: int) -> Trait:
    selector = query.query.selector
    reason = neutral_handlers(stream, checked)
    if reason is None and cuts_rows(selector):
        reason = "'order by', 'limit' and 'offset' look at all rows of a send"
    if reason is not None:
        return Whole(reason)
    call = window_of(stream)
    adds_up = query.uses_aggregators or bool(selector.group_by)
    if call is None and not adds_up:
        return free_of(query, stream, rules)
    allowed: list[str] = list(stream.source_schema.names)
    is_timed = call is not None and declared(call).reach is Reach.CLOCK
    if is_timed and checked.is_playback:
        return Whole(_PLAYBACK)
    if call is not None:
        found = _window_keys(call, stream)
        if isinstance(found, Whole):
            return found
        allowed = found
    groups = grouped(query, query.scope)
    if adds_up:
        if not groups:
            return Whole(_OVER_ALL)
        allowed = [name for _, name in groups if name in allowed]
    elif is_timed:
        return Whole("its window has no key: group by one, or put it in a partition")
    if not allowed:
        return Whole("it groups by what the stream has not as an attribute")
    source = stream.input.source
    return tuple(
        Keyed(
            {source: attribute(name)},
            {query.output.name: tuple(carrying(query, [(0, name)]))},
            wraps=True,
            together=Together.KEYS if adds_up else None,
            passes_sends=True,
        )
        for name in dict.fromkeys(allowed)
    )


def _window_keys(call: ast.FunctionCall, stream: CheckedStream) -> list[str] | Whole:
    """By which attributes the window's events can be told apart."""
    names = list(stream.source_schema.names)
    window = declared(call)
    if window.reach is Reach.CLOCK:
        return names
    if window.key_argument is not None and len(call.arguments) > window.key_argument:
        key = call.arguments[window.key_argument]
        if isinstance(key, ast.Variable) and key.name in names:
            return [key.name]
    if window.reach is Reach.ATTRIBUTE:
        return Whole(f"an event of any key moves the clock of its window '{call.name}'")
    return Whole(f"its window '{call.name}' holds events of all keys together")


# --- joins ---------------------------------------------------------------------------------------


def _join(query: CheckedQuery, join: CheckedJoin, checked: CheckedApp) -> Trait:
    sides = (join.left, join.right)
    for side in sides:
        reason = neutral_handlers(side, checked)
        call = window_of(side)
        if reason is None and call is not None and declared(call).reach is not Reach.CLOCK:
            reason = f"its window '{call.name}' holds events of all keys together"
        if reason is None and call is not None and checked.is_playback:
            reason = _PLAYBACK
        if reason is not None:
            return Whole(reason)
    left_name, right_name = (side.input.source for side in sides)
    options = []
    for left, right in equalities(join):
        if left_name == right_name and left != right:
            continue
        preserved = [
            (slot, name)
            for slot, name in ((0, left), (1, right))
            if not may_be_missing(join.input.type, slot)
        ]
        if adds_up_without(query, preserved):
            continue
        options.append(
            Keyed(
                {left_name: attribute(left), right_name: attribute(right)},
                {query.output.name: tuple(carrying(query, preserved))},
                wraps=True,
                together=Together.KEYS if left_name == right_name else None,
                joins_sends=True,
            )
        )
    if options:
        return tuple(options)
    if query.uses_aggregators and any(True for _ in equalities(join)):
        return Whole("it adds up over all keys: it does not group by what it joins on")
    return Whole("it does not join on equal attributes")


# --- patterns ------------------------------------------------------------------------------------


def _pattern(query: CheckedQuery, pattern: CheckedPattern) -> Trait:
    reason = _shape(pattern)
    if reason is not None:
        return Whole(reason)
    certain = _certain(pattern.input.element)
    options = []
    for name in pattern.states[0].stream.source_schema.names:
        keys = _chained(pattern, name, certain)
        if keys is None:
            continue
        known = [(slot, key) for slot, key in enumerate(keys) if slot in certain]
        if adds_up_without(query, known):
            continue
        by_stream: dict[str, str] = {}
        for state, key in zip(pattern.states, keys, strict=True):
            by_stream.setdefault(state.stream.input.source, key)
        options.append(
            Keyed(
                {stream: attribute(key) for stream, key in by_stream.items()},
                {query.output.name: tuple(carrying(query, known))},
                wraps=True,
                together=None,
            )
        )
    if options:
        return tuple(options)
    return Whole("its conditions do not say that all its events have one key")


def _shape(pattern: CheckedPattern) -> str | None:
    """Why matches of one key depend on events of others, if they do."""
    if pattern.input.is_sequence:
        return "in a sequence events of other keys come in between"
    for state in pattern.states:
        if any(not isinstance(one, ast.Filter) for one in state.stream.input.handlers):
            return "its events go through functions or windows"
    elements = _elements(pattern.input.element)
    first = elements[0]
    if not isinstance(first, ast.EveryState) or not isinstance(first.state, ast.StreamState):
        return "without 'every' in front of its first event it matches once, not once for a key"
    if any(isinstance(one, ast.EveryState | ast.ChainState) for one in elements[1:]):
        return "it has a chain or an 'every' in the middle"
    return None


def _elements(element: ast.StateElement) -> tuple[ast.StateElement, ...]:
    return element.elements if isinstance(element, ast.ChainState) else (element,)


def _certain(element: ast.StateElement) -> set[int]:
    """The slots that hold one event in every match."""
    certain: set[int] = set()
    slot = 0
    for one in _elements(element):
        inner = one.state if isinstance(one, ast.EveryState) else one
        if isinstance(inner, ast.StreamState):
            certain.add(slot)
        slot += 2 if isinstance(inner, ast.LogicalState) else 1
    return certain


def _chained(pattern: CheckedPattern, first: str, certain: set[int]) -> list[str] | None:
    """The key attribute of every state, where that of the first is given and the conditions chain
    all others to it; None where they do not."""
    if (
        pattern.states[0].stream.source_schema.types[
            pattern.states[0].stream.source_schema.names.index(first)
        ]
        not in EXACT
    ):
        return None
    keys = [first]
    by_stream = {pattern.states[0].stream.input.source: first}
    for state in pattern.states[1:]:
        own = set(_equal_to_earlier(state.slot, state.scope, state.stream, keys, certain))
        source = state.stream.input.source
        if source in by_stream:
            own &= {by_stream[source]}
        if not own:
            return None
        keys.append(by_stream.setdefault(source, min(own)))
    return keys


def _equal_to_earlier(
    slot: int, scope: Scope, stream: CheckedStream, keys: list[str], certain: set[int]
) -> Iterator[str]:
    """The attributes of a state that must equal an earlier state's key."""
    conditions = [one.condition for one in stream.input.handlers if isinstance(one, ast.Filter)]
    for condition in (each for one in conditions for each in conjuncts(one)):
        pair = equal_variables(condition)
        if pair is None or any(one.index is not None for one in pair):
            continue
        refs = [scope.resolve(one) for one in pair]
        mine = [ref for ref in refs if ref.slot == slot]
        other = [ref for ref in refs if ref.slot in certain and ref.slot < len(keys)]
        if len(mine) != 1 or len(other) != 1 or not {mine[0].type, other[0].type} <= EXACT:
            continue
        names = scope.sources[other[0].slot].schema.names
        if names[other[0].attribute] == keys[other[0].slot]:
            yield scope.sources[slot].schema.names[mine[0].attribute]
