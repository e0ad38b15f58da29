"""The typed syntax tree of SiddhiQL (grammar 1-14): plain frozen data, no behaviour."""

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


@dataclass(frozen=True, slots=True)
class Node:
    """What an error may point at. Its place in the text takes no part in equality, so that printing
    and parsing again gives an equal tree."""

    at: Location = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


# --- annotations (grammar 5) -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Element:
    """`key='value'` of an annotation, or a positional value when key is None."""

    key: str | None
    value: str


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    """`@name(elements, nested annotations)`; app annotations have names starting with `app:`."""

    name: str
    elements: tuple[Element, ...] = ()
    annotations: tuple[Annotation, ...] = ()

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
class Constant(Node):
    """A literal. Time literals are long constants with `is_time` set (grammar 3.5)."""

    value: str | int | float | bool
    type: AttributeType
    is_time: bool = False


@dataclass(frozen=True, slots=True)
class EventIndex:
    """`[3]`, `[last]`, `[last-1]`: from_last None means counted from the first (0-based)."""

    offset: int
    from_last: bool = False


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """An attribute reference: `attr`, `S.attr`, `e1[0].attr`, `#inner.attr`, `!fault.attr`.

    `source` keeps the prefix of inner and fault streams (`#S`, `!S`).
    """

    name: str
    source: str | None = None
    index: EventIndex | None = None


@dataclass(frozen=True, slots=True)
class EventReference(Node):
    """A whole event: `e1`, `e1[2]`, `T`; only inside `is null` and eventTimestamp(e)."""

    source: str
    index: EventIndex | None = None


@dataclass(frozen=True, slots=True)
class FunctionCall(Node):
    """`ns:name(arguments)`; aggregators look the same (the checker tells them apart).

    `star` is `f(*)`.
    """

    name: str
    arguments: tuple[Expression, ...] = ()
    namespace: str | None = None
    star: bool = False


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
class Arithmetic(Node):
    """left operator right."""

    operator: ArithmeticOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """left operator right, giving bool."""

    operator: CompareOperator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class And(Node):
    """left and right; null counts as false."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Or(Node):
    """left or right; null counts as false."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Not(Node):
    """not operand; not of null is true."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """operand is null; the operand is an attribute, a function call or an event reference."""

    operand: Variable | FunctionCall | EventReference


@dataclass(frozen=True, slots=True)
class InTable(Node):
    """condition in Table: true when some row makes the condition true (semantics 10)."""

    condition: Expression
    table: str


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
class AttributeDefinition(Node):
    """`name type`."""

    name: str
    type: AttributeType


@dataclass(frozen=True, slots=True)
class StreamDefinition(Node):
    """`define stream`."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TableDefinition(Node):
    """`define table`."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    annotations: tuple[Annotation, ...] = ()


class EventSelection(StrEnum):
    """Which kinds an action or a named window passes on."""

    CURRENT = "current events"
    EXPIRED = "expired events"
    ALL = "all events"


@dataclass(frozen=True, slots=True)
class WindowDefinition(Node):
    """`define window N (…) fn(args) output … events`; output None means all (grammar 6.3)."""

    name: str
    attributes: tuple[AttributeDefinition, ...]
    window: FunctionCall
    output: EventSelection | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class TriggerDefinition(Node):
    """`define trigger N at …`: every_ms, or a cron text, or 'start'."""

    name: str
    every_ms: int | None = None
    expression: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionDefinition(Node):
    """`define function f[language] return type { body }`."""

    name: str
    language: str
    returns: AttributeType
    body: str


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
class AggregationDefinition(Node):
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
class Filter(Node):
    """`[expression]`."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class StreamFunction(Node):
    """`#ns:name(args)`: a stream function or stream processor."""

    call: FunctionCall


@dataclass(frozen=True, slots=True)
class WindowHandler(Node):
    """`#window.name(args)`; extensions carry a namespace (`#window.unique:ever`)."""

    call: FunctionCall


Handler = Filter | StreamFunction | WindowHandler


@dataclass(frozen=True, slots=True)
class StreamInput(Node):
    """One source with its handlers in order. `source` keeps the `#`/`!` prefix of inner/fault."""

    source: str
    handlers: tuple[Handler, ...] = ()
    alias: str | None = None


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
class Range(Node):
    """`within a[, b] per g` of aggregation joins and on-demand queries (semantics 17.3)."""

    start: Expression
    end: Expression | None
    per: Expression | None


@dataclass(frozen=True, slots=True)
class JoinInput(Node):
    """left jointype right [on …] [within … per …]."""

    left: StreamInput
    right: StreamInput
    type: JoinType = JoinType.INNER
    trigger: JoinTrigger = JoinTrigger.BOTH
    on: Expression | None = None
    range: Range | None = None


@dataclass(frozen=True, slots=True)
class StreamState(Node):
    """`[reference =] S[filter]#fn(…)`: one event of a stream (grammar 8.3)."""

    stream: StreamInput
    reference: str | None = None


