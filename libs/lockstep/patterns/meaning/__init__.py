"""Patterns and sequences (semantics 12, 13): `build_pattern` makes a query's state machine."""

from __future__ import annotations

from lockstep.operators.contract import Context, InputRuntime
from lockstep.patterns.meaning.machine import PatternMachine
from lockstep.siddhiql.checked import CheckedPattern, CheckedQuery


def build_pattern(query: CheckedQuery, context: Context) -> InputRuntime:
    """The runtime of a query whose input is a pattern or a sequence; one per partition instance."""
    if not isinstance(query.input, CheckedPattern):
        raise TypeError("the query's input is no pattern")
    return PatternMachine(query.input, context)


__all__ = ["build_pattern"]
