"""Partitions (grammar 11, semantics 15): keys by stream, inner streams, queries inside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lockstep.events import AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPartition, CheckedQuery, SourceKind
from lockstep.siddhiql.checking.annotations import check_distribution, single, switch
from lockstep.siddhiql.checking.expressions import condition, normalise
from lockstep.siddhiql.checking.streams import stream_scope
from lockstep.siddhiql.checking.symbols import Symbols
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.scope import Scope
from lockstep.siddhiql.typing import infer, positioned


@dataclass
class OpenPartition:
    """A partition whose queries are being checked."""

    name: str
    partition: ast.Partition
    inner: dict[str, StreamSchema] = field(default_factory=dict)
    queries: dict[int, CheckedQuery] = field(default_factory=dict)

    def close(self, symbols: Symbols) -> CheckedPartition:
        """The checked partition, once all its queries are checked."""
        _check_purge(self.partition)
        check_distribution(self.partition.annotations)
        scopes: dict[str, Scope] = {}
        keys = []
        for key in self.partition.keys:
            schema = _key_stream(key, symbols)
            scope = stream_scope(symbols, schema, key.stream)
            if key.stream in scopes:
                raise positioned(
                    key.at, f"the stream {key.stream!r} has two keys", "keep one of them"
                )
            scopes[key.stream] = scope
            keys.append(_key(key, scope))
        queries = tuple(self.queries[index] for index in sorted(self.queries))
        made = replace(
            self.partition, keys=tuple(keys), queries=tuple(query.query for query in queries)
        )
        return CheckedPartition(self.name, made, scopes, queries, self.inner)


def _key_stream(key: ast.ValueKey | ast.RangeKey, symbols: Symbols) -> StreamSchema:
    kind, schema = symbols.source(key.stream, key.at, None)
    if kind not in (SourceKind.STREAM, SourceKind.TRIGGER, SourceKind.WINDOW):
        raise positioned(
            key.at,
            f"only streams and windows can be partitioned; {key.stream!r} is a {kind.value}",
            "name the stream that feeds it",
        )
    return schema


def _key(key: ast.ValueKey | ast.RangeKey, scope: Scope) -> ast.ValueKey | ast.RangeKey:
    if isinstance(key, ast.ValueKey):
        expression = normalise(key.expression, scope)
        if infer(expression, scope, aggregators_allowed=False) is AttributeType.OBJECT:
            raise positioned(key.at, "an object cannot be a partition key", "use one of its values")
        return replace(key, expression=expression)
    cases = tuple(
        replace(case, condition=condition(case.condition, scope, "a partition's range"))
        for case in key.cases
    )
    return replace(key, cases=cases)


def _check_purge(partition: ast.Partition) -> None:
    purge = single(partition.annotations, "purge")
    if purge is None:
        return
    if switch(purge, "enable") is None:
        raise positioned(purge.at, "@purge of a partition needs 'enable'", "enable='true'")
    if purge.get("idle.period") is None:
        raise positioned(
            purge.at, "@purge of a partition needs 'idle.period'", "idle.period='1 hour'"
        )
    for key in ("idle.period", "interval"):
        annotation_ms(purge, key)
