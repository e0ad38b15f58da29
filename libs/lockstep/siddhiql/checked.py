"""A checked app: every name resolved to a schema, every query with its scopes and output schema.

Built by `check`; consumed by `plan`. Nothing here can be invalid any more: names exist, types fit,
parameters are right. `siddhiql.typing.infer(expression, scope)` gives the type of any expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import ClassVar

from lockstep.events import StreamSchema
from lockstep.siddhiql import ast
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.scope import Scope

UTC = "UTC"
"""The calendar of aggregations that ask for no other."""


class SourceKind(Enum):
    """What a name in `from` or `into` is."""

    STREAM = "stream"
    INNER = "inner"
    FAULT = "fault"
    TABLE = "table"
    WINDOW = "window"
    TRIGGER = "trigger"
    AGGREGATION = "aggregation"


@dataclass(frozen=True)
class CheckedHandler:
    """A handler with the scope its arguments see and the schema that leaves it.

    For filters and windows `schema` equals what came in; stream functions append attributes.
    """

    handler: ast.Handler
    scope: Scope
    schema: StreamSchema


@dataclass(frozen=True)
class CheckedStream:
    """One input stream: where from, its handlers, and the schema behind the last one."""

    input: ast.StreamInput
    kind: SourceKind
    source_schema: StreamSchema
    handlers: tuple[CheckedHandler, ...]
    schema: StreamSchema


@dataclass(frozen=True)
class CheckedJoin:
    """left and right as streams; `on` is evaluated in `scope` (JOINED: slot 0 left, 1 right)."""

    input: ast.JoinInput
    left: CheckedStream
    right: CheckedStream
    scope: Scope


@dataclass(frozen=True)
class CheckedState:
    """One StreamState/AbsentState of a pattern, in order of writing = its slot.

    `scope` is what its filters see (MATCHED; `preferred` is its own slot). A state without `e1=`
    has a slot nobody can name. A counted state's slot is a list.
    """

    slot: int
    stream: CheckedStream
    reference: str | None
    is_list: bool
    scope: Scope


@dataclass(frozen=True)
class CheckedPattern:
    """A pattern or sequence: the tree plus its leaf states by slot (depth first, left to right)."""

    input: ast.StateInput
    states: tuple[CheckedState, ...]
    scope: Scope


CheckedInput = CheckedStream | CheckedJoin | CheckedPattern


@dataclass(frozen=True)
class CheckedQuery:
    """A query with everything resolved.

    `selection` are the expressions of `output` in order (for `select *` plain variables that
    resolve in `scope`). `scope` is what `select` and `group by` see; `having_scope` what `having`
    and `order by` see. `output.name` is the target's name. `action_scope` (JOINED: slot 0 the
    output row, slot 1 the table's row) is what `on` and `set` of table actions see; None for
    inserts into streams. `uses_aggregators` is true when select or having calls an aggregator
    (semantics 4).
    """

    name: str
    query: ast.Query
    input: CheckedInput
    selection: tuple[ast.OutputAttribute, ...]
    scope: Scope
    having_scope: Scope
    output: StreamSchema
    target_kind: SourceKind
    action_scope: Scope | None
    uses_aggregators: bool


@dataclass(frozen=True)
class CheckedOnDemand:
    """An on-demand query (grammar 12, semantics 11) with everything resolved.

    With a source (`kind` says which kind of store) `scope` is STREAM with the store's schema in
    slot 0: what `on`, `select`, `group by` and the store's `within` and `per` see. Without one
    `scope` is STREAM with an empty schema. `selection` are the expressions of `output` (for
    `select *` and for no select plain variables; none when nothing is selected and there is no
    source). `having_scope` is what `having` and `order by` see. `action_scope` is JOINED (slot 0
    the output row, slot 1 the target table's row): what `on` and `set` of the action see; None for
    find and insert. `output.name` is the target's name for writing queries.
    """

    query: ast.OnDemandQuery
    kind: SourceKind | None
    selection: tuple[ast.OutputAttribute, ...]
    scope: Scope
    having_scope: Scope
    output: StreamSchema
    action_scope: Scope | None
    uses_aggregators: bool

    @property
    def is_write(self) -> bool:
        """Whether it changes a table."""
        return not isinstance(self.query.action, ast.ReturnEvents | None)


@dataclass(frozen=True)
class CheckedPartition:
    """A partition: key scopes by stream name (none where it is broadcast), queries in order.

    `inner` are the schemas of the `#streams`, by name with the `#`.
    """

    name: str
    partition: ast.Partition
    key_scopes: dict[str, Scope]
    queries: tuple[CheckedQuery, ...]
    inner: dict[str, StreamSchema]


@dataclass(frozen=True)
class Retention:
    """How long buckets are kept, by granularity (others for ever), and how often that is looked at;
    `interval_ms` None: never.
    """

    interval_ms: int | None
    kept_ms: Mapping[ast.Granularity, int]


@dataclass(frozen=True)
class CheckedAggregation:
    """An aggregation: its input, the granularities finest first (ranges spelled out), its schema.

    `schema` is what readers see: AGG_TIMESTAMP long, then the select names. `tables` are those that
    it has in its @store, `shard` what SHARD_ID is in them (None: no such column). `time_zone` names
    the calendar that its buckets follow.
    """

    definition: ast.AggregationDefinition
    input: CheckedStream
    granularities: tuple[ast.Granularity, ...]
    scope: Scope
    schema: StreamSchema
    retention: Retention
    tables: Mapping[ast.Granularity, ast.TableDefinition] = field(default_factory=dict)
    shard: str | None = None
    time_zone: str = UTC


class Change(IntEnum):
    """What an event of a copied table's stream of changes does to the table."""

    ROW = 1
    GONE = 2
    ALL_GONE = 3


@dataclass(frozen=True)
class ExternalTable:
    """A table that follows one of a database. `definition`: as written; `columns`: of each
    attribute the database's column. `is_by_key`: the database finds a row by its whole key alone.
    """

    definition: ast.TableDefinition
    store: ast.Annotation
    key: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    is_by_key: bool = False

    @property
    def name(self) -> str:
        """The table's."""
        return self.definition.name

    @property
    def changes(self) -> str:
        """The stream by which its rows come: an input of the app that no sender may use."""
        return f"{self.name}__changes"


@dataclass(frozen=True)
class Lookup:
    """What rows of a table are asked for: of each attribute named, the value that it must have: an
    attribute of the event, or a constant."""

    table: ExternalTable
    equal: tuple[tuple[str, str | ast.Constant], ...]


@dataclass(frozen=True)
class AskedStream:
    """A stream whose events bring with them what a database answered when they came.

    In a record the rows come first, then the events, then the keys of the rows, which go again.
    """

    stream: ast.StreamDefinition
    tables: tuple[ExternalTable, ...]
    lookups: tuple[Lookup, ...]

    EVENT: ClassVar = 0

    @property
    def name(self) -> str:
        """Of the stream by which all of it comes."""
        return f"{self.stream.name}__asked"

    def comes(self, table: int) -> int:
        """The change that says that a row of the table is there."""
        return 1 + 2 * table

    def goes(self, table: int) -> int:
        """And that it is not."""
        return 2 + 2 * table


@dataclass(frozen=True)
class CheckedApp:
    """The whole app. `streams` holds defined and inferred streams (faults as `!S`), by name.

    `external`: tables that follow a database; `answers`: those that hold what it answered to an
    event of an `asked` stream. `objection`: why a new text like this is refused, where an app that
    runs goes on (`check_deployed`).
    """

    text: str
    app: ast.App
    name: str
    annotations: dict[str, ast.Annotation]
    streams: dict[str, StreamSchema]
    inferred: frozenset[str]
    tables: dict[str, ast.TableDefinition]
    windows: dict[str, ast.WindowDefinition]
    triggers: dict[str, ast.TriggerDefinition]
    functions: dict[str, ast.FunctionDefinition]
    aggregations: dict[str, CheckedAggregation]
    schemas: dict[str, StreamSchema]
    execution: tuple[CheckedQuery | CheckedPartition, ...]
    external: tuple[ExternalTable, ...] = ()
    asked: tuple[AskedStream, ...] = ()
    answers: frozenset[str] = frozenset()
    objection: SiddhiQLError | None = None

    @property
    def bucket_tables(self) -> dict[str, ast.TableDefinition]:
        """The tables of aggregations in their stores, by name: written, never read."""
        of_all = (a.tables.values() for a in self.aggregations.values())
        return {table.name: table for tables in of_all for table in tables}

    @property
    def is_playback(self) -> bool:
        """True under @app:playback."""
        return "playback" in self.annotations
