"""Inputs of queries as text: streams, joins, patterns and sequences (grammar 8)."""

from __future__ import annotations

from lockstep.siddhiql import ast
from lockstep.siddhiql.printing.expressions import print_call, print_expression, print_time
from lockstep.siddhiql.printing.names import name, prefixed


def print_handler(handler: ast.Handler) -> str:
    """`[filter]`, `#function()`, `#window.name()`."""
    match handler:
        case ast.Filter(condition=condition):
            return f"[{print_expression(condition)}]"
        case ast.WindowHandler(call=call):
            return f"#window.{print_call(call)}"
        case ast.StreamFunction(call=call):
            return f"#{print_call(call)}"


def print_stream(stream: ast.StreamInput) -> str:
    """A source with its handlers and alias."""
    text = prefixed(stream.source) + "".join(map(print_handler, stream.handlers))
    return text if stream.alias is None else f"{text} as {name(stream.alias)}"


def print_range(range_: ast.Range) -> str:
    """`within a, b per g`."""
    end = "" if range_.end is None else f", {print_expression(range_.end)}"
    per = "" if range_.per is None else f" per {print_expression(range_.per)}"
    return f"within {print_expression(range_.start)}{end}{per}"


def print_join(join: ast.JoinInput) -> str:
    """Both sides with their conditions."""
    parts = [print_stream(join.left)]
    if join.trigger is ast.JoinTrigger.LEFT:
        parts.append("unidirectional")
    parts += [join.type.value, print_stream(join.right)]
    if join.trigger is ast.JoinTrigger.RIGHT:
        parts.append("unidirectional")
    if join.on is not None:
        parts.append(f"on {print_expression(join.on)}")
    if join.range is not None:
        parts.append(print_range(join.range))
    return " ".join(parts)


def _count(state: ast.CountState) -> str:
    if state.spelling != "<>":
        return state.spelling
    if state.min == state.max:
        return f"<{state.min}>"
    low = "" if state.min == 0 and state.max is not None else state.min
    return f"<{low}:{'' if state.max is None else state.max}>"


def print_element(element: ast.StateElement, separator: str, *, is_nested: bool = True) -> str:
    """One element of a pattern or sequence; nested chains stand in parentheses."""
    match element:
        case ast.StreamState(stream=stream, reference=reference):
            text = print_stream(stream)
            return text if reference is None else f"{name(reference)}={text}"
        case ast.CountState(state=state):
            return print_element(state, separator) + _count(element)
        case ast.AbsentState(stream=stream, for_ms=for_ms):
            text = f"not {print_stream(stream)}"
            return text if for_ms is None else f"{text} for {print_time(for_ms)}"
        case ast.LogicalState(left=left, right=right, is_and=is_and):
            word = "and" if is_and else "or"
            return f"{print_element(left, separator)} {word} {print_element(right, separator)}"
        case ast.EveryState(state=inner):
            return f"every {print_element(inner, separator)}"
        case ast.ChainState(elements=elements):
            text = separator.join(print_element(part, separator) for part in elements)
            return f"({text})" if is_nested else text


def print_state(state: ast.StateInput) -> str:
    """A pattern or sequence with its `within`."""
    separator = ", " if state.is_sequence else " -> "
    text = print_element(state.element, separator, is_nested=False)
    if state.within_ms is not None:
        text += f" within {print_time(state.within_ms)}"
    return text
