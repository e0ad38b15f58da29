"""Builds inputs of queries: streams with handlers, joins, patterns, sequences (grammar 8)."""

from __future__ import annotations

from typing import Any, TypeVar

from lark import Token

from lockstep.siddhiql import ast
from lockstep.siddhiql.syntax.build_expressions import Nodes, integer
from lockstep.siddhiql.syntax.names import error, every, first, has, place

_JOIN_TYPES = {
    "LEFT": ast.JoinType.LEFT_OUTER,
    "RIGHT": ast.JoinType.RIGHT_OUTER,
    "FULL": ast.JoinType.FULL_OUTER,
}

_Stream = TypeVar("_Stream", bound=ast.StreamInput)


MAX_STATES = 500
"""How many events a pattern or sequence may name."""


def _without_alias(stream: ast.StreamInput, where: str, hint: str) -> ast.StreamInput:
    if stream.alias is not None:
        raise error(stream.at, f"{where} takes no 'as'", hint)
    return stream


def _in_state(stream: ast.StreamInput) -> ast.StreamInput:
    for handler in stream.handlers:
        if isinstance(handler, ast.WindowHandler):
            raise error(handler.at, "patterns and sequences take no windows", "remove the window")
    return _without_alias(
        stream, "a stream in a pattern", "name the event in front of it: e1=Stream"
    )


def _state(node: Any) -> Any:
    """A stream, referenced or plain, or any other element as it is."""
    if isinstance(node, ast.StreamInput):
        return ast.StreamState(_in_state(node), at=node.at)
    return node


class StreamRules:
    """Single streams and joins (grammar 8.1, 8.2)."""

    def filter(self, children: Nodes) -> ast.Filter:
        condition = children[-1]
        return ast.Filter(condition, at=place(condition))

    def window_handler(self, children: Nodes) -> ast.WindowHandler:
        return ast.WindowHandler(children[-1], at=place(children[0]))

    def stream_function(self, children: Nodes) -> ast.StreamFunction:
        return ast.StreamFunction(children[-1], at=place(children[0]))

    def stream_input(self, children: Nodes) -> ast.StreamInput:
        source = children[0]
        handlers = every(children, (ast.Filter, ast.WindowHandler, ast.StreamFunction))
        windows = every(handlers, ast.WindowHandler)
        if len(windows) > 1:
            raise error(windows[1].at, "a stream takes one window", "use a second query")
        alias = children[-1].text if has(children, "AS") else None
        return ast.StreamInput(source.full, handlers, alias, at=source.at)  # type: ignore[arg-type]

    def single_input(self, children: Nodes) -> ast.StreamInput:
        return _without_alias(children[0], "a single stream", "aliases exist in joins only")

    def join_type(self, children: Nodes) -> ast.JoinType:
        if children[0].type == "OUTER":
            raise error(
                place(children[0]),
                "an outer join needs a side",
                "write 'left outer join', 'right outer join' or 'full outer join'",
            )
        return _JOIN_TYPES.get(children[0].type, ast.JoinType.INNER)

    def _join(self, children: Nodes, marked: ast.JoinTrigger) -> ast.JoinInput:
        left, right = every(children, ast.StreamInput)
        type_ = first(children, ast.JoinType)
        assert type_ is not None
        for side in (left, right):
            seen_window = False
            for handler in side.handlers:
                if seen_window:
                    raise error(
                        handler.at, "in a join nothing may follow the window", "put it in front"
                    )
                seen_window = isinstance(handler, ast.WindowHandler)
        on = children[-1]
        if isinstance(on, ast.Range):
            if on.per is None:
                raise error(on.at, "'within' needs 'per' here", "add: per 'hours'")
            on = children[-2]
        return ast.JoinInput(
            left,
            right,
            type_,
            marked if has(children, "UNIDIRECTIONAL") else ast.JoinTrigger.BOTH,
            on if has(children, "ON") else None,
            first(children, ast.Range),
            at=left.at,
        )

    def join_input(self, children: Nodes) -> ast.JoinInput:
        return self._join(children, ast.JoinTrigger.RIGHT)

    def left_join_input(self, children: Nodes) -> ast.JoinInput:
        return self._join(children, ast.JoinTrigger.LEFT)

    def range(self, children: Nodes) -> ast.Range:
        parts = [child for child in children if not isinstance(child, Token)]
        end = parts[1] if len(parts) == 3 else None
        return ast.Range(parts[0], end, parts[-1], at=place(children[0]))

    def range_without_per(self, children: Nodes) -> ast.Range:
        parts = [child for child in children if not isinstance(child, Token)]
        end = parts[1] if len(parts) == 2 else None
        return ast.Range(parts[0], end, None, at=place(children[0]))

    def range_without_within(self, children: Nodes) -> None:
        raise error(place(children[0]), "'per' needs 'within' in front of it", "add: within …")

    def anonymous_query(self, children: Nodes) -> ast.Query:
        return ast.Query(
            children[1],
            first(children, ast.Selector) or ast.Selector(explicit=False),
            children[-1],
            first(children, ast.OutputRate),
            at=place(children[0]),
        )

    def anonymous_input(self, children: Nodes) -> ast.AnonymousInput:
        only = children[0]
        if isinstance(only, ast.AnonymousInput):
            return only
        return ast.AnonymousInput(only, at=only.at)


