"""Incremental aggregations (grammar 6.6, semantics 17): items, granularities, retention."""

from __future__ import annotations

from dataclasses import replace

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.bucket_columns import keepable, kept_for
from lockstep.siddhiql.checked import CheckedAggregation, SourceKind
from lockstep.siddhiql.checking.annotations import single, switch
from lockstep.siddhiql.checking.bucket_tables import bucket_tables
from lockstep.siddhiql.checking.expressions import has_aggregator, normalise
from lockstep.siddhiql.checking.retention import retention_of
from lockstep.siddhiql.checking.selection import everything, name_of
from lockstep.siddhiql.checking.streams import check_stream, stream_scope
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer, is_aggregator, positioned

AGG_TIMESTAMP = "AGG_TIMESTAMP"

_G = ast.Granularity
GRANULARITIES = (_G.SECONDS, _G.MINUTES, _G.HOURS, _G.DAYS, _G.MONTHS, _G.YEARS)
"""All that can be stored, finest first."""

_INTEGERS = (AttributeType.INT, AttributeType.LONG)


def check_aggregation(
    definition: ast.AggregationDefinition, symbols: Symbols
) -> CheckedAggregation:
    """The aggregation with its input, granularities and the schema that readers see."""
    stream = check_stream(definition.input, symbols, None)
    if stream.kind not in (SourceKind.STREAM, SourceKind.TRIGGER):
        raise positioned(
            definition.input.at,
            f"an aggregation reads a stream, not a {stream.kind.value}",
            "read what feeds it",
        )
    for handler in definition.input.handlers:
        if isinstance(handler, ast.WindowHandler):
            raise positioned(handler.at, "an aggregation's input takes no window", "remove it")
    scope = stream_scope(symbols, stream.schema, definition.input.source)
    selector = definition.selector
    written = everything(scope, selector.at) if selector.attributes is None else selector.attributes
    items = tuple(replace(i, expression=normalise(i.expression, scope)) for i in written)
    attributes = tuple(Attribute(name_of(item), _item_type(item, scope)) for item in items)
    _check_names(items)
    for variable in selector.group_by:
        scope.resolve(variable)
    _check_time(definition, scope)
    granularities = _granularities(definition)
    shard = _check_annotations(definition, symbols.shard)
    retention = retention_of(definition.annotations, granularities)
    made = replace(definition, input=stream.input, selector=replace(selector, attributes=items))
    schema = StreamSchema(
        definition.name, (Attribute(AGG_TIMESTAMP, AttributeType.LONG), *attributes)
    )
    tables = bucket_tables(definition, items, granularities, scope, has_shards=shard is not None)
    for name in (table.name for table in tables.values()):
        if name in symbols.schemas:
            raise positioned(
                definition.at, f"the stored buckets need the name {name!r}", "rename what has it"
            )
    return CheckedAggregation(
        made, stream, granularities, scope, schema, retention, tables, shard, symbols.time_zone
    )


def _check_names(items: tuple[ast.OutputAttribute, ...]) -> None:
    seen = {AGG_TIMESTAMP}
    for item in items:
        if name_of(item) in seen:
            raise positioned(
                item.at, f"two output attributes are called {name_of(item)!r}", "rename"
            )
        seen.add(name_of(item))


def _item_type(item: ast.OutputAttribute, scope: Scope) -> AttributeType:
    expression = item.expression
    if isinstance(expression, ast.FunctionCall) and is_aggregator(expression, scope.functions):
        return _aggregator_type(expression, scope)
    if has_aggregator(expression, scope):
        raise positioned(
            item.at,
            "in an aggregation an aggregator stands alone",
            "select sum(a) as a, count() as n and compute with them where you read",
        )
    return infer(expression, scope)


def _aggregator_type(call: ast.FunctionCall, scope: Scope) -> AttributeType:
    kept = kept_for(call)
    if not kept:
        title = f"{call.namespace}:{call.name}" if call.namespace else call.name
        raise positioned(
            call.at,
            f"an aggregation cannot keep {title!r}",
            f"there are {', '.join(keepable())}",
        )
    for argument in call.arguments:
        if not isinstance(argument, ast.Variable):
            raise positioned(
                argument.at,
                "an aggregator of an aggregation takes a plain attribute",
                "compute the value in a query in front of it",
            )
    type_ = infer(call, scope)
    # Stored as sum and count: dividing a long by a long gives a long (semantics 17.2).
    if len(kept) == 2 and infer(call.arguments[0], scope) in _INTEGERS:
        return AttributeType.LONG
    return type_


def _check_time(definition: ast.AggregationDefinition, scope: Scope) -> None:
    variable = definition.aggregate_by
    if variable is None:
        return
    type_ = scope.resolve(variable).type
    if type_ not in (AttributeType.LONG, AttributeType.STRING):
        raise positioned(
            variable.at,
            f"'aggregate by' takes a long or a string, not {type_.value}",
            "a long counts milliseconds, a string is written 'yyyy-MM-dd HH:mm:ss'",
        )


def _granularities(definition: ast.AggregationDefinition) -> tuple[ast.Granularity, ...]:
    for granularity in definition.every:
        if granularity not in GRANULARITIES:
            raise positioned(
                definition.at,
                f"an aggregation cannot be kept by {granularity.value}",
                f"there are {', '.join(g.value for g in GRANULARITIES)}",
            )
    if not definition.is_range:
        return tuple(g for g in GRANULARITIES if g in definition.every)
    finest, coarsest = (GRANULARITIES.index(g) for g in definition.every)
    if finest > coarsest:
        raise positioned(
            definition.at,
            f"the range {definition.every[0].value} ... {definition.every[1].value} is empty",
            "write the finer one first",
        )
    return GRANULARITIES[finest : coarsest + 1]


def _check_annotations(definition: ast.AggregationDefinition, shard: str | None) -> str | None:
    """The shard's id when the buckets are stored by shard."""
    shards = single(definition.annotations, "partitionbyid")
    by_shard = shards is not None and switch(shards, "enable") is not False
    if shards is not None and by_shard and shard is None:
        raise positioned(
            shards.at,
            "@PartitionById needs a shard id, and the app has none",
            "write @app:shardId('node-1') at the beginning, or remove it",
        )
    persisted = single(definition.annotations, "persistedaggregation")
    if persisted is not None and switch(persisted, "enable"):
        raise positioned(
            persisted.at,
            "aggregations cannot be folded by the database",
            "remove @persistedAggregation: they are folded here and kept in snapshots",
        )
    key = single(definition.annotations, "primarykey")
    if key is not None:
        raise positioned(key.at, "the tables of an aggregation have keys of their own", "remove it")
    return shard if by_shard else None
