"""The typed syntax tree of SiddhiQL (grammar 1-14): plain frozen data, no behaviour.

Every node that an error may point at carries `at`, its place in the text; places do not take part
in equality, so that printing and parsing again gives an equal tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from lockstep.events import AttributeType


@dataclass(frozen=True, slots=True)
class Location:
    """1-based line and column of the first character of a node."""

    line: int = 1
    column: int = 1


NOWHERE = Location()


# --- annotations (grammar 5) -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Element:
    """`key='value'` of an annotation, or a positional value when key is None."""

    key: str | None
    value: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """`@name(elements, nested annotations)`; app annotations have names starting with `app:`."""

    name: str
    elements: tuple[Element, ...] = ()
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)

    def get(self, key: str) -> str | None:
        """Value of a key compared without case, or None."""
        wanted = key.lower()
        for element in self.elements:
            if element.key is not None and element.key.lower() == wanted:
                return element.value
        return None

    @property
    def positional(self) -> tuple[str, ...]:
        """Values of the elements without key."""
        return tuple(element.value for element in self.elements if element.key is None)

    def nested(self, name: str) -> tuple[Annotation, ...]:
        """Nested annotations of that name, compared without case."""
        return tuple(a for a in self.annotations if a.name.lower() == name.lower())


# --- expressions (grammar 13, 14) --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Time literals are long constants with `is_time` set (grammar 3.5)."""

    value: str | int | float | bool
    type: AttributeType
    is_time: bool = False
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EventIndex:
    """`[3]`, `[last]`, `[last-1]`: from_last None means counted from the first (0-based)."""

    offset: int
    from_last: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """An attribute reference: `attr`, `S.attr`, `e1[0].attr`, `#inner.attr`, `!fault.attr`.

    `source` keeps the prefix of inner and fault streams (`#S`, `!S`).
    """

    name: str
    source: str | None = None
    index: EventIndex | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EventReference:
    """A whole event: `e1`, `e1[2]`, `T`; only inside `is null` and eventTimestamp(e)."""

    source: str
    index: EventIndex | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`ns:name(arguments)`; aggregators look the same (the checker tells them apart).

    `star` is `f(*)`.
    """

    name: str
    arguments: tuple[Expression, ...] = ()
    namespace: str | None = None
    star: bool = False
    at: Location = field(default=NOWHERE, compare=False, repr=False)


class ArithmeticOperator(StrEnum):
    """Grammar 13.2."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


class CompareOperator(StrEnum):
    """Grammar 13.3."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """left operator right."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """left operator right, giving bool."""

    operator: CompareOperator
    left: Expression
    right: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    """left and right; null counts as false."""

    left: Expression
    right: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    """left or right; null counts as false."""

    left: Expression
    right: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """not operand; not of null is true."""

    operand: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IsNull:
    """operand is null; the operand is an attribute, a function call or an event reference."""

    operand: Variable | FunctionCall | EventReference
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InTable:
    """condition in Table: true when some row makes the condition true (semantics 10)."""

    condition: Expression
    table: str
    at: Location = field(default=NOWHERE, compare=False, repr=False)


Expression = (
    Constant
    | Variable
    | EventReference
    | FunctionCall
    | Arithmetic
    | Compare
    | And
    | Or
    | Not
    | IsNull
    | InTable
)


# --- definitions (grammar 6) -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AttributeDefinition:
    """`name type`."""

    name: str
    type: AttributeType
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """`define stream`."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """`define table`."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


class EventSelection(StrEnum):
    """Which kinds an action or a named window passes on."""

    CURRENT = "current events"
    EXPIRED = "expired events"
    ALL = "all events"