def _nested_every(element: ast.StateElement) -> ast.EveryState | None:
    if isinstance(element, ast.EveryState):
        return element
    if isinstance(element, ast.ChainState):
        for part in element.elements:
            found = _nested_every(part)
            if found is not None:
                return found
    return None


class StateRules:
    """Patterns and sequences (grammar 8.3, 8.4)."""

    def referenced(self, children: Nodes) -> ast.StreamState:
        name, stream = children
        return ast.StreamState(_in_state(stream), name.text, at=name.at)

    def absent(self, children: Nodes) -> ast.AbsentState:
        time = first(children, ast.Constant)
        return ast.AbsentState(
            _in_state(children[1]),
            None if time is None else int(time.value),
            at=place(children[0]),
        )

    def exactly(self, children: Nodes) -> tuple[int, int | None]:
        return integer(children[0]), integer(children[0])

    def at_least(self, children: Nodes) -> tuple[int, int | None]:
        return integer(children[0]), None

    def at_most(self, children: Nodes) -> tuple[int, int | None]:
        return 0, integer(children[0])

    def between(self, children: Nodes) -> tuple[int, int | None]:
        low, high = integer(children[0]), integer(children[1])
        if low > high:
            raise error(
                place(children[0]), f"<{low}:{high}> asks for more than it allows", "swap them"
            )
        return low, high

    def quantifier(self, children: Nodes) -> tuple[str, int, int | None]:
        counts = {"PLUS": ("+", 1, None), "STAR": ("*", 0, None), "QUESTION": ("?", 0, 1)}
        if len(children) == 1:
            return counts[children[0].type]
        return "<>", *children[1]

    def counted(self, children: Nodes) -> ast.CountState:
        spelling, low, high = children[1]
        return ast.CountState(_state(children[0]), low, high, spelling, at=place(children[0]))

    def logical(self, children: Nodes) -> ast.LogicalState:
        left, operator, right = children
        sides = (_state(left), _state(right))
        is_and = operator.type == "AND"
        for side in sides:
            if isinstance(side, ast.AbsentState) and side.for_ms is None and not is_and:
                raise error(side.at, "a 'not' beside 'or' needs a time", "add: for 5 sec")
        return ast.LogicalState(*sides, is_and, at=place(left))

    def every(self, children: Nodes) -> ast.EveryState:
        inner = _state(children[1])
        nested = _nested_every(inner)
        if nested is not None:
            raise error(nested.at, "'every' cannot stand inside 'every'", "remove one of them")
        return ast.EveryState(inner, at=place(children[0]))

    def group(self, children: Nodes) -> ast.StateElement:
        return _state(children[0])  # type: ignore[no-any-return]

    def within(self, children: Nodes) -> tuple[Token, int]:
        return children[0], int(children[1].value)

    def arrows(self, children: Nodes) -> ast.ChainState:
        return ast.ChainState(tuple(map(_state, children)), at=place(children[0]))

    def commas(self, children: Nodes) -> ast.ChainState:
        chain = ast.ChainState(tuple(map(_state, children)), at=place(children[0]))
        return _Commas(chain.elements, at=chain.at)

    def state_input(self, children: Nodes) -> ast.StateInput:
        element = _state(children[0])
        within = first(children, tuple)
        is_sequence = _is_sequence(element)
        if is_sequence:
            _check_sequence(element)
        _check_elements(element, is_sequence)
        if _count_states(element) > MAX_STATES:
            raise error(element.at, f"a pattern has at most {MAX_STATES} events", "split it")
        return ast.StateInput(
            _plain(element), is_sequence, None if within is None else within[1], at=element.at
        )