@dataclass(frozen=True, slots=True)
class CountState(Node):
    """A repeated state: `<m:n>`, and `+ * ?` of sequences. max None is unbounded.

    `spelling` keeps how it was written ('<>', '+', '*', '?').
    """

    state: StreamState
    min: int
    max: int | None
    spelling: str = "<>"


@dataclass(frozen=True, slots=True)
class AbsentState(Node):
    """`not S[f] [for t]`; for_ms None is the untimed absence beside `and`."""

    stream: StreamInput
    for_ms: int | None = None


@dataclass(frozen=True, slots=True)
class LogicalState(Node):
    """left and|or right; exactly two sides, each a StreamState or an AbsentState."""

    left: StreamState | AbsentState
    right: StreamState | AbsentState
    is_and: bool


@dataclass(frozen=True, slots=True)
class EveryState(Node):
    """`every x` or `every (chain)`."""

    state: StateElement


@dataclass(frozen=True, slots=True)
class ChainState(Node):
    """a -> b (pattern) or a, b (sequence); also a parenthesised chain."""

    elements: tuple[StateElement, ...]


StateElement = StreamState | CountState | AbsentState | LogicalState | EveryState | ChainState


@dataclass(frozen=True, slots=True)
class StateInput(Node):
    """A pattern or a sequence with its overall `within`."""

    element: StateElement
    is_sequence: bool
    within_ms: int | None = None


@dataclass(frozen=True, slots=True)
class AnonymousInput(Node):
    """`from (from … return)`: parsed, refused by the checker (grammar 8.5)."""

    query: Query
    handlers: tuple[Handler, ...] = ()


Input = StreamInput | JoinInput | StateInput | AnonymousInput


# --- selection, rate, action (grammar 9, 10) ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputAttribute(Node):
    """`expression [as name]`; name None only for plain attribute references."""

    expression: Expression
    name: str | None = None


@dataclass(frozen=True, slots=True)
class OrderBy:
    """One `order by` item."""

    variable: Variable
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Selector(Node):
    """`select` with its clauses; attributes None is `*` (or no select at all)."""

    attributes: tuple[OutputAttribute, ...] | None = None
    group_by: tuple[Variable, ...] = ()
    having: Expression | None = None
    order_by: tuple[OrderBy, ...] = ()
    limit: Constant | None = None
    offset: Constant | None = None
    explicit: bool = True


class RateKind(StrEnum):
    """Which rows a rate limiter lets through."""

    ALL = "all"
    FIRST = "first"
    LAST = "last"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True, slots=True)
class OutputRate(Node):
    """`output [kind] every events|time`; exactly one of every_events and every_ms is set."""

    kind: RateKind
    every_events: int | None = None
    every_ms: int | None = None


@dataclass(frozen=True, slots=True)
class SetItem:
    """`attribute = expression` of a `set` clause."""

    attribute: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class InsertInto(Node):
    """`insert [kind] into target`; target keeps `#`/`!`."""

    target: str
    events: EventSelection | None = None


@dataclass(frozen=True, slots=True)
class DeleteFrom(Node):
    """`delete table [for …] on condition`."""

    target: str
    on: Expression | None
    events: EventSelection | None = None


@dataclass(frozen=True, slots=True)
class UpdateTable(Node):
    """`update table [for …] [set …] on condition`."""

    target: str
    on: Expression | None
    set: tuple[SetItem, ...] | None = None
    events: EventSelection | None = None


@dataclass(frozen=True, slots=True)
class UpdateOrInsert(Node):
    """`update or insert into table [for …] [set …] on condition`."""

    target: str
    on: Expression | None
    set: tuple[SetItem, ...] | None = None
    events: EventSelection | None = None


@dataclass(frozen=True, slots=True)
class ReturnEvents(Node):
    """`return [kind]`: only inside anonymous streams and on-demand queries."""

    events: EventSelection | None = None


Action = InsertInto | DeleteFrom | UpdateTable | UpdateOrInsert | ReturnEvents


@dataclass(frozen=True, slots=True)
class Query(Node):
    """from … select … output … action."""

    input: Input
    selector: Selector
    action: Action
    rate: OutputRate | None = None
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueKey(Node):
    """`expression of S`."""

    expression: Expression
    stream: str


@dataclass(frozen=True, slots=True)
class RangeCase:
    """`condition as 'label'`."""

    condition: Expression
    label: str


@dataclass(frozen=True, slots=True)
class RangeKey(Node):
    """`c as 'l' or c2 as 'l2' of S`."""

    cases: tuple[RangeCase, ...]
    stream: str


@dataclass(frozen=True, slots=True)
class Partition(Node):
    """`partition with (…) begin … end`."""

    keys: tuple[ValueKey | RangeKey, ...]
    queries: tuple[Query, ...]
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, slots=True)
class App:
    """A whole application text."""

    annotations: tuple[Annotation, ...]
    definitions: tuple[Definition, ...]
    execution: tuple[Query | Partition, ...]


# --- on-demand queries (grammar 12) ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OnDemandQuery(Node):
    """A query on the present content of a store; `source` None for the writing forms.

    action None means find. A range without `per` asks what is archived of a stream.
    """

    source: str | None
    selector: Selector
    action: Action | None = None
    on: Expression | None = None
    range: Range | None = None