@dataclass(frozen=True, slots=True)
class WindowDefinition:
    """`define window N (…) fn(args) output … events`; output None means all (grammar 6.3)."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    window: FunctionCall
    output: EventSelection | None = None
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TriggerDefinition:
    """`define trigger N at …`: every_ms, or a cron text, or 'start'."""

    name: str
    every_ms: int | None = None
    expression: str | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionDefinition:
    """`define function f[language] return type { body }`."""

    name: str
    language: str
    returns: AttributeType
    body: str
    at: Location = field(default=NOWHERE, compare=False, repr=False)


class Granularity(StrEnum):
    """Aggregation steps, finest first (grammar 6.6)."""

    SECONDS = "seconds"
    MINUTES = "minutes"
    HOURS = "hours"
    DAYS = "days"
    WEEKS = "weeks"
    MONTHS = "months"
    YEARS = "years"


@dataclass(frozen=True, slots=True)
class AggregationDefinition:
    """`define aggregation N from … select … group by … aggregate by … every …`.

    `every` lists the granularities as written; `is_range` is the `a ... b` form (two entries).
    """

    name: str
    input: StreamInput
    selector: Selector
    every: tuple[Granularity, ...]
    is_range: bool = False
    aggregate_by: Variable | None = None
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


Definition = (
    StreamDefinition
    | TableDefinition
    | WindowDefinition
    | TriggerDefinition
    | FunctionDefinition
    | AggregationDefinition
)


# --- inputs (grammar 8) ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """`[expression]`."""

    condition: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamFunction:
    """`#ns:name(args)`: a stream function or stream processor."""

    call: FunctionCall
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WindowHandler:
    """`#window.name(args)`; extensions carry a namespace (`#window.unique:ever`)."""

    call: FunctionCall
    at: Location = field(default=NOWHERE, compare=False, repr=False)


Handler = Filter | StreamFunction | WindowHandler


@dataclass(frozen=True, slots=True)
class StreamInput:
    """One source with its handlers in order. `source` keeps the `#`/`!` prefix of inner/fault."""

    source: str
    handlers: tuple[Handler, ...] = ()
    alias: str | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


class JoinType(StrEnum):
    """Grammar 8.2."""

    INNER = "join"
    LEFT_OUTER = "left outer join"
    RIGHT_OUTER = "right outer join"
    FULL_OUTER = "full outer join"


class JoinTrigger(StrEnum):
    """Which sides trigger: both, or the one marked unidirectional."""

    BOTH = "both"
    LEFT = "left"
    RIGHT = "right"


@dataclass(frozen=True, slots=True)
class Range:
    """`within a[, b] per g` of aggregation joins and on-demand queries (semantics 17.3)."""

    start: Expression
    end: Expression | None
    per: Expression
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class JoinInput:
    """left jointype right [on …] [within … per …]."""

    left: StreamInput
    right: StreamInput
    type: JoinType = JoinType.INNER
    trigger: JoinTrigger = JoinTrigger.BOTH
    on: Expression | None = None
    range: Range | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamState:
    """`[reference =] S[filter]#fn(…)`: one event of a stream (grammar 8.3)."""

    stream: StreamInput
    reference: str | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CountState:
    """A repeated state: `<m:n>`, and `+ * ?` of sequences. max None is unbounded.

    `spelling` keeps how it was written ('<>', '+', '*', '?').
    """

    state: StreamState
    min: int
    max: int | None
    spelling: str = "<>"
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AbsentState:
    """`not S[f] [for t]`; for_ms None is the untimed absence beside `and`."""

    stream: StreamInput
    for_ms: int | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LogicalState:
    """left and|or right; exactly two sides, each a StreamState or an AbsentState."""

    left: StreamState | AbsentState
    right: StreamState | AbsentState
    is_and: bool
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EveryState:
    """`every x` or `every (chain)`."""

    state: StateElement
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ChainState:
    """a -> b (pattern) or a, b (sequence); also a parenthesised chain."""

    elements: tuple[StateElement, ...]
    at: Location = field(default=NOWHERE, compare=False, repr=False)


StateElement = StreamState | CountState | AbsentState | LogicalState | EveryState | ChainState


@dataclass(frozen=True, slots=True)
class StateInput:
    """A pattern or a sequence with its overall `within`."""

    element: StateElement
    is_sequence: bool
    within_ms: int | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnonymousInput:
    """`from (from … return)`: parsed, refused by the checker (grammar 8.5)."""

    query: Query
    handlers: tuple[Handler, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


Input = StreamInput | JoinInput | StateInput | AnonymousInput


# --- selection, rate, action (grammar 9, 10) ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputAttribute:
    """`expression [as name]`; name None only for plain attribute references."""

    expression: Expression
    name: str | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OrderBy:
    """One `order by` item."""

    variable: Variable
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Selector:
    """`select` with its clauses; attributes None is `*` (or no select at all)."""

    attributes: tuple[OutputAttribute, ...] | None = None
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Constant | None = None
    offset: Constant | None = None
    explicit: bool = True
    at: Location = field(default=NOWHERE, compare=False, repr=False)


class RateKind(StrEnum):
    """Which rows a rate limiter lets through."""

    ALL = "all"
    FIRST = "first"
    LAST = "last"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class OutputRate:
    """`output [kind] every events|time`; exactly one of every_events and every_ms is set."""

    kind: RateKind
    every_events: int | None = None
    every_ms: int | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetItem:
    """`attribute = expression` of a `set` clause."""

    attribute: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class InsertInto:
    """`insert [kind] into target`; target keeps `#`/`!`."""

    target: str
    events: EventSelection | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeleteFrom:
    """`delete table [for …] on condition`."""

    target: str
    on: Expression | None
    events: EventSelection | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UpdateTable:
    """`update table [for …] [set …] on condition`."""

    target: str
    on: Expression | None
    set: tuple[SetItem, ...] | None = None
    events: EventSelection | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UpdateOrInsert:
    """`update or insert into table [for …] [set …] on condition`."""

    target: str
    on: Expression | None
    set: tuple[SetItem, ...] | None = None
    events: EventSelection | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReturnEvents:
    """`return [kind]`: only inside anonymous streams and on-demand queries."""

    events: EventSelection | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)


Action = InsertInto | DeleteFrom | UpdateTable | UpdateOrInsert | ReturnEvents


@dataclass(frozen=True, slots=True)
class Query:
    """from … select … output … action."""

    input: Input
    selector: Selector
    action: Action
    rate: OutputRate | None = None
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ValueKey:
    """`expression of S`."""

    expression: Expression
    stream: str
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RangeCase:
    """`condition as 'label'`."""

    condition: Expression
    label: str


@dataclass(frozen=True, slots=True)
class RangeKey:
    """`c as 'l' or c2 as 'l2' of S`."""

    cases: tuple[RangeCase, ...]
    stream: str
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Partition:
    """`partition with (…) begin … end`."""

    keys: tuple[ValueKey | RangeKey, ...]
    queries: tuple[Query, ...]
    annotations: tuple[Annotation, ...] = ()
    at: Location = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class App:
    """A whole application text."""

    annotations: tuple[Annotation, ...]
    definitions: tuple[Definition, ...]
    execution: tuple[Query | Partition, ...]


# --- on-demand queries (grammar 12) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnDemandQuery:
    """A query on the present content of a store; `source` None for the writing forms.

    action None means find.
    """

    source: str | None
    selector: Selector
    action: Action | None = None
    on: Expression | None = None
    range: Range | None = None
    at: Location = field(default=NOWHERE, compare=False, repr=False)