class _Commas(ast.ChainState):
    """A chain of a sequence, until the whole input is known."""

    __slots__ = ()


def _parts(element: ast.StateElement) -> tuple[ast.StateElement, ...]:
    if isinstance(element, ast.ChainState):
        return element.elements
    if isinstance(element, ast.EveryState):
        return (element.state,)
    return ()


def _is_sequence(element: ast.StateElement) -> bool:
    return isinstance(element, _Commas) or any(map(_is_sequence, _parts(element)))


def _check_sequence(element: ast.StateElement, is_start: bool = True) -> None:
    """`every` at the very beginning only; no `->` anywhere (grammar 8.4)."""
    if isinstance(element, ast.EveryState):
        if not is_start:
            raise error(
                element.at,
                "in a sequence 'every' stands at the very beginning only",
                "use '->' for a pattern",
            )
        if isinstance(element.state, ast.ChainState):
            raise error(
                element.at, "'every' of a sequence takes no parentheses", "write: every a, b"
            )
    elif isinstance(element, ast.ChainState):
        if not isinstance(element, _Commas):
            raise error(element.at, "'->' and ',' cannot be mixed", "use one of them throughout")
        for index, part in enumerate(element.elements):
            _check_sequence(part, is_start and index == 0)


def _check_elements(element: ast.StateElement, is_sequence: bool) -> None:
    if isinstance(element, ast.AbsentState) and element.for_ms is None:
        raise error(
            element.at,
            "a 'not' standing alone needs a time",
            "add 'for 5 sec', or join it with 'and'",
        )
    if isinstance(element, ast.CountState) and element.spelling != "<>" and not is_sequence:
        raise error(
            element.at,
            f"'{element.spelling}' is for sequences only",
            "patterns count with <1:>, <0:> or <0:1>",
        )
    for part in _parts(element):
        _check_elements(part, is_sequence)
    if isinstance(element, ast.ChainState) and all(map(_is_absent, element.elements)):
        raise error(
            element.at, "nothing but absences: one event must be present", "add an event: … -> e1=S"
        )


def _count_states(element: ast.StateElement) -> int:
    return sum(map(_count_states, _parts(element))) or 1


def _is_absent(element: ast.StateElement) -> bool:
    if isinstance(element, ast.EveryState):
        return _is_absent(element.state)
    return isinstance(element, ast.AbsentState)


def _plain(element: ast.StateElement) -> ast.StateElement:
    """The element with its chains as plain ChainStates."""
    if isinstance(element, ast.EveryState):
        return ast.EveryState(_plain(element.state), at=element.at)
    if isinstance(element, ast.ChainState):
        return ast.ChainState(tuple(map(_plain, element.elements)), at=element.at)
    return element
