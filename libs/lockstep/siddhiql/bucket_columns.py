"""The tables that an aggregation has in a store: a column per base value (semantics 17.1)."""

from __future__ import annotations

from typing import Final

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.aggregators import AggregatorExtension, Kept
from lockstep.siddhiql.catalogue.core import default_catalogue
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


def kept_for(call: ast.FunctionCall) -> tuple[Kept, ...]:
    """What an aggregation keeps for an aggregator; nothing when it cannot."""
    found = default_catalogue().find(ExtensionKind.AGGREGATOR, call.namespace, call.name)
    return found.keeps if isinstance(found, AggregatorExtension) else ()


def keepable() -> list[str]:
    """The names of the aggregators that an aggregation can keep."""
    return sorted(each.name for each in default_catalogue().aggregators() if each.keeps)


def base_columns(item: ast.OutputAttribute, name: str, scope: Scope) -> tuple[Attribute, ...]:
    """What is stored for a selected value, in the order in which its aggregator keeps it.

    A plain value is stored under its own name; all AGG_COUNT are one column, whatever is counted.
    """
    call = item.expression
    if not isinstance(call, ast.FunctionCall) or not is_aggregator(call, scope.functions):
        return (Attribute(name, infer(call, scope)),)
    made = []
    for base in kept_for(call):
        if base is Kept.COUNT:
            made.append(Attribute(base.value, LONG))
            continue
        (argument,) = call.arguments
        assert isinstance(argument, ast.Variable)
        made.append(Attribute(f"{base.value}_{argument.name}", _type(base, argument, scope)))
    return tuple(made)


def _type(base: Kept, argument: ast.Variable, scope: Scope) -> AttributeType:
    own = infer(argument, scope)
    if base is Kept.DISTINCT:
        return LONG
    if base is Kept.SUM:
        return LONG if own in (AttributeType.INT, LONG) else AttributeType.DOUBLE
    return own
