"""Everything that has a name in an app, and what a name means in `from` and `into`."""

from __future__ import annotations

from dataclasses import dataclass, field

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import UTC, CheckedAggregation, SourceKind
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.suggestions import did_you_mean
from lockstep.siddhiql.typing import positioned

ERROR_ATTRIBUTE = Attribute("_error", AttributeType.OBJECT)
TRIGGER_ATTRIBUTES = (Attribute("triggered_time", AttributeType.LONG),)


def schema_of(name: str, attributes: tuple[ast.AttributeDefinition, ...]) -> StreamSchema:
    """The schema of a definition's attributes, which must have different names."""
    seen: set[str] = set()
    for attribute in attributes:
        if attribute.name in seen:
            raise positioned(
                attribute.at, f"{name!r} has two attributes {attribute.name!r}", "rename one"
            )
        seen.add(attribute.name)
    return StreamSchema(name, tuple(Attribute(a.name, a.type) for a in attributes))


@dataclass
class Symbols:
    """The names of an app that is being checked; inferred streams come in as queries are done.

    `time_zone` and `shard` are the app's, for its aggregations. `copied`: tables that a database
    alone writes; `answers`: those of them that it fills event by event.
    """

    streams: dict[str, StreamSchema] = field(default_factory=dict)
    inferred: set[str] = field(default_factory=set)
    tables: dict[str, ast.TableDefinition] = field(default_factory=dict)
    windows: dict[str, ast.WindowDefinition] = field(default_factory=dict)
    triggers: dict[str, ast.TriggerDefinition] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDefinition] = field(default_factory=dict)
    aggregations: dict[str, CheckedAggregation] = field(default_factory=dict)
    schemas: dict[str, StreamSchema] = field(default_factory=dict)
    function_types: dict[str, AttributeType] = field(default_factory=dict)
    table_schemas: dict[str, StreamSchema] = field(default_factory=dict)
    time_zone: str = UTC
    shard: str | None = None
    copied: frozenset[str] = frozenset()
    answers: frozenset[str] = frozenset()

    def kind_of(self, name: str) -> SourceKind | None:
        """What a name (without `#`) is, or None."""
        if name.startswith("!"):
            return SourceKind.FAULT if name in self.streams else None
        if name in self.tables:
            return SourceKind.TABLE
        if name in self.windows:
            return SourceKind.WINDOW
        if name in self.aggregations:
            return SourceKind.AGGREGATION
        if name in self.triggers:
            return SourceKind.TRIGGER
        return SourceKind.STREAM if name in self.streams else None

    def source(
        self, name: str, at: ast.Location, inner: dict[str, StreamSchema] | None
    ) -> tuple[SourceKind, StreamSchema]:
        """Kind and schema of a name behind `from` or `join`; `inner`: a partition's streams."""
        if name.startswith("#"):
            return SourceKind.INNER, self._inner(name, at, inner)
        kind = self.kind_of(name)
        if kind is None:
            raise self.unknown(name, at)
        return kind, self.schemas[name]

    def _inner(
        self, name: str, at: ast.Location, inner: dict[str, StreamSchema] | None
    ) -> StreamSchema:
        if inner is None:
            raise positioned(
                at, f"the inner stream {name!r} stands outside of a partition", "remove the '#'"
            )
        if name not in inner:
            raise positioned(at, f"no query writes to {name!r}", did_you_mean(name, inner))
        return inner[name]

    def unknown(self, name: str, at: ast.Location) -> Exception:
        """The error for a name that is not defined."""
        if name.startswith("!") and name[1:] in self.streams:
            return positioned(
                at,
                f"the stream {name[1:]!r} has no fault stream",
                "put @OnError(action='STREAM') in front of its definition",
            )
        return positioned(
            at,
            f"the stream {name!r} is not defined",
            did_you_mean(name, self.schemas) if self.schemas else f"define stream {name} (…);",
        )

    def infer_stream(self, name: str, schema: StreamSchema) -> None:
        """A stream that comes into being because a query writes to it."""
        made = schema.renamed(name)
        self.streams[name] = made
        self.schemas[name] = made
        self.inferred.add(name)

    def scope(
        self,
        shape: Shape,
        *sources: Source,
        outputs: StreamSchema | None = None,
        preferred: int | None = None,
    ) -> Scope:
        """A scope in which the app's tables and functions are known."""
        return Scope(
            shape, tuple(sources), outputs, preferred, self.table_schemas, self.function_types
        )
