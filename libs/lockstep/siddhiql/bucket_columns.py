"""The tables that an aggregation has in a store: a column per base value (semantics 17.1)."""

from __future__ import annotations

from typing import Final

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer, is_aggregator

LONG, STRING = AttributeType.LONG, AttributeType.STRING
BUCKET: Final = Attribute("AGG_TIMESTAMP", LONG)
"""The bucket's start in milliseconds."""
SHARD: Final = Attribute("SHARD_ID", STRING)
"""With @PartitionById: who writes the row."""
EVENT_TIMES: Final = (
    Attribute("AGG_EVENT_TIMESTAMP", LONG),
    Attribute("AGG_LAST_EVENT_TIMESTAMP", LONG),
)
"""With `aggregate by`: the bucket's start on that clock, and the latest event time in it."""
SUFFIXES: Final = {
    ast.Granularity.SECONDS: "SECONDS",
    ast.Granularity.MINUTES: "MINUTES",
    ast.Granularity.HOURS: "HOURS",
    ast.Granularity.DAYS: "DAYS",
    ast.Granularity.MONTHS: "MONTHS",
    ast.Granularity.YEARS: "YEARS",
}
_KEPT: Final = {
    "sum": ("AGG_SUM",),
    "avg": ("AGG_SUM", "AGG_COUNT"),
    "count": ("AGG_COUNT",),
    "min": ("AGG_MIN",),
    "max": ("AGG_MAX",),
    "distinctCount": ("AGG_DISTINCTCOUNT",),
}


def base_columns(item: ast.OutputAttribute, name: str, scope: Scope) -> tuple[Attribute, ...]:
    """What is stored for a selected value, in the order in which its aggregator keeps it.

    A plain value is stored under its own name; all AGG_COUNT are one column, whatever is counted.
    """
    call = item.expression
    if not isinstance(call, ast.FunctionCall) or not is_aggregator(call, scope.functions):
        return (Attribute(name, infer(call, scope)),)
    made = []
    for base in _KEPT[call.name]:
        if base == "AGG_COUNT" or not call.arguments:
            made.append(Attribute("AGG_COUNT", LONG))
            continue
        (argument,) = call.arguments
        assert isinstance(argument, ast.Variable)
        made.append(Attribute(f"{base}_{argument.name}", _type(base, argument, scope)))
    return tuple(made)


def _type(base: str, argument: ast.Variable, scope: Scope) -> AttributeType:
    own = infer(argument, scope)
    if base == "AGG_DISTINCTCOUNT":
        return LONG
    if base == "AGG_SUM":
        return LONG if own in (AttributeType.INT, LONG) else AttributeType.DOUBLE
    return own
